/** The names and attributes of Auth.js's cookies, as core resolves them. */
import type { AuthConfig } from "@auth/core";
import { type SerializeOptions, stringifySetCookie } from "cookie";
import { invalidConfig } from "../errors.ts";

/** The name and attributes of one cookie. */
export interface CookieSettings {
  /** For an encrypted cookie also the salt of its key. */
  readonly name: string;
  readonly options: SerializeOptions;
}

/** What core is given, and what its cookies are named after besides. */
export interface CoreConfig extends AuthConfig {
  /** A part of the names of cookies, if the configuration has a `tenant`. */
  cookieTenant?: string;
}

type CookieConfig = Pick<CoreConfig, "cookies" | "cookieTenant" | "useSecureCookies">;

/** Core's names and ours, without the prefix for secure cookies and the one that all have. */
const NAMES = {
  sessionToken: "session-token",
  callbackUrl: "callback-url",
  csrfToken: "csrf-token",
  pkceCodeVerifier: "pkce.code_verifier",
  state: "state",
  nonce: "nonce",
  webauthnChallenge: "challenge",
  emailConfirm: "email-confirm",
  stepUp: "step-up",
  signIn: "sign-in",
  signedOut: "signed-out",
};

/** The keys of `cookies` in the configuration, and our own cookies. */
export type AuthCookie = keyof typeof NAMES;

/** Ours, which the configuration does not name. */
const OWN = ["emailConfirm", "stepUp", "signIn", "signedOut"] as const;

function isOwn(cookie: AuthCookie): cookie is typeof OWN[number] {
  return (OWN as readonly AuthCookie[]).includes(cookie);
}

/** Core's cookies that no browser gets: their content is in the cookies of the attempts, those of `state`. */
export const UNSENT: readonly AuthCookie[] = ["pkceCodeVerifier", "nonce", "webauthnChallenge"];

/** The cookies that prove which browser began a sign-in. */
export const PROOFS = ["callbackUrl", "state"] as const;

/** The cookies of a session, which other applications of Auth.js know by core's names. */
const OF_SESSION: readonly AuthCookie[] = ["sessionToken", "signIn"];

/**
 * The prefix of a name (RFC 6265bis section 4.1.3). With `__Host-` no other host can set the cookie, and so
 * have this browser finish what another one began.
 */
function prefixOf(cookie: AuthCookie, { secure, domain, path }: SerializeOptions): string {
  if (OF_SESSION.includes(cookie)) return "__Secure-";
  if (cookie === "csrfToken") return "__Host-";
  if (!secure) return "";
  return domain || path !== "/" ? "__Secure-" : "__Host-";
}

/**
 * Merges the configuration's settings of a cookie over core's defaults, and ours of its prefix.
 *
 * @param secure Whether the public origin is https.
 */
export function cookieSettings(
  cookie: AuthCookie,
  core: CookieConfig,
  secure: boolean,
): CookieSettings {
  const secureCookies = core.useSecureCookies ?? secure;
  const own = isOwn(cookie) ? undefined : core.cookies?.[cookie];
  const options: Record<string, unknown> = {
    httpOnly: true,
    sameSite: "lax",
    path: "/",
    secure: secureCookies,
  };
  // As in core, `undefined` does not replace a default.
  for (const [name, value] of Object.entries(own?.options ?? {})) {
    if (value !== undefined) options[name] = value;
  }
  const prefix = secureCookies ? prefixOf(cookie, options) : "";
  const owner = core.cookieTenant === undefined ? "authjs" : `authjs-${core.cookieTenant}`;
  return { name: own?.name ?? `${prefix}${owner}.${NAMES[cookie]}`, options: options as SerializeOptions };
}

/** The names of all cookies, that of the session first. */
export function cookieNames(core: CookieConfig, secure: boolean): string[] {
  return (Object.keys(NAMES) as AuthCookie[]).map((cookie) => cookieSettings(cookie, core, secure).name);
}

/**
 * Checks that the configured cookies can be sent.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a name or an attribute that no cookie can have.
 */
export function requireCookies(cookies: AuthConfig["cookies"]): void {
  for (const [key, cookie] of Object.entries(cookies ?? {})) {
    const { name = "name", options } = cookie ?? {};
    try {
      stringifySetCookie({ ...options, name, value: "" });
    } catch (error) {
      throw invalidConfig(`\`cookies.${key}\` cannot be sent: ${(error as Error).message}.`, {
        cause: error,
      });
    }
  }
}
