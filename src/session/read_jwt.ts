/**
 * Sessions kept in an encrypted token: what core's session action makes of one, without what only its other actions need.
 *
 * @module
 */
import { JWTSessionError } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import { isUnchanged, openPlain, type OpenToken, openToken } from "./open_token.ts";
import { cookieSize, encodeWithin, SessionTooLarge } from "./cookie_size.ts";
import { newExpiry, withEnd } from "../config/lifetime.ts";
import { Refusal } from "../jwt/refusal.ts";
import type { Turn } from "./refresh.ts";
import { clearSessionCookie, type SessionCookie, writeSessionCookie } from "./cookie.ts";
import { announce, NOBODY, type ReadContext, refuse, type SessionRead, toSession, wrapped } from "./read.ts";
import { defaultJwtCallback, defaultSessionCallback, type SessionSettings } from "./settings.ts";
import type { User } from "../types.ts";
import {
  continueSession,
  endsAfter,
  endSession,
  goesOn,
  hasEnded,
  readEnded,
  sharedStore,
} from "./ending.ts";
import { refreshOnce } from "./refresh_once.ts";

/** What becomes of a token whose session ended before its turn did. */
const ENDED: Turn = Object.freeze({ token: null, session: null, expires: new Date(0) });

/** Reads the session of a token. Never throws: a failure is logged and, as in core, removes the cookie. */
export function readJwtSession(
  cookie: SessionCookie,
  context: ReadContext,
): SessionRead | Promise<SessionRead> {
  const read = readEnded(cookie, context) ?? readPlain(cookie.token, context.settings) ??
    readThroughCallbacks(cookie, context);
  return read instanceof Refusal ? refuse(cookie, read, context) : read;
}

/** The usual case, of which nothing but the caller hears: the same steps at once, with core's default callbacks. */
function readPlain(token: string, settings: SessionSettings): SessionRead | Refusal | undefined {
  const claims = settings.plain ? openPlain(token, settings) : undefined;
  if (claims === undefined || claims instanceof Refusal) return claims;
  const { name, email, picture } = claims;
  const user: User = {};
  // The claims are JSON, which knows no `undefined`: so has the session no member for what is not claimed.
  if (name !== undefined) user.name = name;
  if (email !== undefined) user.email = email;
  if (picture !== undefined) user.image = picture;
  return { session: { user, expires: claims.expires } };
}

async function readThroughCallbacks(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings, logger } = context;
  const cleared = () => clearSessionCookie(cookie.names, settings.cookie);
  try {
    const { token, session, sealed, error, endings } = await turnOf(cookie.token, context);
    if (token === null) {
      if (endings === undefined) return NOBODY;
      return { session: null, update: cleared(), isOutdated: endsAfter(cookie.token, endings, settings) };
    }
    if (error) logger().error(wrapped(JWTSessionError, error));
    else if (settings.event) await announce({ session, token }, context);
    if (settings.families.endings(cookie.token) > 0) return NOBODY;
    const read = { session: toSession(session, context) };
    if (error) return { ...read, update: cleared() };
    if (sealed === undefined) return read;
    return {
      ...read,
      update: writeSessionCookie(cookie.names, sealed, settings.cookie, newExpiry(settings)),
      ...goesOn(cookie.token, context),
    };
  } catch (error) {
    if (error instanceof Refusal) return refuse(cookie, error, context);
    logger().error(wrapped(JWTSessionError, error));
    return { session: null, update: cleared() };
  }
}

/** One turn of a token through the callbacks, shared with the requests that carry the same token meanwhile. */
async function turnOf(token: string, context: ReadContext): Promise<Turn> {
  const { renewals, callbacks } = context.settings;
  // Nothing is refreshed without a callback of the application.
  if (callbacks.jwt === defaultJwtCallback) {
    return await settle(token, await take(await openToken(token, context.settings), context), context);
  }
  const newest = renewals.newest(token);
  const running = renewals.running(newest);
  const turn = running
    ? await follow(await running, context.settings)
    : await renewals.run(newest, () => lead(newest, context));
  return newest === token ? turn : { sealed: newest, ...turn };
}

