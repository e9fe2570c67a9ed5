/** What the doctor finds, and how it is shown. */

/** How bad a finding is. An error is what keeps users from signing in, or is unsafe. */
export type Level = "ok" | "warning" | "error";

/** One thing that was checked. */
export interface Finding {
  readonly level: Level;
  /** What it is about, in one word. */
  readonly about: string;
  /** What was found; for a warning or an error also what to change. */
  readonly message: string;
  /** The stable code of an error or a warning that the application itself logs, too. */
  readonly code?: string;
}

/** A finding of each level. */
export const ok = (about: string, message: string): Finding => ({ level: "ok", about, message });
export const warning = (about: string, message: string): Finding => ({ level: "warning", about, message });
export const error = (about: string, message: string): Finding => ({ level: "error", about, message });

/** A line for each finding, and how many there are. */
export function toText(findings: readonly Finding[]): string {
  const lines = findings.map(({ level, about, message }) =>
    `${level.padEnd(7)}  ${about.padEnd(9)}  ${message}`
  );
  return [...lines, "", `${count(findings, "error")}, ${count(findings, "warning")}.`].join("\n");
}

function count(findings: readonly Finding[], wanted: Level): string {
  const { length } = findings.filter(({ level }) => level === wanted);
  return `${length} ${wanted}${length === 1 ? "" : "s"}`;
}
