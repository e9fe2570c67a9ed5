/**
 * The CSRF cookie while secrets are rotated.
 *
 * @module
 */
import { parseCookie, stringifyCookie } from "cookie";
import { type HashSecrets, hashToken } from "./secrets.ts";

/**
 * The Cookie header, with a CSRF cookie of an older secret replaced by one of the current secret: a form that
 * was opened before the secret was rotated can still be sent.
 *
 * @param header The Cookie header.
 * @param name The name of the CSRF cookie.
 * @param secrets The secrets that such cookies are hashed with.
 */
export function withKnownCsrfCookie(header: string, name: string, { current, others }: HashSecrets): string {
  if (others.length === 0 || !header.includes(name)) return header;
  const [token = "", hash] = parseCookie(header)[name]?.split("|") ?? [];
  // Compared as in core: timing could only show a client the hash of its own token.
  if (hash === undefined || hash === hashToken(token, current)) return header;
  if (!others.some((secret) => hash === hashToken(token, secret))) return header;
  const pairs = header.split(";").map((pair) => pair.trim());
  const rest = pairs.filter((pair) => pair.split("=")[0]!.trim() !== name);
  return [...rest, stringifyCookie({ [name]: `${token}|${hashToken(token, current)}` })].join("; ");
}
