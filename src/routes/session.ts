/** `GET <prefix>/session` reads the session as `getSession()` does. `POST` has core update it. */
import type { Adapter } from "@auth/core/adapters";
import { JWTSessionError, SessionTokenError } from "@auth/core/errors";
import { type Answer, jsonAnswer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import { type RequestContext, withoutCookies } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";
import { isSessionPart, withSessionToken } from "../session/cookie.ts";
import { continueSession, hasEnded, sharedStore } from "../session/ending.ts";
import { CallbackFailure, callbacksOfSession } from "../session/callback_failure.ts";
import { asOwn, ownReadOf } from "../session/own_read.ts";
import { type OwnRead, sessionOf } from "../session/read.ts";
import { refreshOnce } from "../session/refresh_once.ts";
import { newExpiry, rowEnd, withEnd } from "../config/lifetime.ts";
import { hasUnknownKey, openToken } from "../session/open_token.ts";
import { keepingProviderSession } from "./provider_session.ts";
import { leaveOutTokens } from "../session/provider_tokens.ts";
import { errorChain } from "../utils/error_chain.ts";
import {
  endingContext,
  endRemovedSession,
  givenSession,
  heldSession,
  mayBeSession,
  sessionHasEnded,
  withoutSession,
} from "./session_change.ts";

/**
 * Answers with the session or `null`, or with 503 where the adapter failed: after `null` a client would sign
 * its user out.
 */
export async function handleSession(context: RequestContext): Promise<Answer> {
  const { session, failure } = await context.readSession();
  const answer = jsonAnswer(session);
  if (failure !== undefined) return { ...answer, error: failure };
  // Core's, beside the `Cache-Control` that all auth replies have.
  return { ...answer, headers: { ...answer.headers, expires: "0", pragma: "no-cache" } };
}

/**
 * Has core update the session.
 *
 * The session token may be replaced already, or another request may be refreshing it: core gets the newest
 * one, so that the `jwt` callback does not refresh it again. Reads that begin meanwhile wait for the updated
 * one, and running requests with earlier tokens continue with it.
 */
export async function handleSessionUpdate(context: RequestContext): Promise<Answer> {
  const row: RowExpiry = {};
  const answer = await updateSession(
    keepingProviderSession(context),
    (adapter) => recordRowExpiry(adapter, row, context),
  );
  return withoutTokens(await withExpiry(answer, row, context), context);
}

/** The answer without the claims that stay on the server, which a callback may have put into the session. */
function withoutTokens(answer: Answer, { settings }: RequestContext): Answer {
  if (!settings.hidesClaims || answer.body === undefined) return answer;
  return { ...answer, body: JSON.parse(JSON.stringify(answer.body, leaveOutTokens)) };
}

async function updateSession(
  context: RequestContext,
  wrapAdapter: (adapter: Adapter) => Adapter,
): Promise<Answer> {
  const { settings } = context;
  const { token } = heldSession(context);
  // Core would remove a session whose key only another process has.
  if (hasUnknownKey(token, settings)) return jsonAnswer(null);
  if (token !== "" && ownReadOf({ token, settings }) !== undefined) {
    throw new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", UPDATES_ITSELF);
  }
  if (token === "" || settings.strategy === "database") return await updateToken(token, context, wrapAdapter);
  const update = (newest: string) => updateInTurn(newest, context, wrapAdapter);
  return await settings.refreshes.update(
    token,
    update,
    (answer) => givenSession(answer, context) || undefined,
  );
}

/**
 * Has core update the session while no other process that shares the refresh lock refreshes it. Those that
 * wait for the lock go on with the updated one.
 */
async function updateInTurn(
  token: string,
  context: RequestContext,
  wrapAdapter: (adapter: Adapter) => Adapter,
): Promise<Answer> {
  const { callbacks, keepsTokens, refreshes } = context.settings;
  const ending = endingContext(context);
  const update = (newest: string) => updateToken(newest, context, wrapAdapter);
  // Otherwise no read waits for the lock.
  const store = callbacks.jwt === undefined && !keepsTokens ? undefined : sharedStore(ending);
  if (store === undefined) return await update(token);
  for (let newest = token;;) {
    const { answer, sealed } = await refreshOnce<{ answer?: Answer; sealed?: string }>(store, newest, {
      async work() {
        const answer = await update(newest);
        const sealed = givenSession(answer, context);
        return { answer, ...(sealed !== "" && { sealed }) };
      },
      join: async (sealed) => await mayBeSession(sealed, context) ? { sealed } : undefined,
      hasEnded: () => hasEnded(newest, ending),
      ended: {},
    });
    if (answer !== undefined) return answer;
    if (sealed === undefined) return await update(newest);
    // Another process has refreshed it.
    refreshes.remember(newest, sealed);
    await continueSession(newest, sealed, ending);
    newest = sealed;
  }
}

/** Has core update the session by its newest token. */
async function updateToken(
  newest: string,
  context: RequestContext,
  wrapAdapter: (adapter: Adapter) => Adapter,
): Promise<Answer> {
  const held = heldSession(context);
  const ending = endingContext(context);
  const { families, refreshes } = context.settings;
  if (held.token === "" || await sessionHasEnded(held.token, context)) {
    return await callCore(withoutCookies(context, held.names));
  }
  const own = await ownUpdate(newest, context);
  const answer = await asOwn(own, () =>
    callCore(
      newest === held.token
        ? context
        : { ...context, cookies: withSessionToken(context.cookies, held.parts, newest) },
      { wrapAdapter, callbacks: callbacksOfSession(context.config.core.callbacks ?? {}) },
    ));
  if (context.fromApplication && isFailedUpdate(answer) && await mayBeSession(newest, context)) {
    // Core removes the session; here the application decides what becomes of it.
    return { ...withoutSession(answer, context), error: answer.logged! };
  }
  const failure = [...errorChain(answer.logged)].find((error) => error instanceof CallbackFailure);
  // Core would remove the session.
  if (failure !== undefined) return { ...withoutSession(answer, context), error: failure };
  // The browser signed out, or in, while core updated the session.
  const updated = givenSession(answer, context);
  if (updated === "" ? families.endings(held.token) > 0 : await hasEnded(held.token, ending)) {
    return { ...withoutSession(answer, context), body: null };
  }
  await endRemovedSession(answer, context);
  if (updated !== "" && updated !== newest) {
    refreshes.remember(held.token, updated);
    refreshes.remember(newest, updated);
    await continueSession(newest, updated, ending);
  }
  return answer;
}

/** The update, for functions of the application that it calls and that ask for its session. */
async function ownUpdate(token: string, { settings, logger, warnOnce }: RequestContext): Promise<OwnRead> {
  const own: OwnRead = {
    isUpdate: true,
    token,
    settings,
    logger: () => logger,
    warn: (message) => warnOnce("own session", message, "FST_AUTHJS_WARN_CALLBACK"),
  };
  if (settings.strategy === "database") return own;
  const opened = await openToken(token, settings).catch(() => undefined);
  if (opened === undefined) return own;
  const { claims, ends } = opened;
  return { ...own, known: { session: sessionOf(claims, ends.kept), claims } };
}

const UPDATES_ITSELF =
  "updateSession(): it was called by a function that is called while this very session is read or updated, such as the " +
  "`jwt` or `session` callback. Return what is to change from the callback instead.";

/** Whether a callback threw. Core then logs that, and answers that there is no session. */
function isFailedUpdate({ logged }: Answer): boolean {
  return logged instanceof JWTSessionError || logged instanceof SessionTokenError;
}

/** When the row of a session expired as core read it, and when it expires since core renewed it. */
interface RowExpiry {
  read?: Date;
  renewed?: Date;
}

/** The adapter, with a record of when the session expires. A renewed row expires with its cookie. */
function recordRowExpiry(adapter: Adapter, ends: RowExpiry, { settings }: RequestContext): Adapter {
  if (settings.strategy !== "database") return adapter;
  return {
    ...adapter,
    async getSessionAndUser(sessionToken) {
      const found = await adapter.getSessionAndUser!(sessionToken);
      if (found !== null) ends.read = found.session.expires;
      return found;
    },
    updateSession(session) {
      ends.renewed = newExpiry(settings);
      return adapter.updateSession!({ ...session, expires: ends.renewed });
    },
  };
}

/**
 * Corrects when the cookie and the session expire. Core calculates it before the `session` callback, rounds
 * it down to a second, ignores a token that expires sooner, and names the expiry that a row had before core
 * renewed it.
 */
async function withExpiry(answer: Answer, row: RowExpiry, context: RequestContext): Promise<Answer> {
  const { settings } = context;
  const token = givenSession(answer, context);
  if (token === "") return answer;
  const expires = newExpiry(settings);
  let coreExpires: string | undefined;
  const cookies = answer.cookies.map((cookie) => {
    if (!isSessionPart(cookie.name, settings.cookie.name) || cookie.value === "") return cookie;
    coreExpires = cookie.options.expires?.toISOString();
    return { ...cookie, options: { ...cookie.options, expires } };
  });
  if (settings.strategy === "database") {
    if (row.read === undefined) return { ...answer, cookies };
    const end = rowEnd(row.renewed ?? row.read, settings);
    return { ...answer, cookies, body: withEnd(answer.body, row.read.toISOString(), end.toISOString()) };
  }
  const opened = await openToken(token, settings).catch(() => undefined);
  const body = opened === undefined ? answer.body : withEnd(answer.body, coreExpires, opened.ends.kept);
  return { ...answer, cookies, body };
}
