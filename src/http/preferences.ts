/** What a client prefers (RFC 9110 section 12.5). */
import Negotiator from "negotiator";

/** The type that the client prefers among those available, whatever its `charset` is. */
export function preferredType(accept: string, available: string[]): string | undefined {
  // Negotiator matches a type only if it has all parameters but `q`.
  const read = accept.split(",", 50).join(",").replaceAll(/;(?!\s*q\s*=)[^;,]*/gi, "");
  return preferences({ accept: read }).mediaType(available);
}

/**
 * The language that the client prefers among those available, "en" also for one who prefers "en-GB".
 * @returns `undefined` if it accepts none of them, or names none.
 */
export function preferredLanguage(acceptLanguage: string | undefined, available: readonly string[]) {
  if (!acceptLanguage) return undefined;
  return preferences({ "accept-language": acceptLanguage }).language([...available]);
}

/** The package has no types of its own. */
type Choose = (available: string[]) => string | undefined;

function preferences(headers: Readonly<Record<string, string>>): { mediaType: Choose; language: Choose } {
  return new (Negotiator as unknown as new (request: object) => ReturnType<typeof preferences>)({ headers });
}
