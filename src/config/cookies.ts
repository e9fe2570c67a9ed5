/** The names and attributes of Auth.js's cookies, as core resolves them. */
import type { AuthConfig } from "@auth/core";
import type { SerializeOptions } from "cookie";

/** The name and attributes of one cookie. */
export interface CookieSettings {
  /** For an encrypted cookie also the salt of its key. */
  readonly name: string;
  readonly options: SerializeOptions;
}

type CookieConfig = Pick<AuthConfig, "cookies" | "useSecureCookies">;

/** Core's names and ours, without the prefix for secure cookies. */
const NAMES = {
  sessionToken: "authjs.session-token",
  callbackUrl: "authjs.callback-url",
  csrfToken: "authjs.csrf-token",
  pkceCodeVerifier: "authjs.pkce.code_verifier",
  state: "authjs.state",
  nonce: "authjs.nonce",
  webauthnChallenge: "authjs.challenge",
  emailConfirm: "authjs.email-confirm",
  accountLink: "authjs.account-link",
  stepUp: "authjs.step-up",
};

/** The keys of `cookies` in the configuration, and our own cookies. */
export type AuthCookie = keyof typeof NAMES;

/** Ours, which the configuration does not name. */
const OWN = ["emailConfirm", "accountLink", "stepUp"] as const;

function isOwn(cookie: AuthCookie): cookie is typeof OWN[number] {
  return (OWN as readonly AuthCookie[]).includes(cookie);
}

/**
 * Merges the configuration's settings of a cookie over core's defaults.
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
  const prefix = secureCookies ? (cookie === "csrfToken" ? "__Host-" : "__Secure-") : "";
  return { name: own?.name ?? `${prefix}${NAMES[cookie]}`, options: options as SerializeOptions };
}

/** The names of all cookies, that of the session first. */
export function cookieNames(core: CookieConfig, secure: boolean): string[] {
  return (Object.keys(NAMES) as AuthCookie[]).map((cookie) => cookieSettings(cookie, core, secure).name);
}

/** A name that begins no other cookie's. */
const UNMISTAKABLE = "fastify-authjs.session-token";

/**
 * The name of the session cookie for core: its own, unless that begins the name of another cookie, which core
 * would take for a part of the session.
 */
export function sessionNameInCore(core: AuthConfig, secure: boolean): string {
  const [name = "", ...others] = cookieNames(core, secure);
  return others.some((other) => other.startsWith(name)) ? UNMISTAKABLE : name;
}
