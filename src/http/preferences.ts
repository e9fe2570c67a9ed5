/** What a client prefers (RFC 9110 section 12.5). The package is loaded when that is first asked. */
import Negotiator from "negotiator";

/** Whether the client prefers JSON to a page, whatever its `charset` is. A client that accepts anything does not. */
export function prefersJson(accept = ""): boolean {
  if (!/json/i.test(accept)) return false;
  // Negotiator matches a type only if it has all parameters but `q`.
  const read = accept.split(",", 50).join(",").replaceAll(/;(?!\s*q\s*=)[^;,]*/gi, "");
  return preferences({ accept: read }).mediaType(["text/html", "application/json"]) === "application/json";
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
