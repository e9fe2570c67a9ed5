/** Makes the session of a sign-in, in a JWT or as a row of a database. */
import type { Adapter } from "@auth/core/adapters";
import type { JWT } from "@auth/core/jwt";
import { randomUUID } from "node:crypto";
import type { ResolvedConfig } from "../config/resolve.ts";
import { newExpiry } from "../config/lifetime.ts";
import { FastifyAuthError } from "../errors.ts";
import type { SetCookie } from "../http/set_cookie.ts";
import { type SessionCookie, sessionCookies } from "./cookie.ts";
import { encodeWithin } from "./cookie_size.ts";
import type { SessionSignIn, SignInParams } from "./hooks.ts";
import { EPHEMERAL_TAG, isEphemeral, nameOf, withName } from "./name.ts";
import { openToken } from "./open.ts";
import { lifetimesFor, type SessionSettings } from "./settings.ts";

export interface SignInRequest extends Omit<SessionSignIn, "params" | "held"> {
  readonly config: ResolvedConfig;
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

/** Makes the session; none if the `jwt` callback returned null. */
export async function createSession(
  params: SignInParams,
  request: SignInRequest,
): Promise<NewSession | undefined> {
  const { config, settings, held: { token }, warnOnce, linksAccount, goesOn } = request;
  if (settings.strategy === "database") return await createRow(params, request);
  const { jwt: codec, hooks, cookie, cookieLimit } = settings;
  const { jwt } = config.core.callbacks ?? {};
  let claims = jwt === undefined ? params.token : await jwt(params);
  if (claims === null) return undefined;
  const before = token === "" ? undefined : await openToken(token, settings).catch(() => undefined);
  const signIn: SessionSignIn = { params, held: before?.claims, linksAccount, goesOn, warnOnce };
  for (const { onSignIn } of hooks) claims = onSignIn?.(claims, signIn) ?? claims;
  let end: Date | undefined;
  const wasEphemeral = before !== undefined && isEphemeral(before.name);
  let endsWithBrowser = request.rememberMe === undefined ? wasEphemeral : !request.rememberMe;
  if (goesOn && before !== undefined) {
    // It has the claims of before that are kept, and ends when it would have.
    const { exp } = before.claims;
    claims = withName(claims, before.name);
    endsWithBrowser = wasEphemeral;
    for (const { keptClaims } of hooks) claims = { ...claims, ...keptClaims?.(before, true) };
    end = typeof exp === "number" ? new Date(exp * 1000) : undefined;
  } else {
    const name = randomUUID() + (endsWithBrowser ? EPHEMERAL_TAG : "");
    claims = withName(claims, name);
    for (const { onBegin } of hooks) claims = await onBegin?.(claims, name) ?? claims;
  }
  const maxAge = end !== undefined
    ? { maxAge: Math.ceil((end.valueOf() - Date.now()) / 1000) }
    : endsWithBrowser && { maxAge: settings.ephemeral.tokenMaxAge };
  const sealed = await encodeWithin(codec, { ...codec, token: claims, salt: cookie.name, ...maxAge }, {
    limit: cookieLimit,
    warn: (text) => warnOnce("large session", text, "FST_AUTHJS_WARN_SESSION_SIZE"),
  });
  const session = { claims, name: nameOf(claims, sealed) };
  for (const { onSealed } of hooks) await onSealed?.(session, !goesOn, request.headers["user-agent"]);
  const expires = endsWithBrowser ? undefined : end ?? newExpiry(settings);
  const cookies = sessionCookies(sealed, request.parts, cookie, expires);
  return { token: sealed, cookies };
}

async function createRow(params: SignInParams, request: SignInRequest): Promise<NewSession> {
  const { settings, held, parts } = request;
  const adapter = request.adapter!;
  const { rememberMe = !isEphemeral(held.token) } = request;
  const tag = rememberMe ? "" : EPHEMERAL_TAG;
  const signIn = {
    ...request,
    params,
    held: undefined,
    heldToken: held.token,
    claims: request.claims,
    adapter,
  };
  const { sessionToken: token, expires } = request.goesOn
    ? (await adapter.getSessionAndUser!(held.token))!.session
    : await adapter.createSession!({
      sessionToken: settings.generateSessionToken(
        tag + settings.hooks.map(({ rowTag }) => rowTag?.(signIn) ?? "").join(""),
      ),
      userId: await userIdOf(params, adapter),
      expires: new Date(Date.now() + lifetimesFor(tag, settings).maxAge * 1000),
    });
  const until = isEphemeral(token) ? undefined : new Date(expires);
  const cookies = sessionCookies(token, parts, settings.cookie, until);
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
