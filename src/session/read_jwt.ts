/** Reads sessions that are kept in an encrypted token. */
import { JWTSessionError } from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import { newExpiry } from "../config/lifetime.ts";
import { Refusal } from "../jwt/refusal.ts";
import { monotonicNow } from "../utils/monotonic.ts";
import { type SessionCookie, sessionCookies } from "./cookie.ts";
import { cookieUpdate, endedRead, endSession, removal } from "./ending.ts";
import { hasEndedElsewhere } from "./hooks.ts";
import type { JwtRead } from "./live_sessions.ts";
import { digestName } from "./name.ts";
import { openKnown, type OpenToken, openToken } from "./open.ts";
import { knownRead, ownReadOf } from "./own_read.ts";
import {
  CallbackFailure,
  failedCallback,
  finishSession,
  type ReadContext,
  type SessionRead,
  SIGNED_OUT,
  toSession,
  warnOnce,
  wrapError,
} from "./read.ts";
import { refreshedElsewhere, refreshOnce } from "./refresh_once.ts";
import { cloneClaims, ENDED, makeSession, runCallbacks } from "./renew.ts";
import { SessionStoreFailure } from "./shared_store.ts";

/**
 * Reads the session of a token, and says what becomes of the cookie. Never throws: a failure is logged. The cookie of a
 * token that cannot be read is removed; if the application fails it stays.
 */
export async function readJwtSession(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings, logger } = context;
  const { live } = settings;
  try {
    const opened = openKnown(cookie.token, settings) ?? await openToken(cookie.token, settings);
    if (opened instanceof Refusal) return refuseToken(cookie, opened, context);
    const { name } = opened;
    const ended = endedRead(name, cookie, context);
    if (ended !== undefined) return ended;
    const own = ownReadOf({ name, settings });
    if (own !== undefined) return knownRead(own);
    context.name = name;
    const began = monotonicNow();
    // Of two requests that renew a token, one could bring a refresh token back that the other has used.
    const isShared = settings.callbacks.jwt !== undefined || settings.refreshes;
    const read = await (isShared ? readNewest(opened, context) : renew(opened, context));
    const { token: claims, session, sealed, error, refreshFailure, endings } = read;
    if (claims === null) {
      return endings === undefined ? SIGNED_OUT : removal(cookie.names, name, endings, settings);
    }
    if (error) logger().error(wrapError(JWTSessionError, error));
    await finishSession(context, { session, token: claims }, error === undefined);
    if (live.hasEndedSince(name, began)) return SIGNED_OUT;
    const found = { session: toSession(session, context), claims, refreshFailure };
    if (error) return { ...removal(cookie.names, name, 0, settings), ...found };
    if (sealed === undefined) return found;
    const cookies = () =>
      sessionCookies(live.newest(sealed), cookie.names, settings.cookie, newExpiry(settings));
    return { ...found, update: cookieUpdate(cookies, context) };
  } catch (error) {
    if (error instanceof Refusal || error instanceof JWTSessionError) {
      return refuseToken(cookie, error, context);
    }
    if (error instanceof SessionStoreFailure) {
      logger().error(error);
      return { session: null, failure: unavailableError(error) };
    }
    const failure = error instanceof CallbackFailure ? error : new CallbackFailure("`jwt` callback", error);
    return failedCallback(failure, JWTSessionError, context);
  }
}

/** Removes the cookie of a token that is not ours, unless another process may know its key. */
export function refuseToken(
  cookie: SessionCookie,
  refusal: Refusal | JWTSessionError,
  context: ReadContext,
): SessionRead {
  if (refusal instanceof Refusal) context.logger().refusal(refusal);
  else context.logger().error(refusal);
  if (refusal instanceof Refusal && refusal.unknownKey) return SIGNED_OUT;
  const name = digestName(cookie.token);
  return endedRead(name, cookie, context) ?? removal(cookie.names, name, 0, context.settings);
}

