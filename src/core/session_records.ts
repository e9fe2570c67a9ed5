/**
 * Records of sessions in a JWT (`sessionStore`) for what core encodes: a sign-in begins one, an update keeps
 * it.
 */
import type { AuthConfig } from "@auth/core";
import type { JWT } from "@auth/core/jwt";
import { assertNotEndedAtProvider } from "../session/provider_index.ts";
import { claimOf, type RecordClaim, SessionStoreFailure, withClaim } from "../session/session_records.ts";
import type { RequestContext } from "./context.ts";

type Jwt = NonNullable<AuthConfig["jwt"]>;

/** The functions for tokens that record sessions. */
export interface RecordingJwt {
  readonly jwt: Jwt;
  /** Why a sign-in could not be recorded: it must fail. */
  failure(): SessionStoreFailure | undefined;
}

/** The functions for tokens, which record sessions where the configuration has a store for that. */
export function recordSessions(
  jwt: Jwt,
  { settings, action, headers, warnOnce, config: { logoutTokens } }: RequestContext,
): RecordingJwt {
  const { records, cookie } = settings;
  if (records === undefined) return { jwt, failure: () => undefined };
  let held: RecordClaim | undefined;
  let failure: SessionStoreFailure | undefined;
  const begin = async (claims: JWT) => {
    const token = await records.begin(claims);
    if (claimOf(token) === undefined) {
      warnOnce("session without sub", WITHOUT_USER, "FST_AUTHJS_WARN_SESSION_RECORD");
    }
    return token;
  };
  return {
    failure: () => failure,
    jwt: {
      ...jwt,
      async decode(params) {
        const claims = await jwt.decode!(params);
        if (params.salt === cookie.name && claims !== null) held = claimOf(claims);
        return claims;
      },
      async encode(params) {
        if (params.salt !== cookie.name || !params.token) return await jwt.encode!(params);
        if (action !== "callback") {
          return await jwt.encode!({ ...params, token: withClaim(params.token, held) });
        }
        try {
          const token = await begin(params.token);
          const sealed = await jwt.encode!({ ...params, token });
          await records.put(token, headers["user-agent"]);
          if (logoutTokens !== undefined) await assertNotEndedAtProvider(token, records);
          return sealed;
        } catch (error) {
          if (error instanceof SessionStoreFailure) failure = error;
          throw error;
        }
      },
    },
  };
}

const WITHOUT_USER =
  "A session token without `sub` was made: its session can be neither listed nor ended. Return `sub`, the id of the " +
  "user, from `callbacks.jwt`.";
