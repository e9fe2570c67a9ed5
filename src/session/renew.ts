/** Runs the callbacks for a session token, and makes the token that takes its place. */
import type { JWT } from "@auth/core/jwt";
import { withEnd } from "../config/lifetime.ts";
import { plainCopy, tryCopy } from "../utils/plain_copy.ts";
import { cookieSize, encodeWithin, SessionTooLarge } from "./cookie.ts";
import { hasEnded } from "./ending.ts";
import { updateInTurn } from "./in_turn.ts";
import type { JwtRead } from "./live_sessions.ts";
import { namedBy, withName } from "./name.ts";
import { isUnchanged, type OpenToken, openToken } from "./open.ts";
import { asOwn, callOwn } from "./own_reads.ts";
import { type CallbackFailure, type ReadContext, sessionOf } from "./read.ts";
import { lifetimesFor } from "./settings.ts";

/** The read of a token whose session ended before the callbacks were done. */
export const ENDED: JwtRead = Object.freeze({ token: null, session: null, expires: new Date(0).toISOString() });

/** Runs the callbacks in core's order: the `session` callback may write to the token, which is sealed after it. */
export async function runCallbacks(opened: OpenToken, context: ReadContext): Promise<JwtRead> {
  const { settings, update, canSetCookie } = context;
  const { claims, ends } = opened;
  const due = opened.due && !context.leavesDue?.();
  const { callbacks, hooks, use } = settings;
  // A `jwt` callback that makes the claims anew leaves ours out.
  const named = namedBy(claims);
  const kept = hooks.map(({ keptClaims }) => keptClaims?.(opened, due));
  context.known = { session: sessionOf(claims, ends.kept), token: claims };

  // Core passes `session`, the browser's update of the session, in every call.
  const params = { token: claims, ...(update && { trigger: "update" }), session: update?.data };
  let token: JWT | null = claims;
  try {
    token = await callOwn("jwt", params, context) as JWT | null;
  } catch (failure) {
    if ((failure as CallbackFailure).statusCode !== 401) throw failure;
    token = null;
  }
  // Of `false`, such as of `isActive(token) && token`, core makes a session without a user, which guards let pass.
  if (!token && token !== undefined) return { ...ENDED };
  // A token for a header is not sealed anew, so no encoder refuses it.
  if (use === "header" && typeof token !== "object") {
    throw new TypeError(`\`callbacks.jwt\` returned ${typeof token}, and no token.`);
  }
  token = withName(token, named);
  // What is no object must not become one.
  for (const each of typeof token === "object" ? kept : []) if (each !== undefined) token = { ...token, ...each };

  const expires = (due || update) && canSetCookie() ? ends.renewed() : ends.kept;
  const session = await makeSession(token, expires, context);
  const read = { token, session, expires };
  const isOurs = callbacks.jwt === undefined && callbacks.session === undefined;
  if (use === "header" || (!update && !due && (isOurs || isUnchanged(token, opened)))) return read;
  try {
    const sealed = await reseal({ ...opened, due }, token, context);
    // Whether the token is renewed is known only after the session callback.
    const end = sealed === undefined ? ends.kept : canSetCookie() ? ends.renewed() : expires;
    return { ...(sealed !== undefined && { sealed }), ...read, expires: end, session: withEnd(session, expires, end) };
  } catch (error) {
    return { ...read, error: error as Error };
  }
}

export function makeSession(token: JWT, expires: string, context: ReadContext): Promise<unknown> {
  const session = sessionOf(token, expires);
  context.known = { session, token };
  return callOwn("session", { session, token }, context);
}

/** Makes new claims of the newest ones; `undefined` if they stay, such as if others have changed them meanwhile. */
export type ClaimsChange = (claims: JWT) => Promise<JWT | undefined>;

/** Changes the claims of a session. Later reads give them to the browser. */
export async function changeClaims(token: string, change: ClaimsChange, context: ReadContext): Promise<void> {
  const { settings } = context;
  const { name } = await openToken(token, settings);
  const work = async (newest: string): Promise<{ sealed?: string | undefined }> => {
    const opened = await openToken(newest, settings);
    const claims = await change(opened.claims);
    if (claims === undefined || await hasEnded(name, context)) return {};
    return { sealed: await reseal(opened, claims, context) };
  };
  context.name = name;
  await asOwn(context, () => updateInTurn(name, token, work, context));
}

/** Claims that callers may write to; those with a function in them cannot be cloned and are shared. */
export function cloneClaims(token: JWT): JWT {
  return tryCopy(token, structuredClone) ?? token;
}

/** The bytes that its name adds to a session cookie. */
const NAME_SIZE = 128;

/** The token that replaces another. If that of a read is too large, the session goes on with its claims as before. */
async function reseal(opened: OpenToken, token: JWT, context: ReadContext): Promise<string | undefined> {
  const { settings, logger, auth } = context;
  const { jwt, cookie, cookieLimit, hooks } = settings;
  const { name, claims, due, original } = opened;
  const { tokenMaxAge: maxAge } = lifetimesFor(name, settings);
  const params = Object.assign({}, jwt, { token: withName(token, name), salt: cookie.name, maxAge });
  // A session that is larger already was accepted under another limit: it may stay, and not grow.
  const held = cookieSize(cookie.name, opened.token) + (namedBy(claims) ? 0 : NAME_SIZE);
  let sealed: string;
  try {
    sealed = await encodeWithin(Math.max(cookieLimit, held), params, logger);
  } catch (error) {
    if (!(error instanceof SessionTooLarge) || context.update !== undefined) throw error;
    auth.once("session too large", () => logger.error(error));
    logger.debug("session_too_large", error);
    if (!due || original === undefined) return undefined;
    sealed = await jwt.encode({ ...params, token: withName(plainCopy(original), name) });
  }
  for (const { onSealed } of hooks) await onSealed?.({ claims: token, name }, false).catch(logger.error);
  return sealed;
}
