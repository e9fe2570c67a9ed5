/**
 * How and when the user of a session signed in, in claims of the session token (`stepUp`). The names are
 * those of ID tokens (OpenID Connect Core 1.0 section 2).
 */
import type { AuthConfig } from "@auth/core";
import type { JWT } from "@auth/core/jwt";
import { jwtPayload } from "../utils/jwt_payload.ts";

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
 * Whether a sign-in proves that this is the user it led to. One that added the account or passkey to a user
 * who existed before proves the account alone.
 *
 * @param linksAccount Whether core has linked the account in this sign-in.
 */
export function provesUser({ isNewUser }: SignIn, linksAccount: boolean): boolean {
  return !linksAccount || isNewUser === true;
}

/**
 * The `jwt` callback for core, which also records sign-ins. Of the claims, those of the application's
 * callback win.
 *
 * @param own The application's.
 * @param linksAccount Whether core has linked the account in this sign-in.
 * @param held The claims of the session that the browser had, if core links the account to its user.
 */
export function recordSignIns(
  own: JwtCallback | undefined,
  linksAccount?: () => boolean,
  held?: () => Promise<JWT | undefined>,
): JwtCallback {
  return async (params) => {
    const claims = own ? await own(params) : params.token;
    if (claims === null || !params.account) return claims;
    if (!provesUser(params, linksAccount?.() === true)) {
      return { ...authenticationIn(await held?.()), ...claims };
    }
    return { ...claimsOfSignIn(params), ...claims, ...recordOf(params) };
  };
}

/** What the claims say of the authentication of their user. */
function authenticationIn({ auth_time, acr, amr, [CLAIM]: record }: JWT = {}): JWT {
  const claims = { auth_time, acr, amr, [CLAIM]: record };
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
}

/** A sign-in, as callbacks and events of core get it. */
export interface SignIn {
  readonly user: object;
  readonly account?: Pick<Account, "provider" | "id_token"> & { readonly type: string } | null | undefined;
  readonly profile?: object | undefined;
  readonly isNewUser?: boolean | undefined;
}

/**
 * The claims of a sign-in: when and how the user was authenticated, as far as that is known, and the record.
 */
export function claimsOfSignIn(signIn: SignIn): JWT {
  return { ...authenticationOf(signIn), ...recordOf(signIn) };
}

function recordOf({ account }: SignIn): { [CLAIM]: SignInRecord } {
  return { [CLAIM]: { provider: account!.provider, at: Date.now() } };
}

function authenticationOf({ user, account, profile }: SignIn): Record<string, unknown> {
  const { type, id_token } = account!;
  if (type === "oauth") return {};
  // This application has authenticated the user just now; authorize() may say how.
  if (type !== "oidc") {
    return { auth_time: Math.floor(Date.now() / 1000), ...(type === "credentials" && methodOf(user)) };
  }
  // Core has validated the ID token.
  const claims = jwtPayload(id_token) ?? profile ?? {};
  const { auth_time } = claims as Record<string, unknown>;
  return { ...(typeof auth_time === "number" && { auth_time }), ...methodOf(claims) };
}

/** The class and the methods of an authentication. */
function methodOf(from: object): Record<string, unknown> {
  const { acr, amr } = from as Record<string, unknown>;
  return { ...(typeof acr === "string" && { acr }), ...(Array.isArray(amr) && { amr }) };
}
