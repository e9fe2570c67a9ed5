/**
 * Protection against cross-site request forgery by headers that no page can set. Core checks its CSRF token
 * as well.
 */
import { FastifyAuthError, invalidConfig } from "../errors.ts";
import { isInternal } from "./origin_check.ts";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A scheme, a host and an optional port: `https://app.example:8443`, `capacitor://localhost`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*,]+$/;

/**
 * The `trustedOrigins` of a configuration.
 *
 * @returns The origins as browsers write them.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not an array of origins.
 */
export function toTrustedOrigins(value: unknown): ReadonlySet<string> {
  if (value === undefined) return new Set();
  if (!Array.isArray(value)) throw invalid("must be an array of origins");
  return new Set(value.map(toOrigin));
}

/** A trailing slash is accepted. A path is not: an origin is trusted as a whole. */
function toOrigin(value: unknown): string {
  const text = String(value).trim().toLowerCase().replace(/\/$/, "");
  if (typeof value !== "string" || !ORIGIN.test(text) || !URL.canParse(text)) {
    throw invalid(
      `cannot contain ${JSON.stringify(value)}: write scheme, host and port, without a path or "*"`,
    );
  }
  const { origin } = new URL(text);
  // `URL` gives no origin for schemes it does not know, such as those of mobile apps.
  return origin === "null" ? text : origin;
}

function invalid(problem: string): FastifyAuthError {
  return invalidConfig(`\`trustedOrigins\` ${problem}, as in ["https://spa.example"].`);
}

/**
 * Refuses a request that a page of another origin made a browser send.
 *
 * `Sec-Fetch-Site` counts first: the browser itself compared the page's origin with that of the request. Some
 * browsers do not send it, or only over HTTPS; they send `Origin` with every POST. Another subdomain of the
 * same domain is another site. A request with neither header does not come from a browser.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CROSS_SITE` (403).
 */
export function assertNotCrossSite(headers: Headers, origin: string, trusted: ReadonlySet<string>): void {
  const site = headers["sec-fetch-site"];
  const from = headers.origin;
  if (site === "same-origin" || site === "none") return;
  if (typeof from === "string" && trusted.has(from)) return;
  if (!site && (from === undefined || from === origin)) return;
  throw crossSite(
    `A page of another origin${named(from)} sent this request to ${origin}. Add that page's origin to ` +
      `\`trustedOrigins\` if it is yours.${mayBeOwnPage(from, origin) ? originHint(from as string) : ""}`,
  );
}

/** The page's origin, if it is one: the header may have anything. */
function named(from: unknown): string {
  return typeof from === "string" && ORIGIN.test(from) ? ` (${from})` : "";
}

/**
 * Whether only scheme or port differ, or the server knows itself by a name or address that users do not type.
 */
function mayBeOwnPage(from: unknown, origin: string): boolean {
  if (typeof from !== "string" || !ORIGIN.test(from) || !URL.canParse(from)) return false;
  return new URL(from).hostname === new URL(origin).hostname || isInternal(origin);
}

function originHint(from: string): string {
  return ` If it is this server's own page, the public origin is wrong: set AUTH_URL=${from}.`;
}

/**
 * Refuses a request to a route of the application, unless the user of a page of ours, or no page at all, sent
 * it.
 *
 * If a browser sends neither `Sec-Fetch-Site` nor `Origin` (an old one, or a link over http), the
 * `Referer` must be a page of ours. A GET needs one, since links of every site reach it; without one, a POST
 * does not come from a browser.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CROSS_SITE` (403).
 */
export function assertOwnRequest(
  { method, headers }: { readonly method: string; readonly headers: Headers },
  origin: string,
  trusted: ReadonlySet<string>,
): void {
  assertNotCrossSite(headers, origin, trusted);
  if (headers["sec-fetch-site"] !== undefined || headers.origin !== undefined) return;
  const isLink = method === "GET" || method === "HEAD";
  if (!isLink && headers.referer === undefined) return;
  const referrer = originOfReferrer(headers.referer);
  if (referrer === origin || (referrer !== undefined && trusted.has(referrer))) return;
  throw crossSite(
    "Any site can link to this address, and this request does not come from a page of this one. Sign in and out " +
      "with a POST, from a form or a script.",
  );
}

/**
 * Refuses a GET or HEAD that no page sent, for what links must not do: a link in a mail or of another program
 * has `Sec-Fetch-Site: none`, as an address that the user typed.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CROSS_SITE` (403).
 */
export function assertNoLink(
  { method, headers }: { readonly method: string; readonly headers: Headers },
  what: string,
): void {
  if ((method !== "GET" && method !== "HEAD") || headers["sec-fetch-site"] !== "none") return;
  throw crossSite(
    `A link of another program can lead to this address, and ${what} is not for links: make the route a POST. If ` +
      `links may do that, give ${what} the option \`allowGet: true\`.`,
  );
}

function originOfReferrer(referer: unknown): string | undefined {
  return typeof referer === "string" && URL.canParse(referer) ? new URL(referer).origin : undefined;
}

function crossSite(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CROSS_SITE", message);
}
