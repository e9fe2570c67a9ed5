/**
 * `callbackUrl` (where to go after signing in or out) as a request names it: in the query, the body or a cookie.
 * Core answers a malformed one with an error page or a 500; here it is as if none had been named.
 *
 * @module
 */
/** Longer than any address a browser should be sent to, shorter than what overflows a cookie. */
const MAXIMUM_LENGTH = 2048;

// deno-lint-ignore no-control-regex -- these are what must not get into a header or past a URL parser
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f]/;

/**
 * The callback URL in a form that core's checks, a `redirect` callback and a Location header can rely on: a path
 * with one leading slash, or an absolute http(s) URL, percent-encoded either way.
 *
 * @param value What the request said.
 * @returns `undefined` for anything else.
 */
export function normalizeCallbackUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAXIMUM_LENGTH || CONTROL_CHARACTERS.test(value)) {
    return undefined;
  }
  const url = encode(value);
  return url === undefined || url.length > MAXIMUM_LENGTH ? undefined : url;
}

function encode(value: string): string | undefined {
  // "//host" and "/\host" name another host to a URL parser; as a path they name ours. "/..//host" turns into the
  // first once its dots are resolved, so the slashes are counted again after that.
  if (/^[/\\]/.test(value)) {
    return toAsciiUrl(`/${value.replace(/^[/\\]+/, "")}`).replace(/^\/+/, "/");
  }
  if (!URL.canParse(value)) return undefined;
  const { protocol, username, password, href } = new URL(value);
  if (!/^https?:$/.test(protocol) || username || password) return undefined;
  // A bare origin stays one: core compares what it wrote into its cookie with what comes back.
  return href === `${value}/` ? value : href;
}

/** The same address in ASCII, as a Location header needs it. */
export function toAsciiUrl(url: string): string {
  const base = "http://base.invalid";
  if (!url.startsWith("/")) return URL.canParse(url) ? new URL(url).href : url;
  const absolute = `${base}${url}`;
  return URL.canParse(absolute) ? new URL(absolute).href.slice(base.length) : "/";
}

/**
 * The Cookie header with its callback-url cookie normalised, or without it: core would refuse the whole request
 * for a malformed one.
 *
 * @param header The raw Cookie header.
 * @param name The name of the callback-url cookie.
 */
export function normalizeCallbackCookie(header: string, name: string): string {
  if (!header.includes(name)) return header;
  return header.split(";").flatMap((pair) => {
    const separator = pair.indexOf("=");
    if (separator === -1 || pair.slice(0, separator).trim() !== name) return pair;
    const normalized = normalizeCallbackUrl(decode(pair.slice(separator + 1).trim()));
    return normalized === undefined ? [] : `${name}=${encodeURIComponent(normalized)}`;
  }).join(";");
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
