/** What core derives keys for besides sessions: a token sealed with such a key is ours, but not a session. */
import type { AuthConfig } from "@auth/core";
import { type AuthCookie, cookieSettings } from "../config/cookies.ts";

/** The cookies that are encrypted; the salt of a key is the name of its cookie. */
const ENCRYPTED: readonly AuthCookie[] = [
  "sessionToken",
  "state",
  "pkceCodeVerifier",
  "nonce",
  "webauthnChallenge",
];

/** The salts of what core encrypts and puts inside of such a cookie. */
const WITHIN = ["encodedState", "encodedWebauthnChallenge"];

/**
 * The salts of all keys but those of one session cookie.
 *
 * @param core The configuration.
 * @param own The name of that cookie.
 */
export function otherSalts(core: AuthConfig, own: string): string[] {
  const names = [core, {}].flatMap((core) =>
    [true, false].flatMap((secure) => ENCRYPTED.map((cookie) => cookieSettings(cookie, core, secure).name))
  );
  return [...new Set([...names, ...WITHIN])].filter((salt) => salt !== own);
}
