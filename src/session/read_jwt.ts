/**
 * Sessions kept in an encrypted token: what core's session action makes of one, without what only its other
 * actions need.
 */
import type { NoticeCode } from "../config/notices.ts";
import { JWTSessionError } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import { isUnchanged, openPlain, type OpenToken, openToken } from "./open_token.ts";
import { cookieSize, encodeWithin, SessionTooLarge } from "./cookie_size.ts";
import { newExpiry, withEnd } from "../config/lifetime.ts";
import { Refusal } from "../jwt/refusal.ts";
import type { JwtRead } from "./refreshes.ts";
import { clearSessionCookie, type SessionCookie, writeSessionCookie } from "./cookie.ts";
import {
  emitSessionEvent,
  type ReadContext,
  refuseToken,
  type SessionRead,
  SIGNED_OUT,
  type TokenRefresh,
  toSession,
  wrapError,
} from "./read.ts";
import type { SessionSettings } from "./settings.ts";
import type { User } from "../types.ts";
import {
  continueSession,
  endChecks,
  endedSince,
  endSession,
  hasEnded,
  readEndedSession,
  sharedStore,
} from "./ending.ts";
import { endRecord } from "./record_reads.ts";
import { refreshOnce } from "./refresh_once.ts";
import { adoptingClaim, claimOf, SessionStoreFailure, withClaim } from "./session_records.ts";

/** The read of a token whose session ended before the callbacks were done. */
const ENDED: JwtRead = Object.freeze({ token: null, session: null, expires: new Date(0).toISOString() });

/** Reads the session of a token. Never throws: a failure is logged and, as in core, removes the cookie. */
export function readJwtSession(
  cookie: SessionCookie,
  context: ReadContext,
): SessionRead | Promise<SessionRead> {
  const read = readEndedSession(cookie, context) ??
    (context.refresh === undefined ? readPlain(cookie.token, context.settings) : undefined) ??
    readThroughCallbacks(cookie, context);
  return read instanceof Refusal ? refuseToken(cookie, read, context) : read;
}

/** The usual case, at once: no callback or event of the application, and no renewal. */
function readPlain(token: string, settings: SessionSettings): SessionRead | Refusal | undefined {
  const claims = settings.isPlain ? openPlain(token, settings) : undefined;
  if (claims === undefined || claims instanceof Refusal) return claims;
  const { name, email, picture } = claims;
  const user: User = {};
  // As in JSON, a claim that is missing gives no member.
  if (name !== undefined) user.name = name;
  if (email !== undefined) user.email = email;
  if (picture !== undefined) user.image = picture;
  return { session: { user, expires: claims.life.expires } };
}

async function readThroughCallbacks(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings, logger } = context;
  const cleared = () => clearSessionCookie(cookie.names, settings.cookie);
  try {
    const { token, session, sealed, error, endings, refreshFailure } = await readToken(cookie.token, context);
    if (token === null) {
      if (endings === undefined) return SIGNED_OUT;
      return { session: null, update: cleared(), isOutdated: endedSince(cookie.token, endings, settings) };
    }
    if (error) logger().error(wrapError(JWTSessionError, error));
    else await emitSessionEvent({ session, token }, context);
    if (settings.families.endings(cookie.token) > 0) return SIGNED_OUT;
    const read = { session: toSession(session, context), claims: token, refreshFailure };
    if (error) return { ...read, update: cleared() };
    if (sealed === undefined) return read;
    return {
      ...read,
      update: writeSessionCookie(cookie.names, sealed, settings.cookie, newExpiry(settings)),
      ...endChecks(cookie.token, context),
    };
  } catch (error) {
    if (error instanceof Refusal) return refuseToken(cookie, error, context);
    if (error instanceof SessionStoreFailure) {
      logger().error(error);
      return { session: null, failure: error };
    }
    logger().error(wrapError(JWTSessionError, error));
    return { session: null, update: cleared() };
  }
}

