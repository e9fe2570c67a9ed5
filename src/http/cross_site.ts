/** Protection against cross-site request forgery by headers that no page can set, besides the CSRF token. */
import { FastifyAuthError, invalidConfig } from "../errors.ts";
import { isInternal } from "./origin_check.ts";

type Headers = Readonly<Record<string, string | string[] | undefined>>;
type SentRequest = { readonly method: string; readonly headers: Headers };

const LINKED = /^(?:GET|HEAD)$/;

/** A scheme, a host and an optional port: `https://app.example:8443`, `capacitor://localhost`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*,]+$/;

/** The `trustedOrigins` of a configuration, as browsers write them. */
export function toTrustedOrigins(value: unknown = []): ReadonlySet<string> {
  if (!Array.isArray(value)) throw invalid("must be an array of origins");
  return new Set(value.map(toOrigin));
}

/** A trailing slash is accepted. A path is not: an origin is trusted as a whole. */
function toOrigin(value: unknown): string {
  const text = String(value).trim().toLowerCase().replace(/\/$/, "");
  if (typeof value !== "string" || !ORIGIN.test(text) || !URL.canParse(text)) {
    throw invalid(`cannot contain ${JSON.stringify(value)}: write scheme, host and port, without a path or "*"`);
  }
  const { origin } = new URL(text);
  // `URL` gives no origin for schemes it does not know, such as those of mobile apps.
  return origin === "null" ? text : origin;
}

function invalid(problem: string): FastifyAuthError {
  return invalidConfig(`\`trustedOrigins\` ${problem}, as in ["https://spa.example"].`);
}

/**
 * Refuses a request (403) that a page of another origin made a browser send. `Sec-Fetch-Site` counts first, which some
 * browsers do not send, or only over HTTPS; they send `Origin` with every POST. A subdomain is another site. A request
 * with neither header does not come from a browser.
 */
export function assertNotCrossSite(headers: Headers, origin: string, trusted: ReadonlySet<string>): void {
  const { "sec-fetch-site": site, origin: from } = headers;
  if (site === "same-origin" || site === "none") return;
  if (typeof from === "string" && trusted.has(from)) return;
  if (!site && (from === undefined || from === origin)) return;
  // The header may have anything.
  const page = typeof from === "string" && ORIGIN.test(from) ? from : undefined;
  // Only scheme or port differ, or the server knows itself by a name or address that users do not type.
  const mayBeOwn = page !== undefined && URL.canParse(page) &&
    (new URL(page).hostname === new URL(origin).hostname || isInternal(origin));
  const own = mayBeOwn ? ` If it is this server's own page, the public origin is wrong: set AUTH_URL=${page}.` : "";
  throw crossSite(
    `A page of another origin${page ? ` (${page})` : ""} sent this request to ${origin}. Add that page's origin to ` +
      `\`trustedOrigins\` if it is yours.${own}`,
  );
}

/**
 * Refuses a request (403) to a route of the application, unless a page of ours, or none, sent it. Without both headers
 * (an old browser, or a link over http) the `Referer` must be a page of ours. A GET needs one, since links of every
 * site reach it; without one, a POST does not come from a browser.
 */
export function assertOwnRequest({ method, headers }: SentRequest, origin: string, trusted: ReadonlySet<string>): void {
  assertNotCrossSite(headers, origin, trusted);
  if (headers["sec-fetch-site"] !== undefined || headers.origin !== undefined) return;
  const { referer } = headers;
  if (!LINKED.test(method) && referer === undefined) return;
  const page = typeof referer === "string" && URL.canParse(referer) ? new URL(referer).origin : "";
  if (page === origin || trusted.has(page)) return;
  throw crossSite(
    "Any site can link to this address, and this request does not come from a page of this one. Sign in and out " +
      "with a POST, from a form or a script.",
  );
}

/** @param hasOption Whether `what`, the function, has the option `allowGet`. */
export function assertNoLink({ method, headers }: SentRequest, what: string, hasOption = true): void {
  if (!LINKED.test(method) || headers["sec-fetch-site"] !== "none") return;
  const advice = hasOption ? ` If links may do that, give ${what} the option \`allowGet: true\`.` : "";
  throw crossSite(
    `A link of another program can lead to this address, and ${what} is not for links: make the route a POST.${advice}`,
  );
}

function crossSite(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CROSS_SITE", message);
}
