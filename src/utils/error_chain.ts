/** An error and its causes, in whichever property libraries keep them. */

/** `cause` by the standard, `err` in core's causes, the others in ORMs; `errors` of an `AggregateError`. */
const CAUSES = ["cause", "err", "original", "parent", "driverError", "originalError", "errors"] as const;

/** Limits how many errors are read. */
const MOST = 20;

/** The error and its causes, each once, outermost first. */
export function* errorChain(error: unknown, seen: Set<unknown> = new Set()): Generator<object> {
  if (typeof error !== "object" || error === null || seen.has(error) || seen.size >= MOST) return;
  seen.add(error);
  yield error;
  for (const name of CAUSES) {
    for (const cause of [(error as Record<string, unknown>)[name]].flat()) yield* errorChain(cause, seen);
  }
}
