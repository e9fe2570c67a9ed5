/** Reads the session of a token, which is sealed in the token itself or a row of a database. */
import type { Adapter } from "@auth/core/adapters";
import { AdapterError, JWTSessionError, SessionTokenError } from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import { newExpiry } from "../config/lifetime.ts";
import { Refusal, UNKNOWN_KEY } from "../jwt/jwe.ts";
import { type SessionCookie, sessionCookies } from "./cookie.ts";
import { cookieUpdate, endedRead, endSession, hasEnded, hasEndedElsewhere, removal } from "./ending.ts";
import { inTurn } from "./in_turn.ts";
import { type JwtRead, MOST_TURNS } from "./live_sessions.ts";
import { digestName, rowName } from "./name.ts";
import { openOrRefuse, type OpenToken, openToken } from "./open.ts";
import { callerOf, callOwn, knownRead } from "./own_reads.ts";
import {
  CallbackFailure,
  failedCallback,
  type ReadContext,
  sendSessionEvent,
  sessionOf,
  type SessionRead,
  SIGNED_OUT,
  toSession,
  wrapError,
} from "./read.ts";
import { cloneClaims, ENDED, makeSession, runCallbacks } from "./renew.ts";
import { cookieEnd, lifetimesFor, rowEnd } from "./settings.ts";
import { SessionStoreFailure } from "../store/shared_store.ts";

/** Never throws. The cookie of a token that cannot be read is removed; if the application fails it stays. */
export async function readJwtSession(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings, logger } = context;
  const { live } = settings;
  try {
    const opened = await openOrRefuse(cookie.token, settings);
    if (opened instanceof Refusal) return refuseToken(cookie, opened, context);
    const { name } = opened;
    const before = endedRead(name, cookie, context) ??
      (callerOf({ name, settings }) && await knownRead({ name, settings }));
    if (before !== undefined) return before;
    context.name = name;
    // Of two requests that renew a token, one could bring a refresh token back that the other has used.
    const read = await (settings.isShared ? readNewest(opened, context) : renew(opened, context));
    const { token: claims, session, sealed, error, endings, isJoined } = read;
    if (claims === null) return endings === undefined ? SIGNED_OUT : removal(cookie, name, endings, context);
    if (error) logger.error(wrapError(JWTSessionError, error));
    context.known = { session, token: claims };
    context.isMade = true;
    if (settings.event !== undefined && error === undefined) await sendSessionEvent(context);
    if (live.hasEndedSince(name, context.began)) return SIGNED_OUT;
    const found = { session: toSession(session, context), claims };
    if (error) return { ...removal(cookie, name, 0, context), ...found };
    if (sealed === undefined) return found;
    const cookies = () => sessionCookies(live.newest(sealed), cookie.names, settings.cookie, cookieEnd(name, settings));
    return { update: { isJoined, ...cookieUpdate(cookies, context, sealed) }, ...found };
  } catch (error) {
    if (error instanceof Refusal || error instanceof JWTSessionError) return refuseToken(cookie, error, context);
    if (error instanceof SessionStoreFailure) {
      logger.error(error);
      return { session: null, failure: unavailableError(error) };
    }
    const failure = error instanceof CallbackFailure ? error : new CallbackFailure("`jwt` callback", error);
    return failedCallback(failure, JWTSessionError, context);
  }
}

/** Removes the cookie of a token that is not ours, unless another process may know its key. */
export function refuseToken(cookie: SessionCookie, refusal: Error, context: ReadContext): SessionRead {
  if (refusal instanceof Refusal) context.logger.refusal(refusal);
  else context.logger.error(refusal);
  if (refusal === UNKNOWN_KEY) return SIGNED_OUT;
  const name = digestName(cookie.token);
  return endedRead(name, cookie, context) ?? removal(cookie, name, 0, context);
}

