/** Errors of databases and mail services without secrets, for the log. */

/** Cutting out shorter texts would make a message unreadable. */
const SHORTEST_SECRET = 4;

/**
 * A copy of an error and its causes, without the given texts. Messages of query builders contain the
 * parameters of a query, those of mail services the request: session tokens, access tokens and e-mail
 * addresses.
 *
 * @param secrets The arguments of the failed call: texts, or objects and arrays of texts.
 */
export function redactError(error: unknown, secrets: unknown): Error {
  return copy(error, (text) => redactText(text, secrets), 0);
}

export function redactText(text: string, secrets: unknown): string {
  const texts = textsIn(secrets).filter((secret) => secret.length >= SHORTEST_SECRET);
  texts.sort((a, b) => b.length - a.length);
  return texts.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}

function copy(error: unknown, clean: (text: string) => string, depth: number): Error {
  if (!isError(error)) return new Error(clean(String(error)));
  const result = new Error(clean(error.message));
  if (typeof error.name === "string") result.name = error.name;
  if (typeof error.stack === "string") result.stack = clean(error.stack);
  const { code } = error as { code?: unknown };
  if (typeof code === "string") Object.assign(result, { code });
  if (error.cause !== undefined && depth < 4) result.cause = copy(error.cause, clean, depth + 1);
  return result;
}

/** Some clients of databases throw plain objects, such as those of PostgREST. */
function isError(error: unknown): error is Error {
  return typeof (error as Partial<Error> | null | undefined)?.message === "string";
}

function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > 3) return [];
  return Object.values(value).flatMap((each) => textsIn(each, depth + 1));
}
