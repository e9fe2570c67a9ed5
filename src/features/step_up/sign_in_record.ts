/**
 * How and when the user of a session signed in (`stepUp`): in claims of the session token, by the names of ID tokens
 * (OpenID Connect Core 1.0 section 2). With sessions in a database, whose tables have no columns for it, the claims are
 * in a cookie beside that of the session. It is signed together with the session token, so that it counts for that
 * session alone, and a new one needs a new sign-in.
 */
import type { JWT } from "@auth/core/jwt";
import { parseCookie } from "cookie";
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { CookieDefinition } from "../../config/cookies.ts";
import { COOKIE_MAX_AGE } from "../../config/lifetime.ts";
import type { SetCookie } from "../../http/set_cookie.ts";
import { decodeBase64Url, jwtPayload, parseJsonObject } from "../../utils/decode.ts";
import type { RowSettings, SessionSignIn, SignInParams } from "../feature.ts";

export interface SignInRecord {
  readonly provider: string;
  /** When it was completed, in milliseconds since 1970. */
  readonly at: number;
}

/** The claim with the {@linkcode SignInRecord}. */
export const CLAIM = "signIn";

/**
 * What claims say of a sign-in: how and when the user was authenticated, as far as that is known, and the record.
 * @param held What the claims of the session say that the browser had. A sign-in that links an account to a user who
 * existed before proves the account alone, so that they go on.
 */
export function claimsOfSignIn({ params, linksAccount, goesOn }: SessionSignIn, held: JWT = {}): JWT {
  if (linksAccount && params.isNewUser !== true) {
    // A session that does not go on may be of another user.
    const { auth_time, acr, amr, [CLAIM]: record }: JWT = goesOn ? held : {};
    return JSON.parse(JSON.stringify({ auth_time, acr, amr, [CLAIM]: record }));
  }
  return { ...authenticationOf(params), [CLAIM]: { provider: params.account!.provider, at: Date.now() } };
}

/** The claims with what they say of a sign-in. But for the record, those of the application win. */
export function withSignIn(claims: JWT, ofSignIn: JWT): JWT {
  return { ...ofSignIn, ...claims, ...(CLAIM in ofSignIn && { [CLAIM]: ofSignIn[CLAIM] }) };
}

function authenticationOf({ user, account, profile }: SignInParams): JWT {
  const { type, id_token } = account!;
  if (type === "oauth") return {};
  // This application has authenticated the user just now; authorize() may say how.
  if (type !== "oidc") {
    return { auth_time: Math.floor(Date.now() / 1000), ...(type === "credentials" && methodOf(user)) };
  }
  // Core has validated the ID token.
  const claims = jwtPayload(id_token) ?? profile ?? {};
  const { auth_time } = claims as JWT;
  return { ...(typeof auth_time === "number" && { auth_time }), ...methodOf(claims) };
}

function methodOf(from: object): JWT {
  const { acr, amr } = from as JWT;
  return { ...(typeof acr === "string" && { acr }), ...(Array.isArray(amr) && { amr }) };
}

/** The cookie of a sign-in that a guard has begun. */
export const ATTEMPT: CookieDefinition = { name: "step-up" };

export const SIGN_IN: CookieDefinition = { name: "sign-in", prefix: "__Secure-" };

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
  const held = parseCookie(cookies)[settings.besideCookie(SIGN_IN).name] ?? "";
  const [payload = "", signed = ""] = held.split(".");
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