/** Reads the newest token of the session, once for all requests that ask for it at the same time. */
async function readNewest(opened: OpenToken, context: ReadContext): Promise<JwtRead> {
  const { live, refresh: { waitLimit } } = context.settings;
  const { name, token } = opened;
  let newest = token;
  let current = opened;
  do {
    // While the application's codec opened it, another request may have replaced it, too.
    if (newest !== current.token) current = await openToken(newest, context.settings);
    const isUpdated = live.updates.has(name);
    newest = isUpdated ? await live.updated(name, newest, waitLimit) : live.newest(newest);
    // An update is ended by no read: its callback may wait for something slow.
    if (isUpdated && live.updates.has(name)) {
      const problem =
        `a read waited ${waitLimit} ms for an update of its session, and goes on without it. Its \`jwt\` or ` +
        "`session` callback takes long.";
      context.logger.warnOnce("long update", problem, "FST_AUTHJS_WARN_CALLBACK");
    }
  } while (newest !== current.token);
  const shared = live.reads.get(newest);
  const reading = shared ?? renew(current, context);
  live.reads.set(newest, reading);
  let read: JwtRead;
  try {
    read = await reading;
  } finally {
    if (shared === undefined) live.reads.delete(newest);
  }
  if (shared !== undefined && read.token !== null) {
    // It may have ended after the read began, and before this request.
    if (await hasEndedElsewhere({ claims: read.token, name }, context.settings.hooks)) {
      return { ...ENDED, endings: live.end(name) };
    }
    const token = cloneClaims(read.token);
    read = { ...read, token, session: await makeSession(token, read.expires, context) };
  }
  const isJoined = shared !== undefined || (newest !== token && read.sealed === undefined);
  return newest === token && !isJoined ? read : { sealed: newest === token ? undefined : newest, ...read, isJoined };
}

/** Runs the callbacks, and ends the session or has it go on with the new token, for its other requests too. */
async function renew(opened: OpenToken, context: ReadContext): Promise<JwtRead> {
  const { settings: { live, hooks, refresh, callbacks, isShared, use }, headers, logger } = context;
  const { name, token, due, claims } = opened;
  const client = { userAgent: headers["user-agent"], report: logger.error };
  if (hooks.length > 0 && await hasEndedElsewhere(opened, hooks, client)) {
    return { ...ENDED, endings: live.end(name) };
  }
  // Other processes have to wait: a reply with an old refresh token must not follow one with the new one.
  const isInTurn = refresh.store !== undefined && use === "cookie" && isShared &&
    (due || (callbacks.jwt !== undefined && (refresh.due?.(claims) ?? true)));
  const read = await (isInTurn ? refreshInTurn(opened, context) : runCallbacks(opened, context));
  if (read === ENDED || live.hasEndedSince(name, context.began)) return ENDED;
  if (read.token === null) {
    await endSession(token, context);
    return { ...read, endings: live.endings(name) };
  }
  if (read.sealed === undefined) return read;
  // If it is not known whether it was ended from elsewhere meanwhile, a refresh must not be lost.
  if (await hasEndedElsewhere({ claims: read.token, name }, hooks).catch(() => false)) {
    return { ...ENDED, endings: live.end(name) };
  }
  live.replace(name, token, read.sealed);
  return read;
}

async function refreshInTurn(opened: OpenToken, context: ReadContext, turns = 0): Promise<JwtRead> {
  const { token, name } = opened;
  if (turns === MOST_TURNS) return await asItIs(opened, context);
  const work = async () => await hasEnded(name, context) ? ENDED : await runCallbacks(opened, context);
  const turn = await inTurn(context, token, work);
  // Another process refreshes the session, and takes too long: nothing is renewed.
  if (turn === undefined) return await asItIs(opened, context);
  // The token is left for the others all the same: another refresh would use the refresh token again.
  if ((turn.joined ?? turn.done.sealed) !== undefined && await hasEnded(name, context)) return ENDED;
  if (turn.joined === undefined) return turn.done;
  const { joined, isUpdate } = turn;
  if (!isUpdate) return { ...await asItIs(joined, context), sealed: joined.token };
  // An update refreshes nothing: the updated token is refreshed under its own lock.
  context.settings.live.replace(name, token, joined.token);
  return { sealed: joined.token, ...await refreshInTurn(joined, context, turns + 1) };
}

