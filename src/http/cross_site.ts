/**
 * Telling requests of the application's own pages from those that another site made a browser send (cross-site
 * request forgery), from headers that no page can set. Core's CSRF token is checked besides.
 *
 * @module
 */
import { FastifyAuthError } from "../errors.ts";

/** Headers as Node gives them. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A scheme, a host and an optional port: `https://app.example:8443`, `capacitor://localhost`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*,]+$/;

/**
 * The `trustedOrigins` of a configuration.
 *
 * @param value What was configured.
 * @returns The origins as browsers write them.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` where one is no origin.
 */
export function toTrustedOrigins(value: unknown): ReadonlySet<string> {
  if (value === undefined) return new Set();
  if (!Array.isArray(value)) throw invalid("must be an array of origins");
  return new Set(value.map(toOrigin));
}

/** With a slash at its end it is still meant; with a path it would be less than what is then trusted. */
function toOrigin(value: unknown): string {
  const text = String(value).trim().toLowerCase().replace(/\/$/, "");
  if (typeof value !== "string" || !ORIGIN.test(text) || !URL.canParse(text)) {
    throw invalid(
      `cannot contain ${JSON.stringify(value)}: write scheme, host and port, without a path or "*"`,
    );
  }
  const { origin } = new URL(text);
  // Schemes that URL does not know, as those of mobile apps, have no origin there.
  return origin === "null" ? text : origin;
}

function invalid(problem: string): FastifyAuthError {
  const example = '["https://spa.example"]';
  return new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `\`trustedOrigins\` ${problem}, as in ${example}.`,
  );
}

/**
 * Whether another site made a browser send the request.
 *
 * `Sec-Fetch-Site` is asked first: the browser compared the page's origin with the address it sent the request to.
 * Browsers that do not send it, or not over plain HTTP, send `Origin` with every POST. A sibling such as
 * `https://b.example.com` for `https://a.example.com` is another site: it may belong to somebody else. What has neither
 * header was not sent by a browser.
 *
 * @param headers The request's.
 * @param origin The public origin.
 * @param trusted Other origins that may send requests.
 */
export function isCrossSite(headers: Headers, origin: string, trusted: ReadonlySet<string>): boolean {
  const site = headers["sec-fetch-site"];
  const from = headers.origin;
  if (site === "same-origin" || site === "none") return false;
  if (typeof from === "string" && trusted.has(from)) return false;
  if (site) return true;
  return from !== undefined && from !== origin;
}

/**
 * Refuses a request that another site made a browser send.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CROSS_SITE` (403).
 */
export function assertNotCrossSite(headers: Headers, origin: string, trusted: ReadonlySet<string>): void {
  if (!isCrossSite(headers, origin, trusted)) return;
  throw new FastifyAuthError(
    "FST_AUTHJS_CROSS_SITE",
    `A page of another origin sent this request to ${origin}. Add that page's origin to \`trustedOrigins\` if it is yours.`,
  );
}
