/**
 * Which session at an OpenID Provider a session was made from, so that either can end the other: a claim of the session
 * token with an index in the store, or with sessions in a database the end of the row's token.
 */
import { AccessDenied } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import { isFilled } from "../../config/rules.ts";
import { namedBy, sessionIdOf, type SessionKey } from "../known_session.ts";
import { digestName } from "../../session/name.ts";
import type { SharedStore } from "../../store/shared_store.ts";
import { jwtPayload } from "../../utils/decode.ts";
import { idOf } from "../../utils/text.ts";
import type { NamedSession, SessionSignIn } from "../feature.ts";

export interface ProviderSession {
  readonly provider: string;
  /** The issuer: configurations that share a store may have different ones under the same id. */
  readonly iss?: string | undefined;
  /** The user at the provider. */
  readonly sub?: string | undefined;
  /** The session there (OpenID Connect Front-Channel Logout 1.0, section 3), if its ID tokens have it. */
  readonly sid?: string | undefined;
  /** When the ID token was issued, in seconds since 1970 by the provider's clock. */
  readonly iat?: number | undefined;
  /** The user who signed in here, whatever becomes of the claim `sub` later. */
  readonly user?: string | undefined;
  /** The ID token, if it is kept for a sign-out at the provider. */
  readonly idToken?: string | undefined;
}

/** What a provider ends, and when: a session, all sessions of a user, or both names of one. */
export type EndedAtProvider = Pick<ProviderSession, "sub" | "sid"> & Readonly<{ iss: string; iat: number }>;

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
  // Core has validated the others.
  const { iss, sub, sid, iat } = (jwtPayload(idToken) ?? {}) as Partial<ProviderSession>;
  return { provider, iss, sub, sid: isFilled(sid) ? sid : undefined, iat, idToken };
}

/** The claims of a sign-in with what is kept of the session at its provider. One that goes on keeps its own. */
export function claimOfSignIn(claims: JWT, signIn: SessionSignIn, kept: Record<"ids" | "idToken", boolean>): JWT {
  const { [PROVIDER_SESSION_CLAIM]: _before, ...rest } = claims;
  const session = signIn.goesOn ? undefined : signedInAt(signIn);
  if (session === undefined) return rest;
  const { provider, idToken, ...ids } = session;
  const named = { provider, ...(kept.ids && { ...ids, user: idOf(claims.sub) }), ...(kept.idToken && { idToken }) };
  return { ...rest, [PROVIDER_SESSION_CLAIM]: named };
}

/** Under which keys a session is found. They do not show `sub` or `sid`. */
function keysOfSession({ iss, sub, sid }: Partial<ProviderSession> = {}): string[] {
  if (iss === undefined || sub === undefined) return [];
  const ofUser = keyOf(iss, "sub", sub);
  return [sid === undefined ? keyOf(iss, "sub without sid", sub) : keyOf(iss, "sid", sid), ofUser];
}

/** The keys of the sessions to end. With a `sid` also those of the user of which the provider has named none. */
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
    signIn.logger.warnOnce(`account id of ${provider}`, message, "FST_AUTHJS_WARN_PROVIDER_SIGN_OUT");
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

/** What the index has of a session, and under which keys. */
function entryOf({ claims, name }: NamedSession) {
  const session = providerSessionOf(claims);
  const user = session?.user ?? idOf(claims.sub);
  // By the provider's clock, the time of the ID token says which sessions began before it ended them. It may have a
  // fraction (RFC 7519 section 2).
  const iat = Math.floor(session?.iat ?? 0);
  const keys = user === undefined ? [] : keysOfSession(session);
  return { session, iat, keys, member: `${iat}:${sessionIdOf({ user: String(user), id: name })}` };
}

/** For how long a sign-in may be under way that the provider has ended the session of, in milliseconds. */
const SIGN_IN_MS = 15 * 60_000;

/** Sessions in a JWT by the provider's, in the store. */
export class ProviderIndex {
  /** @param keepFor Milliseconds for which a token of a session may be valid. */
  constructor(private readonly store: SharedStore, private readonly keepFor: number) {}

  /**
   * Adds a session that begins, or whose token was sealed anew.
   * @throws {AccessDenied} For a new session that the provider has ended meanwhile.
   */
  async add(named: NamedSession, isNew: boolean): Promise<void> {
    const { session, iat, member, keys } = entryOf(named);
    for (const key of keys) {
      await this.store.call("add", this.store.key("provider", key), member, this.keepFor);
      if (!isNew) continue;
      // The session is in the index now: of an end and a sign-in at the same time, one sees the other.
      const [end] = await this.store.call("get", [this.store.key("provider-end", key)]);
      // A sign-in in the second of the end may be a new one.
      if (end && iat && iat < Number(end)) {
        throw new AccessDenied(`"${session!.provider}" has just ended the session that this sign-in is of.`);
      }
    }
  }

  /** Removes a session that has ended. */
  async remove(named: NamedSession): Promise<void> {
    const { member, keys } = entryOf(named);
    for (const key of keys) await this.store.call("remove", this.store.key("provider", key), member);
  }

  /** Ends, and then removes, the sessions that a provider ends. Later sign-ins that are under way are refused. */
  async end(ended: EndedAtProvider, endSession: (session: SessionKey) => Promise<void>): Promise<void> {
    const found = new Map<string, SessionKey>();
    const keys = keysToEnd(ended);
    for (const key of keys) {
      await this.store.call("set", this.store.key("provider-end", key), `${ended.iat}`, SIGN_IN_MS);
      for (const member of await this.store.call("members", this.store.key("provider", key))) {
        const [, iat, id = ""] = /^(\d+):([^]*)$/.exec(member) ?? [];
        const named = namedBy(id);
        // The token may come late: sessions that began since are of a later sign-in.
        if (named !== undefined && Number(iat) <= ended.iat) found.set(member, named);
      }
    }
    const all = new Set([...keys, ...keysOfSession(ended)]);
    for (const [member, session] of found) {
      await endSession(session);
      for (const key of all) await this.store.call("remove", this.store.key("provider", key), member);
    }
  }
}
