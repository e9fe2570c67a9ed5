/**
 * The session token in cookies, and how large those may get: servers limit the headers that they take, and with a
 * cookie that is too large every request is refused, signing out included.
 *
 * A session is the cookie of the configured name, or else a run `.0`, `.1`, … of it. Core takes every cookie whose
 * name begins so for a part: `sessionid` beside `session`. Here those are neither read nor removed.
 */
import { AuthError } from "@auth/core/errors";
import type { JWT, JWTEncodeParams, JWTOptions } from "@auth/core/jwt";
import { parseCookie } from "cookie";
import { Buffer } from "node:buffer";
import type { CookieSettings } from "../config/cookies.ts";
import type { AuthLogger } from "../config/notices.ts";
import type { FastifyAuthErrorCode } from "../errors.ts";
import { removalOf, type SetCookie } from "../http/set_cookie.ts";
import { tryCopy } from "../utils/plain_copy.ts";
import { withoutName } from "./name.ts";

export interface SessionCookie {
  readonly token: string;
  /** All cookies of the session that the request carries, also chunks beside a whole cookie or after a gap. */
  readonly names: readonly string[];
  /** Whether the request carries several cookies of the first of these names, of which the first counts. */
  readonly isRepeated?: boolean;
}

/** The most characters core puts in one cookie: 4096 bytes less its estimate for name and attributes. */
export const CHUNK_SIZE = 4096 - 160;

const MOST_CHUNKS = 16;

/** No longer token is made: some of its cookies would not be read. */
export const LONGEST_TOKEN = MOST_CHUNKS * CHUNK_SIZE;

/** Node refuses requests with more characters of headers, unless it is told not to. */
export const LONGEST_BY_DEFAULT = 16_384;

/**
 * Reads the session token. Of a whole cookie and chunks the whole one counts: writing chunks removes it, so it
 * was written after them, by the reply to a cross-site POST or to a concurrent request.
 */
export function readSessionCookie(header: string | undefined, name: string): SessionCookie {
  if (!header?.includes(name)) return { token: "", names: [] };
  const cookies = parseCookie(header);
  const chunks: string[] = [];
  while (chunks.length <= MOST_CHUNKS && cookies[`${name}.${chunks.length}`]) {
    chunks.push(`${name}.${chunks.length}`);
  }
  const whole = cookies[name];
  if (!whole && chunks.length === 0) return { token: "", names: [] };
  const names = whole
    ? [name, ...chunks]
    : [...chunks, ...possibleParts(name).slice(chunks.length + 1).filter((key) => cookies[key])];
  if (names.length > MOST_CHUNKS) return { token: "", names: names.slice(0, MOST_CHUNKS) };
  const token = whole || chunks.map((key) => cookies[key]).join("");
  const pair = `; ${names[0]}=`;
  const first = header.startsWith(pair.slice(2)) ? 0 : header.indexOf(pair) + 1;
  return { token, names, isRepeated: header.includes(pair, first) };
}

export function isSessionPart(key: string, name: string): boolean {
  return key.startsWith(name) && /^(?:\.\d+)?$/.test(key.slice(name.length));
}

/** The names of all cookies that a session may have left in a browser, whose token is no longer than that. */
export function possibleParts(name: string, longest: number = LONGEST_BY_DEFAULT): string[] {
  return [name, ...Array.from({ length: Math.ceil(longest / CHUNK_SIZE) }, (_, i) => `${name}.${i}`)];
}

/** What a browser has to be told to hold a token, and no other cookies of the session that it may hold. */
export function sessionCookies(
  token: string,
  held: readonly string[],
  { name, options }: CookieSettings,
  expires: Date | undefined,
): SetCookie[] {
  const values = new Map(held.map((part) => [part, ""]));
  const chunks: string[] = [];
  for (let rest = token; rest !== ""; rest = rest.slice(chunks.at(-1)!.length)) {
    let chunk = rest.slice(0, CHUNK_SIZE);
    // Cookies hold some characters as escapes.
    while (encodeURIComponent(chunk).length > CHUNK_SIZE) chunk = chunk.slice(0, -128);
    chunks.push(chunk);
  }
  values.set(name, chunks.length === 1 ? token : "");
  // Beside chunks a whole cookie would be read instead of them, and one after the last as a part of them.
  for (let i = 0; chunks.length > 1 && i <= chunks.length; i++) values.set(`${name}.${i}`, chunks[i] ?? "");
  const kept = expires === undefined ? options : Object.assign({}, options, { expires });
  const cookies = [];
  for (const [name, value] of values) {
    cookies.push(value === "" ? removalOf(name, options) : { name, value, options: kept });
  }
  return cookies;
}

/** By default nginx answers 502 for replies with more than 4 KB of headers, which have other cookies too. */
const LARGE = 3.5 * 1024;

/** The bytes that a token takes in a Cookie header, in as many cookies as it needs. */
export function cookieSize(name: string, token: string): number {
  const value = encodeURIComponent(token).length;
  const count = Math.ceil(value / CHUNK_SIZE);
  const pair = name.length + "=; ".length;
  return count <= 1 ? pair + value : count * (pair + ".0".length) + value;
}

export class SessionTooLarge extends AuthError {
  static type = "SessionTooLarge";
  readonly code: FastifyAuthErrorCode = "FST_AUTHJS_SESSION_TOO_LARGE";
}

/** Throws for what is no token or above the limit ({@linkcode SessionTooLarge}). Warns of what servers may refuse. */
export async function encodeWithin(
  limit: number,
  jwt: JWTEncodeParams & Pick<JWTOptions, "encode">,
  logger: Pick<AuthLogger, "warnOnce">,
): Promise<string> {
  const token: unknown = await jwt.encode(jwt);
  // A sign-in would set no cookie, and no read would renew the session.
  if (typeof token !== "string" || token === "") {
    const returned = token === "" ? "an empty text" : typeof token;
    throw new TypeError(`\`jwt.encode\` returned ${returned}: return the token, a text.`);
  }
  const size = cookieSize(jwt.salt, token);
  if (size > limit) {
    const canRise = limit < LONGEST_TOKEN;
    throw new SessionTooLarge(
      `The session cookie would have ${size} bytes, and ` +
        (canRise ? `\`sessionCookieLimit\` is ${limit}. ` : `no more than ${limit} are read. `) + adviceOn(jwt.token) +
        (canRise ? ", or raise the limit and that of the servers before the application" : ""),
    );
  }
  if (size > LARGE) {
    const problem = `The session cookie has ${size} bytes. Servers before the application may refuse requests and ` +
      "replies with it: nginx answers 502 for replies with more than 4 KB of headers " +
      `(\`proxy_buffer_size\`). ${adviceOn(jwt.token)}.`;
    logger.warnOnce("large session", problem, "FST_AUTHJS_WARN_SESSION_SIZE");
  }
  return token;
}

/** What takes the room, by names and sizes; values may be secret. */
function adviceOn(claims: JWT = {}): string {
  // The application's encoder may keep what JSON cannot.
  const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(tryCopy(value)) ?? "");
  const sizes = Object.entries(withoutName(claims)).map(([name, value]) => [name, sizeOf(value)] as const);
  const largest = sizes.sort(([, a], [, b]) => b - a).slice(0, 3);
  const listed = largest.map(([name, size]) => `${name.slice(0, 40)} (${size} bytes)`).join(", ");
  return `The largest claims: ${listed}. Put less in the token in \`callbacks.jwt\`, or keep sessions in a database`;
}
