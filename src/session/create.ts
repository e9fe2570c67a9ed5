/** Makes the session of a sign-in, in a JWT or as a row of a database. */
import type { AuthConfig } from "@auth/core";
import type { Adapter, AdapterSession } from "@auth/core/adapters";
import type { JWT } from "@auth/core/jwt";
import type { ResolvedConfig } from "../config/resolve.ts";
import type { NoticeCode } from "../config/notices.ts";
import { newExpiry } from "../config/lifetime.ts";
import { FastifyAuthError } from "../errors.ts";
import { sessionCookies, type SetCookie } from "./cookie.ts";
import { encodeWithin } from "./cookie_size.ts";
import { nameOf, newName, withName } from "./name.ts";
import { openToken } from "./open.ts";
import {
  keepProviderSession,
  PROVIDER_SESSION_CLAIM,
  providerSessionOf,
  signedInAt,
  tagFor,
  withProviderSession,
} from "./provider_session.ts";
import { keepTokens } from "./provider_tokens.ts";
import { claimOf, ownClaim, withClaim } from "./session_records.ts";
import type { SessionSettings } from "./settings.ts";
import { signInClaims, toSignInCookie } from "./sign_in_cookie.ts";
import { claimsOfSignIn, provesUser, recordSignIns } from "./sign_in_record.ts";

type JwtCallback = NonNullable<NonNullable<AuthConfig["callbacks"]>["jwt"]>;

/** A sign-in, as core gives it to `callbacks.jwt`. */
export type SignInParams = Parameters<JwtCallback>[0];

/** What a session is made with. */
export interface CreateContext {
  readonly config: ResolvedConfig;
  readonly settings: SessionSettings;
  /** The adapter of this request, which undoes what a failed sign-in wrote. */
  readonly adapter: Adapter | undefined;
  /** The session token of the browser, and its Cookie header. */
  readonly held: string;
  readonly cookies: string;
  readonly userAgent: string | undefined;
  /** Whether the account, or the passkey, was linked in this sign-in. */
  readonly linksAccount: boolean;
  /** Whether it was linked to the user of the session of the browser: then that session goes on. */
  readonly goesOn: boolean;
  readonly warnOnce: (what: string, message: string, code: NoticeCode) => void;
}

/** A session that a sign-in has made. */
export interface NewSession {
  readonly token: string;
  readonly cookies: readonly SetCookie[];
  /** Whether it is the session that the browser has. */
  readonly goesOn: boolean;
}

/**
 * Makes the session.
 *
 * @returns `undefined` if the `jwt` callback returned null.
 * @throws {SessionTooLarge} If the token is too large for its cookie.
 * @throws {SessionStoreFailure} If the session could not be recorded.
 */
export async function createSession(
  params: SignInParams,
  context: CreateContext,
): Promise<NewSession | undefined> {
  const { config, settings, held: token, linksAccount, goesOn, warnOnce } = context;
  if (settings.strategy === "database") return await createRow(params, context);
  const { jwt: codec, records, cookie, cookieLimit } = settings;
  const opened = () => openToken(token, settings).then(({ claims }) => claims, () => undefined);
  let jwt: JwtCallback = config.core.callbacks?.jwt ?? (({ token }) => token);
  if (config.recordsSignIns) jwt = recordSignIns(jwt, () => linksAccount, opened);
  let returned = await jwt(params);
  if (returned === null) return undefined;
  if (settings.keepsProviderSessions) returned = keepProviderSession(returned, params, config);
  if (config.keepsTokens) returned = keepTokens(returned, params, await opened());
  const held = goesOn ? await opened() : undefined;
  const name = held === undefined ? newName() : nameOf(held, token);
  const named = withName(returned, name);
  const claims = held === undefined ? await records?.begin(named, name) ?? named : asHeld(named, held, name);
  if (records !== undefined && ownClaim(claims) === undefined) {
    warnOnce("session without sub", WITHOUT_USER, "FST_AUTHJS_WARN_SESSION_RECORD");
  }
  // A session that goes on ends when it would have.
  const end = typeof held?.exp === "number" ? new Date(held.exp * 1000) : undefined;
  const maxAge = end && { maxAge: Math.ceil((end.valueOf() - Date.now()) / 1000) };
  const sealed = await encodeWithin(codec, { ...codec, token: claims, salt: cookie.name, ...maxAge }, {
    limit: cookieLimit,
    warn: (text) => warnOnce("large session", text, "FST_AUTHJS_WARN_SESSION_SIZE"),
  });
  await records?.put(claims, context.userAgent);
  await records?.assertNotEndedAtProvider(claims);
  return { token: sealed, cookies: sessionCookies(sealed, cookie, end ?? newExpiry(settings)), goesOn };
}

