/** What core derives keys for besides sessions: a token sealed with such a key is ours, but not a session. */
import { cookieNames, type CoreConfig } from "../config/cookies.ts";

/** The salts of what core encrypts and puts inside of a cookie. For others the salt is the cookie's name. */
const WITHIN = ["encodedState", "encodedWebauthnChallenge"];

/** The salts of all keys but those of one session cookie. */
export function otherSalts(core: CoreConfig, own: string): string[] {
  const names = [core, {}].flatMap((core) => [true, false].flatMap((secure) => cookieNames(core, secure)));
  return [...new Set([...names, ...WITHIN])].filter((salt) => salt !== own);
}