/** Reads a token once for all requests that carry it at the same time. */
async function readToken(token: string, context: ReadContext): Promise<JwtRead> {
  const { refreshes, callbacks, keepsTokens } = context.settings;
  // Of two requests that renew a token, one could bring a refresh token back that the other has used.
  if (callbacks.jwt === undefined && !keepsTokens) {
    const opened = await openToken(token, context.settings);
    if (await isRevoked(opened, context)) return await endRevoked(token, context);
    return await recordOutcome(token, await runCallbacks(opened, context), context);
  }
  const newest = refreshes.newest(token);
  const running = refreshes.running(newest);
  const read = running
    ? await reuseRefresh(await running, context.settings)
    : await refreshes.run(newest, () => refresh(newest, context));
  return newest === token ? read : { sealed: newest, ...read };
}

/**
 * Runs the `jwt` callback, which may refresh the token, in this process alone or, with a lock, in one of
 * several.
 */
async function refresh(token: string, context: ReadContext): Promise<JwtRead> {
  const { settings } = context;
  const opened = await openToken(token, settings);
  if (await isRevoked(opened, context)) return await endRevoked(token, context);
  const store = isRefreshDue(opened, context) ? sharedStore(context) : undefined;
  const work = () => runCallbacks(opened, context);
  const read = store === undefined ? await work() : await refreshOnce(store, token, {
    work,
    async join(sealed) {
      const successor = await openToken(sealed, settings).catch(() => undefined);
      if (successor === undefined) return undefined;
      // Tokens that are due then are refreshed under the lock of the successor.
      const read = await runCallbacks(successor, { ...context, refresh: undefined });
      // With another token than the other processes, this one would not share that lock.
      return settings.keepsTokens ? { ...read, sealed } : { sealed, ...read };
    },
    hasEnded: () => hasEnded(token, context),
    ended: ENDED,
  });
  const outcome = await recordOutcome(token, read, context);
  if (outcome.sealed !== undefined) settings.refreshes.remember(token, outcome.sealed);
  return outcome;
}

/**
 * Whether other processes have to wait. They do for a renewal, too, where the token has refresh tokens: a reply
 * with an old one must not follow one with the new one.
 */
function isRefreshDue({ claims, due: isRenewed }: OpenToken, { settings, refresh }: ReadContext): boolean {
  if (refresh?.isDue(claims) || (isRenewed && settings.keepsTokens)) return true;
  return settings.callbacks.jwt !== undefined && (settings.refresh.due?.(claims) ?? true);
}

/** Whether the session was ended from elsewhere, by its record. */
async function isRevoked(
  { claims }: OpenToken,
  { settings, headers, logger }: ReadContext,
): Promise<boolean> {
  const { records } = settings;
  if (records === undefined) return false;
  return await records.hasEndedNow(claims, headers["user-agent"], (error) => logger().error(error));
}

/** The read of a session that was ended from elsewhere, which removes its cookie. */
async function endRevoked(token: string, context: ReadContext): Promise<JwtRead> {
  return { ...ENDED, endings: await endSession(token, context) };
}

/** Ends the session or has it go on with the new token, for the other requests of the session too. */
async function recordOutcome(token: string, read: JwtRead, context: ReadContext): Promise<JwtRead> {
  if (read === ENDED || context.settings.families.endings(token) > 0) return ENDED;
  if (read.token === null) {
    await endRecord(token, context);
    return { ...read, endings: await endSession(token, context) };
  }
  // Ended from elsewhere while the callbacks ran. Where that is not known, a refresh must not be lost.
  const { records } = context.settings;
  if (records && read.sealed !== undefined && await records.hasEnded(read.token).catch(() => false)) {
    return await endRevoked(token, context);
  }
  if (read.sealed !== undefined) await continueSession(token, read.sealed, context);
  return read;
}

/** Takes the claims and the token of another request's read, and makes a session of its own from them. */
async function reuseRefresh(read: JwtRead, settings: SessionSettings): Promise<JwtRead> {
  if (read.token === null) return read;
  return { ...read, ...await callSessionCallback(cloneClaims(read.token), read.expires, settings) };
}

/**
 * Claims that the session callback may write to; those with a function in them cannot be cloned and are
 * shared.
 */
