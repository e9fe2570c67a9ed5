/** Checks the codec of an application: a session is known by a claim of its token. */
import type { ResolvedConfig } from "../config/resolve.ts";
import { FastifyAuthError } from "../errors.ts";
import { namedBy, newName, withName } from "./name.ts";
import type { SessionSettings } from "./settings.ts";

/**
 * Encodes and decodes a token, as a sign-in does. If its name is lost each token is a session of its own: with a store
 * that is a mistake, and else there is a warning.
 *
 * A codec that fails is left alone: it may need what is not there yet, and says so when a session is read.
 */
export async function codecProblem(
  { strategy, ownTokens, jwt, cookie, refresh: { store } }: SessionSettings,
  { notices }: Pick<ResolvedConfig, "notices">,
): Promise<FastifyAuthError | undefined> {
  if (strategy !== "jwt" || ownTokens) return undefined;
  const params = { ...jwt, salt: cookie.name };
  const name = newName();
  try {
    const token = await jwt.encode({ ...params, token: withName({ sub: "check at boot" }, name) });
    const claims = await jwt.decode({ ...params, token });
    if (claims !== null && namedBy(claims) === name) return undefined;
  } catch {
    return undefined;
  }
  const problem =
    "`jwt.encode` and `jwt.decode` lose the claim `session_name`, by which a session is known when it is " +
    "renewed and when it ends. Have them keep every claim of the token.";
  if (store !== undefined) return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", problem);
  notices.warn(problem, "FST_AUTHJS_WARN_CODEC");
  return undefined;
}
