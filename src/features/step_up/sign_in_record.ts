/**
 * How and when the user of a session signed in, in claims of the session token (`stepUp`). The names are
 * those of ID tokens (OpenID Connect Core 1.0 section 2).
 */
import type { JWT } from "@auth/core/jwt";
import type { SessionSignIn, SignInParams } from "../../session/hooks.ts";
import { jwtPayload } from "../../utils/decode.ts";

/** The sign-in of a session. */
export interface SignInRecord {
  /** The id of the provider. */
  readonly provider: string;
  /** When it was completed, in milliseconds since 1970. */
  readonly at: number;
}

/** The claim with the {@linkcode SignInRecord}. */
const CLAIM = "signIn";

/** The sign-in that the claims are of, if they say so. */
export function signInOf(claims: JWT): SignInRecord | undefined {
  return claims[CLAIM] as SignInRecord | undefined;
}

/**
 * What claims say of a sign-in: how and when the user was authenticated, as far as that is known, and the record.
 *
 * @param held What the claims of the session say that the browser had. A sign-in that links an account to a user
 * who existed before proves the account alone, so that they go on.
 */
export function claimsOfSignIn({ params, linksAccount }: SessionSignIn, held: JWT = {}): JWT {
  if (linksAccount && params.isNewUser !== true) {
    const { auth_time, acr, amr, [CLAIM]: record } = held;
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

/** The class and the methods of an authentication. */
function methodOf(from: object): JWT {
  const { acr, amr } = from as JWT;
  return { ...(typeof acr === "string" && { acr }), ...(Array.isArray(amr) && { amr }) };
}