/** Reads the newest token of the session, once for all requests that ask for it at the same time. */
async function readNewest(opened: OpenToken, context: ReadContext): Promise<JwtRead> {
  const { live, refresh: { waitLimit } } = context.settings;
  const { name, token } = opened;
  const isUpdated = live.updates.has(name);
  const newest = isUpdated ? await live.updated(name, token, waitLimit) : live.newest(token);
  // An update is ended by no read: its callback may wait for something slow.
  if (isUpdated && live.updates.has(name)) {
    const problem =
      `a read waited ${waitLimit} ms for an update of its session, and goes on without it. Its \`jwt\` or ` +
      "`session` callback takes long.";
    warnOnce(context, "long update", "FST_AUTHJS_WARN_CALLBACK", problem);
  }
  const current = newest === token ? opened : await openToken(newest, context.settings);
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
    const token = cloneClaims(read.token);
    read = { ...read, token, session: await makeSession(token, read.expires, context) };
  }
  return newest === token ? read : { sealed: newest, ...read };
}

/**
 * Runs the callbacks, unless the session was ended from elsewhere. Ends the session or has it go on with the new
 * token, for the other requests of the session too.
 */
async function renew(opened: OpenToken, context: ReadContext): Promise<JwtRead> {
  const { settings: { live, hooks, refresh }, headers, logger } = context;
  const { name, token } = opened;
  const userAgent = headers["user-agent"];
  if (hooks.length > 0) {
    const use = { userAgent, report: (error: Error) => logger().error(error) };
    if (await hasEndedElsewhere(opened, hooks, use)) return { ...ENDED, endings: live.end(name) };
  }
  const began = monotonicNow();
  const read = refresh.store !== undefined && isRefreshDue(opened, context)
    ? await refreshInTurn(opened, context)
    : await runCallbacks(opened, context);
  if (read === ENDED || live.hasEndedSince(name, began)) return ENDED;
  if (read.token === null) {
    await endSession(token, context);
    return { ...read, endings: live.endings(name) };
  }
  if (read.sealed === undefined) return read;
  // If it is not known whether it was ended from elsewhere meanwhile, a refresh must not be lost.
  const session = { claims: read.token, name };
  if (await hasEndedElsewhere(session, hooks).catch(() => false)) {
    return { ...ENDED, endings: live.end(name) };
  }
  live.replace(token, read.sealed);
  for (const { onSealed } of hooks) {
    await onSealed?.(session, false, userAgent).catch((error) => logger().error(error));
  }
  return read;
}

/** Runs the callbacks, which may refresh the token, in one of several processes. */
async function refreshInTurn(opened: OpenToken, context: ReadContext): Promise<JwtRead> {
  const { settings, refresh } = context;
  const asItIs = async ({ claims: token, ends: { kept: expires } }: OpenToken): Promise<JwtRead> => ({
    token,
    expires,
    session: await makeSession(token, expires, context),
  });
  let updated: OpenToken | undefined;
  const read = await refreshOnce<JwtRead>(context, opened.token, {
    work: () => runCallbacks(opened, context),
    async join(sealed, isUpdate) {
      const successor = await openToken(sealed, settings).catch(() => undefined);
      if (successor === undefined) return undefined;
      if (isUpdate) updated = successor;
      return { ...await asItIs(successor), sealed };
    },
    // Another process refreshes the session, and takes too long: nothing is renewed.
    async leave() {
      const read = await asItIs(opened);
      if (!refresh?.isDue(opened.claims)) return read;
      return { ...read, refreshFailure: { what: refresh.what, cause: refreshedElsewhere() } };
    },
    session: { name: opened.name, ended: ENDED },
  });
  if (updated === undefined) return read;
  // An update refreshes nothing: the updated token is refreshed under its own lock.
  const { token } = updated;
  settings.live.replace(opened.token, token);
  return { sealed: token, ...await refreshInTurn(updated, context) };
}

/**
 * Whether other processes have to wait. They do for a renewal, too, if the token has refresh tokens: a reply
 * with an old one must not follow one with the new one.
 */
function isRefreshDue({ claims, due }: OpenToken, { settings, refresh }: ReadContext): boolean {
  if (refresh?.isDue(claims) || (due && settings.refreshes)) return true;
  return settings.callbacks.jwt !== undefined && (settings.refresh.due?.(claims) ?? true);
}
