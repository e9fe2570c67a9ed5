/** An error and its causes, in whichever property libraries keep them. */

/** `cause` by the standard, `err` in core's causes, the others in ORMs; `errors` of an `AggregateError`. */
const CAUSES = ["cause", "err", "original", "parent", "driverError", "originalError", "errors"] as const;

/** What was thrown, or an error of it: anything can be thrown. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  // An object may be a response, and have tokens.
  const what = thrown === null ? "null" : typeof thrown === "object" ? "an object" : String(thrown);
  return new Error(`What was thrown is no error: ${what}`, { cause: thrown });
}

/** Limits how many errors are read. */
const MOST = 20;

/** The error and its causes, each once, outermost first. */
export function errorChain(error: unknown, found: object[] = []): object[] {
  if (typeof error !== "object" || error === null || found.includes(error) || found.length >= MOST) return found;
  found.push(error);
  for (const name of CAUSES) {
    const cause = (error as Record<string, unknown>)[name];
    if (typeof cause !== "object" || cause === null) continue;
    for (const each of Array.isArray(cause) ? cause : [cause]) errorChain(each, found);
  }
  return found;
}

/** Characters of a message that fit in a line of a log. */
const LONGEST_MESSAGE = 300;

/** What the innermost error says, on one line: that of the driver, if an ORM wraps it. */
export function rootMessage(error: unknown): string | undefined {
  const messages = errorChain(error).map(({ message }: { message?: unknown }) => message);
  const last = messages.filter((message) => typeof message === "string" && message.trim() !== "").at(-1);
  return last === undefined ? undefined : reasonIn(last as string);
}

/** The reason in a message, on one line: Prisma has it in the last line of a long one. */
export function reasonIn(message: string): string {
  const text = message.trim().split("\n").at(-1)!.replace(/\s+/g, " ").trim();
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text;
}
