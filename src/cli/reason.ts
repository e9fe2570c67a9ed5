/** Why a request failed, in words. */
import { errorChain } from "../utils/error_chain.ts";

/** What the error and its causes say, each once. */
export function reasonOf(cause: unknown): string {
  if ((cause as { name?: unknown } | null)?.name === "TimeoutError") {
    return "there is no answer in time (--timeout allows more)";
  }
  const messages = [...errorChain(cause)].map(({ message }: { message?: unknown }) => message);
  const text = [...new Set(messages)].filter(Boolean).join(": ") || String(cause);
  if (/wrong.version.number|InvalidContentType|packet length too long/i.test(text)) {
    return `${text}. No TLS is spoken there: an http address?`;
  }
  return /certificate/i.test(text) ? `${text}. ${OWN_AUTHORITY}` : text;
}

const OWN_AUTHORITY =
  "Browsers refuse it, too, unless they know its authority: where that is your own, set " +
  "NODE_EXTRA_CA_CERTS (on Deno DENO_CERT) for this command";
