/**
 * Sessions kept in an encrypted token: what core's session action makes of one, without what only its other
 * actions need.
 */
import type { NoticeCode } from "../config/notices.ts";
import { JWTSessionError } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import { unavailableError } from "../adapter/failure.ts";
import { CallbackFailure } from "./callback_failure.ts";
import {
  isUnchanged,
  openAtOnce,
  openPlain,
  type OpenToken,
  openToken,
  UnreadableToken,
} from "./open_token.ts";
import { after, type MaybePromise } from "../utils/maybe_promise.ts";
import { cookieSize, encodeWithin, SessionTooLarge } from "./cookie_size.ts";
import { newExpiry, withEnd } from "../config/lifetime.ts";
import { Refusal } from "../jwt/refusal.ts";
import type { JwtRead } from "./refreshes.ts";
import { clearSessionCookie, type SessionCookie, writeSessionCookie } from "./cookie.ts";
import {
  emitSessionEvent,
  failedCallback,
  type ReadContext,
  refuseToken,
  removeCookie,
  sessionOf,
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
import { providerSessionOf, withProviderSession } from "./provider_session.ts";
import { refreshOnce } from "./refresh_once.ts";
import { adoptingClaim, claimOf, SessionStoreFailure, withClaim } from "./session_records.ts";

/** The read of a token whose session ended before the callbacks were done. */
const ENDED: JwtRead = Object.freeze({ token: null, session: null, expires: new Date(0).toISOString() });

/**
 * Reads the session of a token. Never throws: a failure is logged. A token that cannot be read is removed; where
 * the application fails the cookie stays.
 */
export function readJwtSession(
  cookie: SessionCookie,
  context: ReadContext,
): SessionRead | Promise<SessionRead> {
  const read = readEndedSession(cookie, context) ??
    (context.refresh === undefined ? readPlain(cookie.token, context.settings) : undefined) ??
    readThroughCallbacks(cookie, context);
  return read instanceof Refusal ? refuseToken(cookie, read, context) : read;
}

/**
 * Updates the session of a token, which gets a new one.
 *
 * @throws {Refusal} {@linkcode UnreadableToken} If the token is not ours.
 * @throws {CallbackFailure} If a callback fails.
 */
export async function updateJwtSession(newest: string, context: ReadContext): Promise<JwtRead> {
  const read = await runCallbacks(await openToken(newest, context.settings), context);
  const { token, session, error } = read;
  if (token !== null && error === undefined) {
    Object.assign(context.own, { known: { session, claims: token }, isMade: true });
    await emitSessionEvent({ session, token }, context);
  }
  return read;
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

/** At once, too, where the callbacks are synchronous and nothing changes. */
function readThroughCallbacks(cookie: SessionCookie, context: ReadContext): MaybePromise<SessionRead> {
  const failed = (error: unknown) => failedRead(error, cookie, context);
  try {
    const read = after(readToken(cookie.token, context), (read) => finishRead(read, cookie, context));
    return read instanceof Promise ? read.catch(failed) : read;
  } catch (error) {
    return failed(error);
  }
}

function failedRead(error: unknown, cookie: SessionCookie, context: ReadContext): SessionRead {
  if (error instanceof Refusal) return refuseToken(cookie, error, context);
  if (error instanceof SessionStoreFailure) {
    context.logger().error(error);
    return { session: null, failure: unavailableError(error) };
  }
  if (error instanceof UnreadableToken) {
    context.logger().error(wrapError(JWTSessionError, error.cause));
    // It may have ended since: a read begins with a session that has not.
    return removeCookie(cookie, context.settings, 0);
  }
  const failure = error instanceof CallbackFailure ? error : new CallbackFailure("`jwt` callback", error);
  return failedCallback(failure, JWTSessionError, context);
}

/** Emits the event, and says what becomes of the cookie. */
function finishRead(read: JwtRead, cookie: SessionCookie, context: ReadContext): MaybePromise<SessionRead> {
  const { settings, logger } = context;
  const { token, session, error, endings } = read;
  if (token === null) {
    if (endings === undefined) return SIGNED_OUT;
    const update = clearSessionCookie(cookie.names, settings.cookie);
    return { session: null, update, isOutdated: endedSince(cookie.token, endings, settings) };
  }
  if (error) logger().error(wrapError(JWTSessionError, error));
  Object.assign(context.own, { known: { session, claims: token }, isMade: true });
  const emitted = error ? undefined : emitSessionEvent({ session, token }, context);
  return after(emitted, () => toSessionRead(read, token, cookie, context));
}

function toSessionRead(
  { session, sealed, error, refreshFailure }: JwtRead,
  claims: JWT,
  cookie: SessionCookie,
  context: ReadContext,
): SessionRead {
  const { settings } = context;
  if (settings.families.endings(cookie.token) > 0) return SIGNED_OUT;
  const read = { session: toSession(session, context), claims, refreshFailure };
  if (error) return { ...removeCookie(cookie, settings), ...read };
  if (sealed === undefined) return read;
  const write = (token: string) =>
    writeSessionCookie(cookie.names, token, settings.cookie, newExpiry(settings));
  const update = write(sealed);
  return {
    ...read,
    update,
    replaced: { token: sealed, parts: cookie.parts },
    newestUpdate() {
      const newest = settings.refreshes.newest(sealed);
      return newest === sealed ? update : write(newest);
    },
    ...endChecks(cookie.token, context),
  };
}

/** Reads a token once for all requests that carry it at the same time. */
function readToken(token: string, context: ReadContext): MaybePromise<JwtRead> {
  const { refreshes, callbacks, keepsTokens } = context.settings;
  // Of two requests that renew a token, one could bring a refresh token back that the other has used.
  if (callbacks.jwt === undefined && !keepsTokens) {
    return after(openAtOnce(token, context.settings), (opened) => {
      const read = () => after(runCallbacks(opened, context), (read) => recordOutcome(token, read, context));
      return unlessRevoked(opened, context, read);
    });
  }
  const newest = refreshes.newest(token);
  return refreshes.isUpdated(newest) ? readUpdated(token, context) : readInstead(newest, token, context);
}

/** Reads what an update makes of the session. */
async function readUpdated(token: string, context: ReadContext): Promise<JwtRead> {
  const { families, refreshes, refresh: { waitLimit } } = context.settings;
  const newest = await refreshes.updated(token, waitLimit);
  if (refreshes.isUpdated(newest)) warnOfLongUpdate(waitLimit, context);
  return families.endings(token) > 0 ? ENDED : await readInstead(newest, token, context);
}

/** An update is ended by no read: its callback may wait for something slow. */
function warnOfLongUpdate(waitLimit: number, { auth, log }: ReadContext): void {
  const code: NoticeCode = "FST_AUTHJS_WARN_CALLBACK";
  auth.once("long update", () => {
    log.warn(
      { code },
      `Auth.js: a read waited ${waitLimit} ms for an update of its session, and goes on without it. Its \`jwt\` or ` +
        "`session` callback takes long.",
    );
  });
}

/** Reads the newest token of a session in place of the one that came. */
function readInstead(newest: string, token: string, context: ReadContext): MaybePromise<JwtRead> {
  const { refreshes } = context.settings;
  const running = refreshes.running(newest);
  const read = running?.then((read) => reuseRefresh(read, context)) ??
    refreshes.run(
      newest,
      () =>
        after(
          openAtOnce(newest, context.settings),
          (opened) => unlessRevoked(opened, context, () => refresh(opened, context)),
        ),
    );
  return newest === token ? read : after(read, (read) => ({ sealed: newest, ...read }));
}

/**
 * Runs the `jwt` callback, which may refresh the token, in this process alone or, with a lock, in one of
 * several.
 */
function refresh(opened: OpenToken, context: ReadContext): MaybePromise<JwtRead> {
  const { settings } = context;
  const { token } = opened;
  const store = isRefreshDue(opened, context) ? sharedStore(context) : undefined;
  const read = store === undefined ? runCallbacks(opened, context) : refreshOnce(store, token, {
    work: async () => await runCallbacks(opened, context),
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
  const outcome = after(read, (read) => recordOutcome(token, read, context));
  return outcome instanceof Promise ? outcome.then((read) => remember(token, read, settings)) : outcome;
}

/** Remembers what replaced a token, which takes a promise to make. */
function remember(token: string, read: JwtRead, { refreshes }: SessionSettings): JwtRead {
  if (read.sealed !== undefined) refreshes.remember(token, read.sealed);
  return read;
}

/**
 * Whether other processes have to wait. They do for a renewal, too, where the token has refresh tokens: a
 * reply with an old one must not follow one with the new one.
 */
function isRefreshDue({ claims, due: isRenewed }: OpenToken, { settings, refresh }: ReadContext): boolean {
  if (refresh?.isDue(claims) || (isRenewed && settings.keepsTokens)) return true;
  return settings.callbacks.jwt !== undefined && (settings.refresh.due?.(claims) ?? true);
}

/** Reads on, unless the session was ended from elsewhere, by its record. */
function unlessRevoked(
  { token, claims }: OpenToken,
  context: ReadContext,
  read: () => MaybePromise<JwtRead>,
): MaybePromise<JwtRead> {
  const { settings: { records }, headers, logger } = context;
  if (records === undefined) return read();
  const ended = records.hasEndedNow(claims, headers["user-agent"], (error) => logger().error(error));
  return after(ended, (ended) => ended ? endRevoked(token, context) : read());
}

/** The read of a session that was ended from elsewhere, which removes its cookie. */
async function endRevoked(token: string, context: ReadContext): Promise<JwtRead> {
  return { ...ENDED, endings: await endSession(token, context) };
}

/** Ends the session or has it go on with the new token, for the other requests of the session too. */
function recordOutcome(token: string, read: JwtRead, context: ReadContext): MaybePromise<JwtRead> {
  if (read === ENDED || context.settings.families.endings(token) > 0) return ENDED;
  if (read.token === null) return recordEnd(token, read, context);
  return read.sealed === undefined ? read : recordReplacement(token, read.sealed, read, context);
}

async function recordEnd(token: string, read: JwtRead, context: ReadContext): Promise<JwtRead> {
  await endRecord(token, context);
  return { ...read, endings: await endSession(token, context) };
}

async function recordReplacement(
  token: string,
  sealed: string,
  read: JwtRead,
  context: ReadContext,
): Promise<JwtRead> {
  // Ended from elsewhere while the callbacks ran. Where that is not known, a refresh must not be lost.
  if (await context.settings.records?.hasEnded(read.token!).catch(() => false)) {
    return await endRevoked(token, context);
  }
  await continueSession(token, sealed, context);
  return read;
}

/** Takes the claims and the token of another request's read, and makes a session of its own from them. */
async function reuseRefresh(read: JwtRead, context: ReadContext): Promise<JwtRead> {
  if (read.token === null) return read;
  return { ...read, ...await callSessionCallback(cloneClaims(read.token), read.expires, context) };
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
function runCallbacks(opened: OpenToken, context: ReadContext): MaybePromise<JwtRead> {
  const { callbacks: { jwt }, records, keepsProviderSessions } = context.settings;
  const { claims } = opened;
  const provider = keepsProviderSessions ? providerSessionOf(claims) : undefined;
  const claim = records && (claimOf(claims) ?? (opened.due ? adoptingClaim(claims) : undefined));
  context.own.known = { session: sessionOf(claims, opened.ends.kept), claims };
  const { update } = context;
  // Core passes `session`, the browser's update of the session, in every call.
  const params = { token: claims, ...(update && { trigger: "update" }), session: update?.data };
  const returned = jwt === undefined ? claims : jwt(params as never);
  return after(returned, (returned) => {
    if (returned === null) return { ...ENDED, token: null };
    const kept = (token: JWT) => withProviderSession(withClaim(token, claim), provider);
    if (!context.refresh?.isDue(returned)) return makeSession(opened, kept(returned), context);
    return attemptRefresh(context.refresh, returned).then(async ({ token, refreshFailure }) => {
      const read = await makeSession(opened, kept(token), context);
      return refreshFailure === undefined ? read : { ...read, refreshFailure };
    });
  });
}

function makeSession(opened: OpenToken, token: JWT, context: ReadContext): MaybePromise<JwtRead> {
  const { canSetCookie, update } = context;
  const { kept, renewed } = opened.ends;
  const expires = (opened.due || update) && canSetCookie() ? renewed() : kept;
  return after(
    callSessionCallback(token, expires, context),
    (read) => staysAsItIs(opened, token, context) ? read : replaceToken(opened, token, read, context),
  );
}

/** Whether the browser keeps its token. */
function staysAsItIs(opened: OpenToken, token: JWT, { settings, refresh, update }: ReadContext): boolean {
  if (settings.isBearer) return true;
  if (update !== undefined) return false;
  const { callbacks } = settings;
  const mayHaveChanged = callbacks.jwt !== undefined || callbacks.session !== undefined ||
    refresh !== undefined;
  return !opened.due && (!mayHaveChanged || isUnchanged(token, opened));
}

async function replaceToken(
  opened: OpenToken,
  token: JWT,
  read: JwtRead,
  context: ReadContext,
): Promise<JwtRead> {
  const { kept, renewed } = opened.ends;
  try {
    const sealed = await reseal(opened, token, context);
    if (sealed === undefined) return endingAt(read, kept);
    return { ...(context.canSetCookie() ? endingAt(read, renewed()) : read), sealed };
  } catch (error) {
    return { ...read, error: error as Error };
  }
}

/** Refreshes the tokens of a provider. A failure leaves the claims as they are. */
async function attemptRefresh(
  refresh: TokenRefresh,
  token: JWT,
): Promise<Pick<JwtRead, "refreshFailure"> & { readonly token: JWT }> {
  try {
    return { token: await refresh.run(token) };
  } catch (cause) {
    return { token, refreshFailure: { provider: refresh.provider, cause } };
  }
}

/** The session for the claims, through the `session` callback. */
function callSessionCallback(
  token: JWT,
  expires: string,
  { settings: { callbacks }, own }: ReadContext,
): MaybePromise<JwtRead> {
  const session = sessionOf(token, expires);
  own.known = { session, claims: token };
  if (callbacks.session === undefined) return { token, session, expires };
  const returned = callbacks.session({ session, token } as never);
  return after(returned, (session) => ({ token, session, expires }));
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
    if (!(error instanceof SessionTooLarge) || context.update !== undefined) throw error;
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
