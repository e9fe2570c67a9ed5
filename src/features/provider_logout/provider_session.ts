/**
 * Which session at an OpenID Provider a session was made from, so that either can end the other: a claim of
 * the session token, or with sessions in a database the end of the row's token.
 */
import type { JWT } from "@auth/core/jwt";
import type { SessionSignIn } from "../../session/hooks.ts";
import { digestName } from "../../session/name.ts";
import { jwtPayload } from "../../utils/decode.ts";

export interface ProviderSession {
  readonly provider: string;
  /** The issuer: configurations that share a store may have different ones under the same id. */
  readonly iss?: string;
  /** The user at the provider. */
  readonly sub?: string;
  /** The session there (OpenID Connect Front-Channel Logout 1.0, section 3), if its ID tokens have it. */
  readonly sid?: string;
  /** When the ID token was issued, in seconds since 1970 by the provider's clock. */
  readonly iat?: number;
  /** The user who signed in here, whatever becomes of the claim `sub` later. */
  readonly user?: string;
  /** The ID token, if it is kept for a sign-out at the provider. */
  readonly idToken?: string;
}

/** What a provider ends, and when: a session, all sessions of a user, or both names of one. */
export interface EndedAtProvider {
  readonly iss: string;
  readonly sub: string | undefined;
  readonly sid: string | undefined;
  readonly iat: number;
}

/** The claim. It stays on the server: sessions are made without it. */
export const PROVIDER_SESSION_CLAIM = "providerSession";

export function providerSessionOf(claims: JWT): ProviderSession | undefined {
  const claim = claims[PROVIDER_SESSION_CLAIM] as ProviderSession | undefined;
  return typeof claim?.provider === "string" ? claim : undefined;
}

/** The session at the provider that a sign-in is of; `undefined` for one without an OpenID Provider. */
function signedInAt({ params: { account } }: SessionSignIn): ProviderSession | undefined {
  if (account?.type !== "oidc") return undefined;
  const { provider, id_token: idToken } = account;
  // Core has validated it.
  const { iss, sub, sid, iat } = jwtPayload(idToken) ?? {};
  return {
    provider,
    ...(typeof iss === "string" && { iss }),
    ...(typeof sub === "string" && { sub }),
    ...(isText(sid) && { sid }),
    ...(typeof iat === "number" && { iat }),
    ...(idToken !== undefined && { idToken }),
  };
}

/** Whether a claim, which may be anything, is a text that names something. */
export function isText(claim: unknown): claim is string {
  return typeof claim === "string" && claim !== "";
}

/**
 * The claims of a sign-in with what is kept of the session at its provider: what names it and its user (`ids`), and
 * the ID token. A sign-in that goes on with a session leaves that one its own.
 */
export function claimOfSignIn(
  claims: JWT,
  signIn: SessionSignIn,
  kept: { readonly ids: boolean; readonly idToken: boolean },
): JWT {
  const { [PROVIDER_SESSION_CLAIM]: _before, ...rest } = claims;
  const session = signIn.goesOn ? undefined : signedInAt(signIn);
  if (session === undefined) return rest;
  const { provider, idToken, ...ids } = session;
  const claim: ProviderSession = {
    provider,
    ...(kept.ids && { ...ids, ...(isText(claims.sub) && { user: claims.sub }) }),
    ...(kept.idToken && idToken !== undefined && { idToken }),
  };
  return { ...rest, [PROVIDER_SESSION_CLAIM]: claim };
}

/** Under which keys a session is found. They do not show `sub` or `sid`. */
export function keysOfSession({ iss, sub, sid }: Partial<ProviderSession> = {}): string[] {
  if (iss === undefined || sub === undefined) return [];
  const ofUser = keyOf(iss, "sub", sub);
  return [sid === undefined ? keyOf(iss, "sub without sid", sub) : keyOf(iss, "sid", sid), ofUser];
}

/**
 * The keys of the sessions to end. With a `sid` these are the sessions of that one; and those of the user of
 * which the provider has not named any.
 */
export function keysToEnd({ iss, sub, sid }: EndedAtProvider): string[] {
  if (sid === undefined) return sub === undefined ? [] : [keyOf(iss, "sub", sub)];
  return [keyOf(iss, "sid", sid), ...(sub === undefined ? [] : [keyOf(iss, "sub without sid", sub)])];
}

function keyOf(iss: string, kind: "sid" | "sub" | "sub without sid", value: string): string {
  return digestName(JSON.stringify([iss, kind, value]));
}

/** Names the provider and the session there at the end of a token. The MAC of a `tenant` may follow. */
const TAG = /\.([\w-]{8})\.([\w-]{22})?(?=$|\.[0-9a-f]{32}$)/;

/**
 * The end of the token of a row: the adapters of Auth.js know no further columns.
 *
 * @param isFoundByUser Whether a logout of the provider has to find the user by the account.
 */
export function tagOfSignIn(signIn: SessionSignIn, isFoundByUser: boolean): string {
  const session = signedInAt(signIn);
  if (session === undefined) return "";
  const { provider, sub } = session;
  if (isFoundByUser && sub !== signIn.params.account!.providerAccountId) {
    const message =
      `\`profile()\` of "${provider}" returns another \`id\` than the \`sub\` of the ID token, by which ` +
      "`providerLogout.backchannel` finds the user: the provider's logouts do not end sessions. " +
      "Return `profile.sub` as `id`.";
    signIn.warnOnce(`account id of ${provider}`, message, "FST_AUTHJS_WARN_PROVIDER_SIGN_OUT");
  }
  const [key = ""] = keysOfSession(session);
  return `.${digestName(provider).slice(0, 8)}.${key.slice(0, 22)}`;
}

/** The tag of a session token, for another token of the same provider session. */
export function tagOf(token: string): string {
  return TAG.exec(token)?.[0] ?? "";
}

/** Which of these providers a session token names. */
export function providerOfToken(token: string, providers: Iterable<string>): string | undefined {
  const [, tag] = TAG.exec(token) ?? [];
  return tag === undefined ? undefined : [...providers].find((id) => digestName(id).startsWith(tag));
}

/** Whether a session token is of one of the sessions with these keys. */
export function hasKey(token: string, keys: readonly string[]): boolean {
  const [, , tag] = TAG.exec(token) ?? [];
  return tag !== undefined && keys.some((key) => key.startsWith(tag));
}
