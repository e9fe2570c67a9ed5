/** What the doctor finds, and how it is shown. */
import { errorChain } from "../utils/error_chain.ts";

/** How bad a finding is. An error is what keeps users from signing in, or is unsafe. */
type Level = "ok" | "warning" | "error";

export interface Finding {
  readonly level: Level;
  readonly about: string;
  /** What was found; for a warning or an error also what to change. */
  readonly message: string;
  /** The stable code of an error or a warning that the application itself logs, too. */
  readonly code?: string;
}

const findingOf = (level: Level) => (about: string, message: string): Finding => ({ level, about, message });
export const ok = findingOf("ok");
export const warning = findingOf("warning");
export const error = findingOf("error");

export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** What both checks say of an application without providers. */
export const NO_PROVIDER = "There is no provider, so no user can sign in.";

/** A line for each finding, and how many there are. */
export function toText(findings: readonly Finding[]): string {
  const lines = findings.map(({ level, about, message }) => `${level.padEnd(7)}  ${about.padEnd(9)}  ${message}`);
  const count = (wanted: Level) => {
    const { length } = findings.filter(({ level }) => level === wanted);
    return `${length} ${wanted}${length === 1 ? "" : "s"}`;
  };
  return [...lines, "", `${count("error")}, ${count("warning")}.`].join("\n");
}

/** Why a request failed: what the error and its causes say, each once. */
export function reasonOf(cause: unknown): string {
  const messages = errorChain(cause).map(({ message }: { message?: unknown }) => String(message ?? ""));
  const isNew = (text: string, index: number) => !messages.slice(0, index).some((before) => before.includes(text));
  const text = messages.filter((text, index) => text && isNew(text, index)).join(": ").replace(/\.$/, "") ||
    String(cause);
  if ((cause as { name?: unknown } | null)?.name === "TimeoutError") {
    return "there is no answer in time (--timeout allows more)";
  }
  if (/wrong.version.number|InvalidContentType|packet length too long/i.test(text)) {
    return `${text}. No TLS is spoken there: an http address?`;
  }
  return /certificate/i.test(text) ? `${text}. ${OWN_AUTHORITY}` : text;
}

const OWN_AUTHORITY = "Browsers refuse it, too, unless they know its authority: if that is your own, set " +
  "NODE_EXTRA_CA_CERTS (on Deno DENO_CERT) for this command";
