/** What a client prefers, by its `Accept` and `Accept-Language` headers (RFC 9110 section 12.5). */
import Negotiator from "negotiator";

/** Of `Accept`, more are not read. */
const MOST_RANGES = 50;

/** Whether the client prefers JSON to a page. A client that accepts anything does not. */
export function prefersJson(accept: string | undefined): boolean {
  if (!accept?.includes("json")) return false;
  return preferences({ accept: accept.split(",", MOST_RANGES).join(",") }).mediaType([
    "text/html",
    "application/json",
  ]) === "application/json";
}

/**
 * The language that the client prefers among those available, "en" also for one who prefers "en-GB".
 *
 * @returns `undefined` if it accepts none of them, or names none.
 */
export function preferredLanguage(
  acceptLanguage: string | undefined,
  available: readonly string[],
): string | undefined {
  if (!acceptLanguage) return undefined;
  return preferences({ "accept-language": acceptLanguage }).language([...available]);
}

/** The part of the package that is used; it has no types of its own. */
interface Preferences {
  mediaType(available: string[]): string | undefined;
  language(available: string[]): string | undefined;
}

function preferences(headers: Readonly<Record<string, string>>): Preferences {
  return new (Negotiator as unknown as new (request: object) => Preferences)({ headers });
}