export function cloneClaims(token: JWT): JWT {
  try {
    return structuredClone(token);
  } catch {
    return token;
  }
}

/**
 * Core's order: the `jwt` callback, the `session` callback (which may write to the token), then a new token.
 */
async function runCallbacks(opened: OpenToken, context: ReadContext): Promise<JwtRead> {
  const { settings, canSetCookie } = context;
  const { callbacks } = settings;
  const { claims } = opened;
  const claim = settings.records && (claimOf(claims) ?? (opened.due ? adoptingClaim(claims) : undefined));
  // Core passes `session`, the browser's update of the session, in every call.
  const returned = callbacks.jwt
    ? await callbacks.jwt({ token: claims, session: undefined } as never)
    : claims;
  if (returned === null) return { ...ENDED, token: null };
  const refresh = context.refresh?.isDue(returned) ? context.refresh : undefined;
  const refreshed = refresh ? await attemptRefresh(refresh, returned) : { token: returned };
  const { refreshFailure } = refreshed as { refreshFailure?: unknown };
  const token = withClaim(refreshed.token, claim);
  const { kept, renewed } = opened.ends;
  const expires = opened.due && canSetCookie() ? renewed() : kept;
  const made = await callSessionCallback(token, expires, settings);
  const read = refreshFailure === undefined ? made : { ...made, refreshFailure };
  if (context.isBearer) return read;
  const mayHaveChanged = callbacks.jwt !== undefined || callbacks.session !== undefined ||
    refresh !== undefined;
  if (!opened.due && (!mayHaveChanged || isUnchanged(token, opened))) return read;
  try {
    const sealed = await reseal(opened, token, context);
    if (sealed === undefined) return endingAt(read, kept);
    return { ...(canSetCookie() ? endingAt(read, renewed()) : read), sealed };
  } catch (error) {
    return { ...read, error: error as Error };
  }
}

/** Refreshes the tokens of a provider. A failure leaves the claims as they are. */
async function attemptRefresh(
  refresh: TokenRefresh,
  token: JWT,
): Promise<{ token: JWT; refreshFailure?: unknown }> {
  try {
    return { token: await refresh.run(token) };
  } catch (refreshFailure) {
    return { token, refreshFailure };
  }
}

/** The session for the claims, through the `session` callback. */
async function callSessionCallback(
  token: JWT,
  expires: string,
  { callbacks }: SessionSettings,
): Promise<JwtRead> {
  const user = { name: token.name, email: token.email, image: token.picture };
  const session = { user, expires };
  if (callbacks.session === undefined) return { token, session, expires };
  return { token, session: await callbacks.session({ session, token } as never), expires };
}

/**
 * The token that replaces another. Where it is too large the session goes on with its claims as they were, in
 * a new token if the old one is due for renewal.
 */
async function reseal(opened: OpenToken, token: JWT, context: ReadContext): Promise<string | undefined> {
  const { settings, logger, log, auth } = context;
  const { jwt, cookie, cookieLimit } = settings;
  const params = { ...jwt, token, salt: cookie.name };
  const code: NoticeCode = "FST_AUTHJS_WARN_SESSION_SIZE";
  const watch = {
    // A session that is larger already was accepted under another limit: it may stay, and not grow.
    limit: Math.max(cookieLimit, cookieSize(cookie.name, opened.token)),
    warn: (message: string) => auth.once("large session", () => log.warn({ code }, `Auth.js: ${message}`)),
  };
  try {
    return await encodeWithin(jwt, params, watch);
  } catch (error) {
    if (!(error instanceof SessionTooLarge)) throw error;
    auth.once("session too large", () => logger().error(error));
    logger().debug("session_too_large", error);
    if (!opened.due || opened.text === undefined) return undefined;
    return await jwt.encode({ ...params, token: JSON.parse(opened.text) });
  }
}

/** The read with another end: whether a token is renewed is known only after the session callback. */
function endingAt(read: JwtRead, expires: string): JwtRead {
  return { ...read, expires, session: withEnd(read.session, read.expires, expires) };
}