/** The session of a token without a call of the `jwt` callback. */
async function asItIs({ claims, ends }: OpenToken, context: ReadContext): Promise<JwtRead> {
  const session = await makeSession(claims, ends.kept, context);
  return { token: claims, session, expires: ends.kept };
}

/** Reads the session a cookie names. Never throws: a failure is logged and, as in core, the cookie stays. */
export async function readDatabaseSession(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings } = context;
  const name = rowName(cookie.token, settings.use);
  const before = endedRead(name, cookie, context) ??
    (callerOf({ name, settings }) && await knownRead({ name, settings }));
  if (before !== undefined) return before;
  context.name = name;
  return await readRow(cookie, context);
}

export async function readRow(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings, logger, update, name } = context;
  const { callbacks, live } = settings;
  const lifetimes = lifetimesFor(name, settings);
  const sessionToken = cookie.token;
  let expired = false;
  try {
    const found = await callAdapter(context, "getSessionAndUser", sessionToken);
    expired = found ? found.session.expires.valueOf() < Date.now() : false;
    if (expired) await callAdapter(context, "deleteSession", sessionToken);
    // The row may be gone because its session has ended since.
    if (!found || expired) return removal(cookie, name, 0, context);

    const { user, session } = found;
    const due = session.expires.valueOf() - (lifetimes.maxAge - lifetimes.updateAge) * 1000 <= Date.now();
    // Only together with its cookie: a row that was renewed alone is not due at the next reply.
    const renewed = due && context.canSetCookie() && !await hasEnded(name, context);
    const expires = renewed ? newExpiry(lifetimes) : rowEnd(session.expires, name, settings);
    const { name: userName, email, image: picture } = user ?? {};
    let shown: unknown = sessionOf({ name: userName, email, picture }, expires.toISOString());
    context.known = { session: shown };
    if (renewed) {
      await callAdapter(context, "updateSession", { sessionToken, expires });
      // Adapters that write the whole row bring back a deleted one, and some call it an error if there is none.
      if (await hasEnded(name, context)) await callAdapter(context, "deleteSession", sessionToken).catch(() => {});
    }

    // Core's shape: the user is in both, and `newSession` is what a browser sends to update the session.
    const trigger = update && { trigger: "update" };
    const params = { session: { ...session, expires, user }, user, newSession: update?.data, ...trigger };
    if (callbacks.session !== undefined) shown = await callOwn("session", params, context);
    context.known = { session: shown };
    context.isMade = true;
    await sendSessionEvent(context);
    if (live.endings(name) > 0) return SIGNED_OUT;
    const read = { session: toSession(shown, context) };
    if (!due || (!renewed && context.leavesDue?.())) return read;
    const cookies = () =>
      sessionCookies(sessionToken, cookie.names, settings.cookie, cookieEnd(name, settings, expires));
    return { ...read, update: cookieUpdate(cookies, context) };
  } catch (error) {
    if (error instanceof CallbackFailure) return failedCallback(error, SessionTokenError, context);
    logger.error(wrapError(SessionTokenError, error));
    // An expired session is none, even if its row could not be deleted.
    return expired ? { session: null } : { session: null, failure: unavailableError(error) };
  }
}

/** Calls the adapter as core does, with the call in the debug log and a failure in the log. */
async function callAdapter<Name extends "getSessionAndUser" | "deleteSession" | "updateSession">(
  { settings, logger }: ReadContext,
  name: Name,
  ...args: Parameters<Required<Adapter>[Name]>
) {
  logger.debug(`adapter_${name}`, { args });
  try {
    const method = settings.adapter![name] as (...args: unknown[]) => ReturnType<Required<Adapter>[Name]>;
    return await method(...args);
  } catch (cause) {
    const error = wrapError(AdapterError, cause);
    logger.error(error);
    throw error;
  }
}
