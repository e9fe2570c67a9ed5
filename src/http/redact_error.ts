/**
 * Errors of databases and mail services, fit for a log.
 *
 * @module
 */

/** Shorter texts say little, and cutting them out of a message would leave nothing of it. */
const SHORTEST_SECRET = 4;

/**
 * A copy of an error, and of its causes, from which given texts are cut out: query builders put their parameters into
 * messages, mail services echo what they were sent, and among these are session tokens, access tokens and addresses.
 *
 * @param error What was thrown.
 * @param secrets What the thrower was given: texts, or records and lists of them.
 */
export function redactError(error: unknown, secrets: unknown): Error {
  return copy(error, (text) => redactText(text, secrets), 0);
}

/** A text from which given texts are cut out, as {@linkcode redactError} does. */
export function redactText(text: string, secrets: unknown): string {
  const texts = textsIn(secrets).filter((secret) => secret.length >= SHORTEST_SECRET);
  texts.sort((a, b) => b.length - a.length);
  return texts.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}

function copy(error: unknown, clean: (text: string) => string, depth: number): Error {
  if (!(error instanceof Error)) return new Error(clean(String(error)));
  const result = new Error(clean(error.message));
  result.name = error.name;
  if (error.stack !== undefined) result.stack = clean(error.stack);
  const { code } = error as { code?: unknown };
  if (typeof code === "string") Object.assign(result, { code });
  if (error.cause !== undefined && depth < 4) result.cause = copy(error.cause, clean, depth + 1);
  return result;
}

function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > 3) return [];
  return Object.values(value).flatMap((each) => textsIn(each, depth + 1));
}
