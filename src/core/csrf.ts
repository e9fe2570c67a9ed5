/**
 * The CSRF cookie while secrets are rotated.
 *
 * @module
 */
import { parseCookie, stringifyCookie } from "cookie";
import { type HashSecrets, hashToken } from "./secrets.ts";

/**
 * The Cookie header with a CSRF cookie that core accepts, where it was made with a secret of the configuration: a form that
 * was opened before the secret was rotated can still be sent. Every other cookie is left as it is.
 *
 * @param header The Cookie header.
 * @param name The name of the CSRF cookie.
 * @param secrets What such cookies are made with.
 */
export function withKnownCsrfCookie(header: string, name: string, { current, others }: HashSecrets): string {
  if (others.length === 0 || !header.includes(name)) return header;
  const [token = "", hash] = parseCookie(header)[name]?.split("|") ?? [];
  // Compared as core does it: whoever could learn a hash by timing knows a token of his own browser only.
  if (hash === undefined || hash === hashToken(token, current)) return header;
  if (!others.some((secret) => hash === hashToken(token, secret))) return header;
  const pairs = header.split(";").map((pair) => pair.trim());
  const rest = pairs.filter((pair) => pair.split("=")[0]!.trim() !== name);
  return [...rest, stringifyCookie({ [name]: `${token}|${hashToken(token, current)}` })].join("; ");
}
