/**
 * How large a session cookie may get. A browser sends it with every request, and servers limit the headers
 * they take: with one that is too large every request is refused, signing out included.
 */
import { AuthError } from "@auth/core/errors";
import type { JWT, JWTEncodeParams, JWTOptions } from "@auth/core/jwt";
import { Buffer } from "node:buffer";
import type { FastifyAuthErrorCode } from "../errors.ts";
import { CHUNK_SIZE } from "./cookie.ts";
import { withoutName } from "./name.ts";

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

/**
 * Encodes a token, with a warning about one that some servers refuse already.
 *
 * @throws {SessionTooLarge} If its cookie would have more bytes than the limit.
 */
export async function encodeWithin(
  jwt: Pick<JWTOptions, "encode">,
  params: JWTEncodeParams,
  { limit, warn }: { readonly limit: number; readonly warn: (message: string) => void },
): Promise<string> {
  const token = await jwt.encode(params);
  const size = cookieSize(params.salt, token);
  if (size > limit) {
    throw new SessionTooLarge(
      `The session cookie would have ${size} bytes, and \`sessionCookieLimit\` is ${limit}. ` +
        `${adviceOn(params.token)}, or raise the limit and that of the servers before the application`,
    );
  }
  if (size > LARGE) {
    warn(
      `The session cookie has ${size} bytes. Servers before the application may refuse requests and ` +
        "replies with it: nginx answers 502 for replies with more than 4 KB of headers " +
        `(\`proxy_buffer_size\`). ${adviceOn(params.token)}.`,
    );
  }
  return token;
}

/** What takes the room, by names and sizes; values may be secret. */
function adviceOn(claims: JWT = {}): string {
  const sizes = Object.entries(withoutName(claims)).map(([name, value]) => [name, sizeOf(value)] as const);
  const largest = sizes.sort(([, a], [, b]) => b - a).slice(0, 3);
  const listed = largest.map(([name, size]) => `${name.slice(0, 40)} (${size} bytes)`).join(", ");
  return `The largest claims: ${listed}. Put less in the token in \`callbacks.jwt\`, or keep sessions in a database`;
}

function sizeOf(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? "");
  } catch {
    return 0; // The application's encoder may keep what JSON cannot.
  }
}
