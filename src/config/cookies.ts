/** The names and attributes of Auth.js's cookies, as core resolves them. */
import type { AuthConfig } from "@auth/core";
import { type SerializeOptions, stringifySetCookie } from "cookie";
import { invalidConfig } from "../errors.ts";

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

/** A cookie of Auth.js. */
export interface CookieDefinition {
  /** Its name, without the prefix for secure cookies and the one that all have. */
  readonly name: string;
  /**
   * The prefix of secure ones; without this, `__Host-` if its attributes allow that. Other applications of Auth.js
   * know the cookies of a session by core's names.
   */
  readonly prefix?: "__Host-" | "__Secure-";
}

/** Those of core, by their keys in `cookies` of the configuration. */
const CORE = {
  sessionToken: { name: "session-token", prefix: "__Secure-" },
  callbackUrl: { name: "callback-url" },
  csrfToken: { name: "csrf-token", prefix: "__Host-" },
  pkceCodeVerifier: { name: "pkce.code_verifier" },
  state: { name: "state" },
  nonce: { name: "nonce" },
  webauthnChallenge: { name: "challenge" },
} as const satisfies Readonly<Record<string, CookieDefinition>>;

/** The keys of `cookies` in the configuration. */
export type AuthCookie = keyof typeof CORE;

/** Core's cookies that no browser gets: their content is in the cookies of the attempts, those of `state`. */
export const UNSENT: readonly AuthCookie[] = ["pkceCodeVerifier", "nonce", "webauthnChallenge"];

/** The cookies that prove which browser began a sign-in. */
export const PROOFS = ["callbackUrl", "state"] as const;

/**
 * The prefix of a name (RFC 6265bis section 4.1.3). With `__Host-` no other host can set the cookie, and so
 * have this browser finish what another one began.
 */
function prefixOf({ prefix }: CookieDefinition, { secure, domain, path }: SerializeOptions): string {
  if (prefix !== undefined) return prefix;
  if (!secure) return "";
  return domain || path !== "/" ? "__Secure-" : "__Host-";
}

/**
 * Merges the configuration's settings of a cookie over core's defaults, and ours of its prefix.
 *
 * @param cookie One of core, or a definition of our own, which the configuration does not name.
 */
export function cookieSettings(
  cookie: AuthCookie | CookieDefinition,
  core: CookieConfig,
  secure: boolean,
): CookieSettings {
  const secureCookies = core.useSecureCookies ?? secure;
  const [definition, configured] = typeof cookie === "string"
    ? [CORE[cookie], core.cookies?.[cookie]]
    : [cookie, undefined];
  const options: Record<string, unknown> = {
    httpOnly: true,
    sameSite: "lax",
    path: "/",
    secure: secureCookies,
  };
  // As in core, `undefined` does not replace a default.
  for (const [name, value] of Object.entries(configured?.options ?? {})) {
    if (value !== undefined) options[name] = value;
  }
  const prefix = secureCookies ? prefixOf(definition, options) : "";
  const owner = core.cookieTenant === undefined ? "authjs" : `authjs-${core.cookieTenant}`;
  return {
    name: configured?.name ?? `${prefix}${owner}.${definition.name}`,
    options: options as SerializeOptions,
  };
}

/** The names of core's cookies, that of the session first. */
export function cookieNames(core: CookieConfig, secure: boolean): string[] {
  return (Object.keys(CORE) as AuthCookie[]).map((cookie) => cookieSettings(cookie, core, secure).name);
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
