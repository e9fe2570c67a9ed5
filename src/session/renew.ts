/** Runs the callbacks for a session token, and makes the token that takes its place. */
import type { JWT } from "@auth/core/jwt";
import { withEnd } from "../config/lifetime.ts";
import type { NoticeCode } from "../config/notices.ts";
import { afterFailedJwt, CallbackFailure } from "./callback_failure.ts";
import { cookieSize, encodeWithin, SessionTooLarge } from "./cookie_size.ts";
import { namedBy, withName } from "./name.ts";
import { ENDED, type JwtRead } from "./jwt_read.ts";
import { isUnchanged, type OpenToken } from "./open.ts";
import { providerSessionOf, withProviderSession } from "./provider_session.ts";
import { type ReadContext, sessionOf, type TokenRefresh } from "./read.ts";
import { claimOf, ownClaim, withClaim } from "./session_records.ts";

/** Takes the claims and the token of another request's read, and makes a session of its own from them. */
export async function makeOwnSession(read: JwtRead, context: ReadContext): Promise<JwtRead> {
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
 * Runs the callbacks in core's order: the `jwt` callback, the `session` callback (which may write to the token),
 * then a new token.
 */
export async function runCallbacks(opened: OpenToken, context: ReadContext): Promise<JwtRead> {
  const { settings, update, refresh, own } = context;
  const { claims, due, ends } = opened;
  const { callbacks, records, keepsProviderSessions } = settings;
  // A `jwt` callback that makes the claims anew leaves ours out.
  const named = namedBy(claims);
  const claim = records && (due ? claimOf(opened) : ownClaim(claims));
  const provider = keepsProviderSessions ? providerSessionOf(claims) : undefined;
  own.known = { session: sessionOf(claims, ends.kept), claims };

  // Core passes `session`, the browser's update of the session, in every call.
  const params = { token: claims, ...(update && { trigger: "update" }), session: update?.data };
  let returned: JWT | null = claims;
  try {
    if (callbacks.jwt !== undefined) returned = await callbacks.jwt(params as never);
  } catch (error) {
    returned = afterFailedJwt(error);
  }
  if (returned === null) return { ...ENDED, token: null };
  const refreshed = refresh?.isDue(returned) ? await attemptRefresh(refresh, returned) : undefined;

  let token = withName(refreshed?.token ?? returned, named);
  if (claim !== undefined) token = withClaim(token, claim);
  if (provider !== undefined) token = withProviderSession(token, provider);
  const expires = (due || update) && context.canSetCookie() ? ends.renewed() : ends.kept;
  let read = await callSessionCallback(token, expires, context);
  if (refreshed?.refreshFailure) read = { ...read, refreshFailure: refreshed.refreshFailure };

  const mayHaveChanged = callbacks.jwt !== undefined || callbacks.session !== undefined ||
    refresh !== undefined;
  const staysAsItIs = !update && !due && (!mayHaveChanged || isUnchanged(token, opened));
  return settings.isBearer || staysAsItIs ? read : await replaceToken(opened, token, read, context);
}

/** Reads a token without a `jwt` callback, which may refresh it, and renews nothing. */
export async function readAsItIs({ claims, ends }: OpenToken, context: ReadContext): Promise<JwtRead> {
  return await callSessionCallback(claims, ends.kept, context);
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
async function callSessionCallback(
  token: JWT,
  expires: string,
  { settings: { callbacks }, own }: ReadContext,
): Promise<JwtRead> {
  const session = sessionOf(token, expires);
  own.known = { session, claims: token };
  if (callbacks.session === undefined) return { token, session, expires };
  try {
    return { token, session: await callbacks.session({ session, token } as never), expires };
  } catch (error) {
    throw new CallbackFailure("`session` callback", error);
  }
}

/** The bytes that its name adds to a session cookie. */
const NAME_SIZE = 128;

/**
 * The token that replaces another. If it is too large the session goes on with its claims as they were, in a
 * new token if the old one is due for renewal.
 */
async function reseal(opened: OpenToken, token: JWT, context: ReadContext): Promise<string | undefined> {
  const { settings: { jwt, cookie, cookieLimit }, logger, log, auth } = context;
  const { name } = opened;
  const params = { ...jwt, token: withName(token, name), salt: cookie.name };
  const code: NoticeCode = "FST_AUTHJS_WARN_SESSION_SIZE";
  const watch = {
    // A session that is larger already was accepted under another limit: it may stay, and not grow.
    limit: Math.max(
      cookieLimit,
      cookieSize(cookie.name, opened.token) + (namedBy(opened.claims) ? 0 : NAME_SIZE),
    ),
    warn: (message: string) => auth.once("large session", () => log.warn({ code }, `Auth.js: ${message}`)),
  };
  try {
    return await encodeWithin(jwt, params, watch);
  } catch (error) {
    if (!(error instanceof SessionTooLarge) || context.update !== undefined) throw error;
    auth.once("session too large", () => logger().error(error));
    logger().debug("session_too_large", error);
    if (!opened.due || opened.text === undefined) return undefined;
    return await jwt.encode({ ...params, token: withName(JSON.parse(opened.text), name) });
  }
}

/** The read with another end: whether a token is renewed is known only after the session callback. */
function endingAt(read: JwtRead, expires: string): JwtRead {
  return { ...read, expires, session: withEnd(read.session, read.expires, expires) };
}
