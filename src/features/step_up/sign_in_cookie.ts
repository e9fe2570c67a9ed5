/**
 * How and when the user of a session in a database signed in (`stepUp`), in a cookie beside that of the
 * session: the tables of Auth.js have no columns for it. It is signed together with the session token, so
 * that it counts for that session alone, and a new one needs a new sign-in.
 */
import type { JWT } from "@auth/core/jwt";
import { parseCookie } from "cookie";
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { CookieDefinition } from "../../config/cookies.ts";
import { COOKIE_MAX_AGE } from "../../config/lifetime.ts";
import type { SetCookie } from "../../http/set_cookie.ts";
import type { RowSettings } from "../../session/hooks.ts";
import { decodeBase64Url, parseJsonObject } from "../../utils/decode.ts";

export const SIGN_IN: CookieDefinition = { name: "sign-in", prefix: "__Secure-" };

/** The cookie of a sign-in that a guard has begun. */
export const ATTEMPT: CookieDefinition = { name: "step-up" };

/** The cookie for a new session, with claims as a session token would have them. */
export function toSignInCookie(claims: JWT, token: string, settings: RowSettings): SetCookie {
  const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
  const [signature] = signaturesOf(payload, token, settings);
  const { name, options } = settings.besideCookie(SIGN_IN);
  const value = `${payload}.${signature!.toString("base64url")}`;
  return { name, value, options: { ...options, maxAge: COOKIE_MAX_AGE } };
}

/** The claims in a Cookie header; `undefined` if the cookie is missing, or of another session. */
export function signInClaims(cookies: string, token: string, settings: RowSettings): JWT | undefined {
  const [payload = "", signed = ""] = parseCookie(cookies)[settings.besideCookie(SIGN_IN).name]?.split(".") ??
    [];
  const given = decodeBase64Url(signed);
  const isValid = signaturesOf(payload, token, settings).some((expected) =>
    given?.length === expected.length && timingSafeEqual(given, expected)
  );
  return isValid ? parseJsonObject(Buffer.from(payload, "base64url").toString()) : undefined;
}

/** By each of the secrets, that of new cookies first. */
function signaturesOf(payload: string, token: string, { jwt: { secret } }: RowSettings): Buffer[] {
  const text = JSON.stringify(["sign-in", token, payload]);
  return [secret].flat().map((secret) => createHmac("sha256", secret).update(text).digest());
}