/** The claims of a session that goes on: its record, and the session at a provider that it was made from. */
function asHeld({ [PROVIDER_SESSION_CLAIM]: _ofAccount, ...claims }: JWT, held: JWT, name: string): JWT {
  return withProviderSession(withClaim(claims, claimOf({ claims: held, name })), providerSessionOf(held));
}

async function createRow(params: SignInParams, context: CreateContext): Promise<NewSession> {
  const { settings, adapter, goesOn } = context;
  const row = goesOn ? await heldRow(context) : await adapter!.createSession!({
    sessionToken: settings.generateSessionToken(tagOf(params, context)),
    userId: await userIdOf(params, adapter!),
    expires: new Date(Date.now() + settings.maxAge * 1000),
  });
  const cookies = sessionCookies(row.sessionToken, settings.cookie, new Date(row.expires));
  return {
    token: row.sessionToken,
    cookies: [...cookies, ...signInCookies(params, row, context)],
    goesOn,
  };
}

async function heldRow({ adapter, held }: CreateContext): Promise<AdapterSession> {
  return (await adapter!.getSessionAndUser!(held))!.session;
}

/** How the user signed in, beside the row. */
function signInCookies(params: SignInParams, row: AdapterSession, context: CreateContext): SetCookie[] {
  const { settings, held, cookies, linksAccount } = context;
  if (settings.signInCookie === undefined || !params.account) return [];
  const claims = provesUser(params, linksAccount)
    ? claimsOfSignIn(params)
    : signInClaims(cookies, held, settings) ?? {};
  return [toSignInCookie(claims, row.sessionToken, settings)];
}

/** Names the session at an OpenID Provider at the end of the row's token. */
function tagOf(params: SignInParams, { config, settings, warnOnce }: CreateContext): string | undefined {
  const { account } = params;
  if (!settings.keepsProviderSessions || account?.type !== "oidc") return undefined;
  const signedIn = signedInAt(params)!;
  if (config.logoutTokens !== undefined && signedIn.sub !== account.providerAccountId) {
    const { provider } = account;
    warnOnce(`account id of ${provider}`, otherId(provider), "FST_AUTHJS_WARN_PROVIDER_SIGN_OUT");
  }
  return tagFor(signedIn);
}

const otherId = (provider: string) =>
  `\`profile()\` of "${provider}" returns another \`id\` than the \`sub\` of the ID token, by which \`backchannelLogout\` ` +
  "finds the user: the provider's logouts do not end sessions. Return `profile.sub` as `id`.";

/** The id of the user; one that `authorize()` has returned has to be in the database. */
async function userIdOf({ user, account }: SignInParams, adapter: Adapter): Promise<string> {
  if (account?.type !== "credentials") return user.id!;
  const found = await adapter.getUser!(user.id!);
  // A database that compares texts with numbers finds user 1 for "1 or so".
  if (found && String(found.id) === user.id) return found.id;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `authorize() of the provider "${account.provider}" returned a user that the adapter does not have. A session in ` +
      "the database belongs to a user in it: return the user of the adapter, with its `id`, and create it " +
      "with `adapter.createUser()` when the user registers.",
  );
}

const WITHOUT_USER =
  "A session token without `sub` was made: its session can be neither listed nor ended. Return `sub`, the id of the " +
  "user, from `callbacks.jwt`.";
