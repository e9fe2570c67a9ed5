/**
 * How and when the user of a session signed in, in claims of the session token (`stepUp`). The names are those of
 * ID tokens (OpenID Connect Core 1.0 section 2).
 */
import type { AuthConfig } from "@auth/core";
import type { JWT } from "@auth/core/jwt";
import { parseJsonObject } from "../utils/json.ts";

type JwtCallback = NonNullable<NonNullable<AuthConfig["callbacks"]>["jwt"]>;
type Account = NonNullable<Parameters<JwtCallback>[0]["account"]>;

/** The sign-in of a session. */
export interface SignInRecord {
  /** The id of the provider. */
  readonly provider: string;
  /** When it was completed, in milliseconds since 1970. */
  readonly at: number;
}

/** The claim with the {@linkcode SignInRecord}. */
const CLAIM = "signIn";

/** The sign-in that the claims are of, where they say so. */
export function signInOf(claims: JWT): SignInRecord | undefined {
  return claims[CLAIM] as SignInRecord | undefined;
}

/**
 * The `jwt` callback for core, which also records sign-ins. Of the claims, those of the application's callback win.
 *
 * @param own The application's.
 */
export function recordSignIns(own: JwtCallback | undefined): JwtCallback {
  return async (params) => {
    const claims = own ? await own(params) : params.token;
    const { account, profile } = params;
    if (claims === null || !account) return claims;
    const record: SignInRecord = { provider: account.provider, at: Date.now() };
    return { ...authenticationOf(account, profile), ...claims, [CLAIM]: record };
  };
}

/** When and how the user was authenticated, as far as that is known. */
function authenticationOf(account: Account, profile: object | undefined): Record<string, unknown> {
  // The user was authenticated by this application just now.
  if (account.type !== "oauth" && account.type !== "oidc") {
    return { auth_time: Math.floor(Date.now() / 1000) };
  }
  if (account.type === "oauth") return {};
  const { auth_time, acr, amr } = (payloadOf(account.id_token) ?? profile ?? {}) as Record<string, unknown>;
  return {
    ...(typeof auth_time === "number" && { auth_time }),
    ...(typeof acr === "string" && { acr }),
    ...(Array.isArray(amr) && { amr }),
  };
}

/** The claims of an ID token, which core has validated. */
function payloadOf(idToken: string | undefined): object | undefined {
  const payload = idToken?.split(".")[1];
  if (payload === undefined) return undefined;
  const bytes = Uint8Array.from(
    atob(payload.replaceAll("-", "+").replaceAll("_", "/")),
    (char) => char.charCodeAt(0),
  );
  return parseJsonObject(new TextDecoder().decode(bytes));
}
