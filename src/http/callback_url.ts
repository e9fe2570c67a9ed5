/** Where to go after signing in or out (`callbackUrl`). A malformed one is ignored: core would answer with an error. */
import { parseCookie } from "cookie";

/** Characters: what fits in a cookie. */
const MAXIMUM_LENGTH = 2048;

// deno-lint-ignore no-control-regex -- control characters are what it looks for
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f]/;

/** The callback URL that a request names, or the front page in place of one that is refused. */
export function namedCallbackUrl(value: unknown, frontPage: string | undefined): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  return normalizeCallbackUrl(value) ?? frontPage;
}

/** A percent-encoded path with one leading slash, or absolute http(s) URL; `undefined` for anything else. */
export function normalizeCallbackUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAXIMUM_LENGTH || CONTROL_CHARACTERS.test(value)) return undefined;
  const url = encode(value);
  return url && url.length <= MAXIMUM_LENGTH ? url : undefined;
}

function encode(value: string): string | undefined {
  // A URL parser reads "//host" and "/\host" as another host, so only one slash is kept. Resolving the dots of
  // "/..//host" makes two slashes again, so it is done once more afterwards.
  if (/^[/\\]/.test(value)) return toAsciiUrl(`/${value.replace(/^[/\\]+/, "")}`).replace(/^\/+/, "/");
  if (!URL.canParse(value)) return undefined;
  const { protocol, username, password, href } = new URL(value);
  if (!/^https?:$/.test(protocol) || username || password) return undefined;
  // No slash is added to an origin: core compares the value of its cookie with what comes back.
  return href === `${value}/` ? value : href;
}

/** The address percent-encoded, as a Location header needs it. */
export function toAsciiUrl(url: string): string {
  const base = "http://base.invalid";
  if (!url.startsWith("/")) {
    // A browser resolves what is no URL.
    const escape = (part: string) => encodeURIComponent(part.toWellFormed());
    if (!URL.canParse(url)) return url.replace(/[^ -~]+/g, escape);
    const { href } = new URL(url);
    // No slash is added to an origin: a `redirect` callback may compare it with `baseUrl`.
    return href === `${url}/` ? url : href;
  }
  const absolute = `${base}${url}`;
  return URL.canParse(absolute) ? new URL(absolute).href.slice(base.length) : "/";
}

/** The Cookie header with its callback-url cookie normalised, or without one that is malformed. */
export function normalizeCallbackCookie(header: string, name: string, origin: string): string {
  if (!header.includes(name)) return header;
  const pairs: string[] = [];
  for (const pair of header.split(";")) {
    const value = pair.includes(name) ? parseCookie(pair)[name] : undefined;
    // Mostly it is the origin.
    const normalized = value === undefined || value === origin ? value : normalizeCallbackUrl(value);
    if (normalized === value) pairs.push(pair);
    else if (normalized !== undefined) pairs.push(`${name}=${encodeURIComponent(normalized)}`);
  }
  return pairs.join(";");
}

/** The address of a page, with parameters before its fragment. */
export function withQuery(page: string, parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((each): each is [string, string] => each[1] !== undefined);
  const start = /^[^#]*\?/.test(page) ? "&" : "?";
  // A fragment comes after the query.
  return page.replace(/(?=#)|$/, `${start}${new URLSearchParams(given)}`);
}
