/**
 * The names and attributes of Auth.js's cookies, as core resolves them.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import type { SerializeOptions } from "cookie";
import { FastifyAuthError } from "../errors.ts";

/** The name and attributes of one cookie. */
export interface CookieSettings {
  /** For an encrypted cookie also the salt of its key. */
  readonly name: string;
  readonly options: SerializeOptions;
}

/** The keys of `cookies` in the configuration. */
export type AuthCookie =
  | "sessionToken"
  | "callbackUrl"
  | "csrfToken"
  | "pkceCodeVerifier"
  | "state"
  | "nonce"
  | "webauthnChallenge";

/** Core's names, without the prefix for secure cookies. */
const NAMES: Readonly<Record<AuthCookie, string>> = {
  sessionToken: "authjs.session-token",
  callbackUrl: "authjs.callback-url",
  csrfToken: "authjs.csrf-token",
  pkceCodeVerifier: "authjs.pkce.code_verifier",
  state: "authjs.state",
  nonce: "authjs.nonce",
  webauthnChallenge: "authjs.challenge",
};

/**
 * Merges the configuration's settings of a cookie over core's defaults.
 *
 * @param secure Whether the public origin is https.
 */
export function cookieSettings(
  cookie: AuthCookie,
  core: Pick<AuthConfig, "cookies" | "useSecureCookies">,
  secure: boolean,
): CookieSettings {
  const secureCookies = core.useSecureCookies ?? secure;
  const own = core.cookies?.[cookie];
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

/**
 * Checks the names: core treats every cookie whose name starts with that of the session cookie as a part of
 * it, and would remove it with each sign-in.
 */
export function cookieNameProblem(core: AuthConfig): FastifyAuthError | undefined {
  const others = (Object.keys(NAMES) as AuthCookie[]).filter((cookie) => cookie !== "sessionToken");
  for (const secure of [true, false]) {
    const { name } = cookieSettings("sessionToken", core, secure);
    const taken = others.map((cookie) => cookieSettings(cookie, core, secure).name)
      .find((other) => other.startsWith(name));
    if (taken === undefined) continue;
    return new FastifyAuthError(
      "FST_AUTHJS_CONFIG_INVALID",
      `The name of the session cookie, "${name}", begins the name of another cookie, "${taken}", which Auth.js would take ` +
        "for a part of the session: choose another for `cookies.sessionToken.name`.",
    );
  }
}