/** The turn that runs the `jwt` callback, in this process alone or, with a lock, in all of them. */
async function lead(token: string, context: ReadContext): Promise<Turn> {
  const { settings } = context;
  const { refresh } = settings;
  const opened = await openToken(token, settings);
  const store = refresh.due?.(opened.claims) ?? true ? sharedStore(context) : undefined;
  const work = () => take(opened, context);
  const turn = store === undefined ? await work() : await refreshOnce(store, token, {
    work,
    open: (sealed) => openToken(sealed, settings).catch(() => undefined),
    join: async (successor, sealed) => ({ sealed, ...await take(successor, context) }),
    hasEnded: () => hasEnded(token, context),
    ended: ENDED,
  });
  const settled = await settle(token, turn, context);
  if (settled.sealed !== undefined) settings.renewals.remember(token, settled.sealed);
  return settled;
}

/** What a turn means for the other requests of its session. */
async function settle(token: string, turn: Turn, context: ReadContext): Promise<Turn> {
  if (turn === ENDED || context.settings.families.endings(token) > 0) return ENDED;
  if (turn.token === null) return { ...turn, endings: await endSession(token, context) };
  if (turn.sealed !== undefined) await continueSession(token, turn.sealed, context);
  return turn;
}

/** A turn on the result of another request's: the same claims and token, but a session of its own. */
async function follow(turn: Turn, settings: SessionSettings): Promise<Turn> {
  if (turn.token === null) return turn;
  return { ...turn, ...await present(copy(turn.token), turn.expires, settings) };
}

/** Claims for another session callback to write to; those with a function in them are shared. */
function copy(token: JWT): JWT {
  try {
    return structuredClone(token);
  } catch {
    return token;
  }
}

/** Core's order: the `jwt` callback, the `session` callback (which may write to the token), then a new token. */
async function take(opened: OpenToken, context: ReadContext): Promise<Turn> {
  const { settings, heard } = context;
  const { callbacks } = settings;
  const { claims } = opened;
  // `session` is what a browser sends to update it; core names it in every call.
  const token = callbacks.jwt === defaultJwtCallback
    ? claims
    : await callbacks.jwt({ token: claims, session: undefined } as never);
  if (token === null) return { token, session: null, expires: new Date(0) };
  const { kept, renewed } = opened.ends;
  const turn = await present(token, opened.due && heard() ? renewed() : kept, settings);
  if (!opened.due && !(settings.custom && !isUnchanged(token, opened))) return turn;
  try {
    const sealed = await reseal(opened, token, context);
    if (sealed === undefined) return endingAt(turn, kept);
    return { ...(heard() ? endingAt(turn, renewed()) : turn), sealed };
  } catch (error) {
    return { ...turn, error: error as Error };
  }
}

/**
 * The token that takes the place of another, if it is not too large. A session that may not grow still goes on: its claims
 * as they were are sealed anew if it is time to.
 */
async function reseal(opened: OpenToken, token: JWT, context: ReadContext): Promise<string | undefined> {
  const { settings, logger, log, auth } = context;
  const { jwt, cookie, cookieLimit } = settings;
  const params = { ...jwt, token, salt: cookie.name };
  const watch = {
    // What is larger already was accepted under another limit: it may stay, and not grow.
    limit: Math.max(cookieLimit, cookieSize(cookie.name, opened.token)),
    warn: (message: string) => auth.once("large session", () => log.warn({}, `Auth.js: ${message}`)),
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

/** The turn with another end: whether a token is renewed is known after the session callback. */
function endingAt(turn: Turn, expires: Date): Turn {
  return { ...turn, expires, session: withEnd(turn.session, turn.expires.toISOString(), expires) };
}

/** The session for the claims, through the `session` callback. */
async function present(token: JWT, expires: Date, { callbacks }: SessionSettings): Promise<Turn> {
  const user = { name: token.name, email: token.email, image: token.picture };
  const session = { user, expires: expires.toISOString() };
  if (callbacks.session === defaultSessionCallback) return { token, session, expires };
  return { token, session: await callbacks.session({ session, token } as never), expires };
}
