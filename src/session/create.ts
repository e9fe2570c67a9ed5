/** Makes the session of a sign-in, in a JWT or as a row of a database. */
import type { Adapter } from "@auth/core/adapters";
import type { JWT } from "@auth/core/jwt";
import { randomUUID } from "node:crypto";
import { newExpiry } from "../config/lifetime.ts";
import { FastifyAuthError } from "../errors.ts";
import type { SessionSignIn, SignInParams } from "../features/feature.ts";
import type { SetCookie } from "../http/set_cookie.ts";
import { encodeWithin, type SessionCookie, sessionCookies } from "./cookie.ts";
import { hasEnded } from "./ending.ts";
import { updateInTurn } from "./in_turn.ts";
import { EPHEMERAL_TAG, isEphemeral, withName } from "./name.ts";
import { openToken, sessionName } from "./open.ts";
import { cookieEnd, lifetimesFor, type SessionSettings } from "./settings.ts";

export interface SignInRequest extends Omit<SessionSignIn, "params" | "held"> {
  readonly settings: SessionSettings;
  readonly held: SessionCookie;
  readonly cookies: string;
  readonly headers: { readonly "user-agent"?: string | undefined };
  /** The adapter of the request, which undoes what a failed sign-in wrote. */
  readonly adapter: Adapter | undefined;
  readonly parts: readonly string[];
  /** Whether the session goes on when the browser is closed; `undefined`: as the one that it replaces. */
  readonly rememberMe: boolean | undefined;
  /** What a test says of the sign-in, if its session is a row. */
  readonly claims?: JWT | undefined;
}

export interface NewSession {
  readonly token: string;
  readonly cookies: readonly SetCookie[];
}

/** Makes the session; none if the `jwt` callback returned null, or if one that goes on has ended meanwhile. */
export async function createSession(params: SignInParams, request: SignInRequest): Promise<NewSession | undefined> {
  const { settings, held: { token } } = request;
  if (settings.strategy === "database") return await createRow(params, request);
  const { jwt } = settings.callbacks;
  const result = jwt === undefined ? params.token : jwt(params);
  if (result instanceof Promise) settings.live.hasAsyncCallbacks = true;
  const claims = await result;
  if (claims === null) return undefined;
  // Of `undefined` core makes a session without a user, which guards would let pass. A feature would add to a list.
  const kind = typeof claims === "object" ? Object.prototype.toString.call(claims).slice(8, -1) : typeof claims;
  if (kind !== "Object") throw new TypeError(`\`callbacks.jwt\` returned ${kind}, and no token.`);
  // Another request may have refreshed what the browser's session has.
  if (!request.goesOn) return await createToken(claims, token && settings.live.newest(token), params, request);
  // None may refresh it meanwhile: what it gets would be lost.
  const name = await sessionName(token, settings);
  const { session } = await updateInTurn(name, token, async (newest) => {
    const session = await hasEnded(name, request) ? undefined : await createToken(claims, newest, params, request);
    return { session, sealed: session?.token };
  }, request);
  return session;
}

async function createToken(claims: JWT, newest: string, params: SignInParams, request: SignInRequest) {
  const { settings, logger, linksAccount, goesOn } = request;
  const { jwt, hooks, cookie, cookieLimit } = settings;
  const before = newest === "" ? undefined : await openToken(newest, settings).catch(() => undefined);
  const signIn: SessionSignIn = { params, held: before?.claims, linksAccount, goesOn, logger };
  for (const { onSignIn } of hooks) claims = onSignIn?.(claims, signIn) ?? claims;
  // One that goes on has the claims of before that are kept, and ends when it would have.
  const kept = goesOn ? before : undefined;
  const { rememberMe = !isEphemeral(before?.name ?? "") } = request;
  const name = kept?.name ?? randomUUID() + (rememberMe ? "" : EPHEMERAL_TAG);
  claims = withName(claims, name);
  for (const { keptClaims, onBegin } of hooks) {
    if (kept) claims = { ...claims, ...keptClaims?.(kept, true) };
    else claims = await onBegin?.(claims, name) ?? claims;
  }
  const exp = Number(kept?.claims.exp);
  const maxAge = exp > 0 ? Math.ceil(exp - Date.now() / 1000) : lifetimesFor(name, settings).tokenMaxAge;
  const toEncode = Object.assign({}, jwt, { token: claims, salt: cookie.name, maxAge });
  const sealed = await encodeWithin(cookieLimit, toEncode, logger);
  const session = { claims, name };
  for (const { onSealed } of hooks) await onSealed?.(session, !goesOn, request.headers["user-agent"]);
  const end = exp > 0 ? new Date(exp * 1000) : newExpiry(settings);
  const cookies = sessionCookies(sealed, request.parts, cookie, isEphemeral(name) ? undefined : end);
  return { token: sealed, cookies };
}

async function createRow(params: SignInParams, request: SignInRequest): Promise<NewSession | undefined> {
  const { settings, held, parts } = request;
  const adapter = request.adapter!;
  const { rememberMe = !isEphemeral(held.token) } = request;
  const tag = rememberMe ? "" : EPHEMERAL_TAG;
  const signIn = { ...request, params, held: undefined, heldToken: held.token, adapter };
  const row = request.goesOn ? (await adapter.getSessionAndUser!(held.token))?.session : await adapter.createSession!({
    sessionToken: settings.generateSessionToken(tag + settings.hooks.map(({ rowTag }) => rowTag?.(signIn)).join("")),
    userId: await userIdOf(params, adapter),
    expires: new Date(Date.now() + lifetimesFor(tag, settings).maxAge * 1000),
  });
  if (request.goesOn && row === undefined) return undefined;
  const { sessionToken: token, expires } = row!;
  const cookies = sessionCookies(token, parts, settings.cookie, cookieEnd(token, settings, new Date(expires)));
  for (const { onRow } of settings.hooks) cookies.push(...await onRow?.({ ...signIn, token }) ?? []);
  return { token, cookies };
}

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
