/**
 * The session token in cookies: read from a Cookie header and written as Set-Cookie lines exactly as core does.
 *
 * Core joins every cookie whose name starts with the session cookie's, sorted by the number after the last dot, and splits a
 * token that a browser would refuse into such chunks. Its quirks are kept: a token must not depend on which of the two reads it.
 *
 * @module
 */
import { parseCookie, type SerializeOptions, stringifySetCookie } from "cookie";

/** The session token as the request carries it. */
export interface SessionCookie {
  /** The token, joined from its chunks; empty when there is none. */
  readonly token: string;
  /** The cookies it was joined from: those to remove when the token changes or turns out to be broken. */
  readonly names: readonly string[];
}

/** How to write the session cookie: core's resolved `cookies.sessionToken`. */
export interface SessionCookieSettings {
  /** Its name, which is also the salt of the token's key. */
  readonly name: string;
  /** Its attributes. */
  readonly options: SerializeOptions;
}

/** The most characters core puts in one cookie: 4096 bytes less its estimate for the name and the attributes. */
export const CHUNK_SIZE = 4096 - 160;

const NONE: SessionCookie = Object.freeze({ token: "", names: Object.freeze([]) });

/**
 * Reads the session token.
 *
 * @param header The Cookie header as it arrived.
 * @param name The session cookie's name.
 */
export function readSessionCookie(header: string | undefined, name: string): SessionCookie {
  const at = header ? header.indexOf(name) : -1;
  if (at === -1) return NONE;
  return readUsual(header!, name, at) ?? readAny(header!, name);
}

/** As core sent it, if nothing interferes: one cookie, or all chunks in their order. The other cookies are not parsed. */
function readUsual(header: string, name: string, at: number): SessionCookie | undefined {
  const chunked = header[at + name.length] === ".";
  const names: string[] = [];
  let token = "";
  while (at !== -1) {
    const suffix = chunked ? `.${names.length}` : "";
    const equals = at + name.length + suffix.length;
    if (header[equals] !== "=" || !header.startsWith(suffix, at + name.length)) return;
    if (at !== 0 && !header.startsWith("; ", at - 2)) return;
    const end = header.indexOf(";", equals);
    const value = header.slice(equals + 1, end === -1 ? undefined : end);
    if (!isPlain(value) || (!chunked && names.length > 0)) return;
    names.push(name + suffix);
    token += value;
    at = end === -1 ? -1 : header.indexOf(name, end);
  }
  return { token, names };
}

/** Neither empty nor in need of decoding or trimming. */
function isPlain(value: string): boolean {
  return value !== "" && !value.includes("%") && value.trim().length === value.length;
}

function readAny(header: string, name: string): SessionCookie {
  const cookies = parseCookie(header);
  const names = Object.keys(cookies).filter((key) =>
    key.startsWith(name) && cookies[key] && COOKIE_NAME.test(key)
  );
  if (!names.length) return NONE;
  // `names` keeps the order of arrival, in which core removes them; a token is joined in the order of the chunks.
  const token = names.toSorted(byPlace).map((key) => cookies[key]).join("");
  return { token, names };
}

/**
 * RFC 6265, 4.1.1. A script can give its cookie another name, which no server can remove: in core it fails every request of
 * the browser that has it.
 */
const COOKIE_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Core compares the numbers alone, and without one they are NaN, which sorts as the engine's state has it. Here such a name
 * is equal to any, as the language specifies.
 */
function byPlace(a: string, b: string): number {
  const place = (name: string) => parseInt(name.slice(name.lastIndexOf(".") + 1) || "0");
  return place(a) - place(b) || 0;
}

/** The Cookie header with another token, spread over the cookies that held the one before: whoever reads it knows them. */
export function withSessionToken(header: string, held: readonly string[], token: string): string {
  const others = header.split(";").filter((pair) => !held.includes(pair.split("=")[0]!.trim()));
  const size = Math.ceil(token.length / held.length);
  const pairs = held.toSorted(byPlace).map((name, i) => `${name}=${token.slice(i * size, (i + 1) * size)}`);
  return [...others, ...pairs].map((pair) => pair.trim()).join("; ");
}

/** The token that Set-Cookie lines put in the browser; empty where they put none. */
export function sessionTokenIn(lines: readonly string[], name: string): string {
  const pairs = lines.map((line) => line.split(";")[0]!).filter((pair) => !pair.endsWith("="));
  return readSessionCookie(pairs.join("; "), name).token;
}

/** What a browser has to be told of the session cookie. */
export interface SessionCookieUpdate {
  /** The session cookie's name; the lines set it and its chunks. */
  readonly name: string;
  /** Set-Cookie lines. */
  readonly lines: readonly string[];
}

/**
 * Puts `token` in the browser.
 *
 * @param held The cookies the browser holds: those the new token does not use are removed.
 * @param token The new token.
 * @param settings The cookie's name and attributes.
 * @param expires When the browser forgets it.
 * @throws {TypeError} for a name or an attribute that no cookie can have.
 */
export function writeSessionCookie(
  held: readonly string[],
  token: string,
  { name, options }: SessionCookieSettings,
  expires: Date,
): SessionCookieUpdate {
  const chunks = new Map([...held.map((name) => [name, ""] as const), ...split(name, token)]);
  const set = { ...options, expires }, remove = { ...options, maxAge: 0 };
  const lines = [...chunks].map(([name, value]) => stringifySetCookie(name, value, value ? set : remove));
  return { name, lines };
}

/** Removes the cookies the browser holds. */
export function clearSessionCookie(
  held: readonly string[],
  { name, options }: SessionCookieSettings,
): SessionCookieUpdate {
  const lines = held.map((held) => stringifySetCookie(held, "", { ...options, maxAge: 0 }));
  return { name, lines };
}

function split(name: string, token: string): [name: string, value: string][] {
  const count = Math.ceil(token.length / CHUNK_SIZE);
  if (count === 1) return [[name, token]];
  return Array.from({ length: count }, (_, i) => [
    `${name}.${i}`,
    token.slice(i * CHUNK_SIZE, (i + 1) * CHUNK_SIZE),
  ]);
}
