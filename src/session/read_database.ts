/** Sessions kept in a database: core's session action with one call of the adapter. */
import type { Adapter } from "@auth/core/adapters";
import { AdapterError, SessionTokenError } from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import { CallbackFailure } from "./callback_failure.ts";
import { type SessionCookie, writeSessionCookie } from "./cookie.ts";
import { endChecks, hasEnded, readEndedSession } from "./ending.ts";
import { newExpiry, rowEnd } from "../config/lifetime.ts";
import {
  emitSessionEvent,
  failedCallback,
  type ReadContext,
  removeCookie,
  type SessionRead,
  SIGNED_OUT,
  toSession,
  wrapError,
} from "./read.ts";

type SessionMethod = "getSessionAndUser" | "deleteSession" | "updateSession";

/** Reads the session a cookie names. Never throws: a failure is logged and, as in core, the cookie stays. */
export async function readDatabaseSession(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings, logger, update } = context;
  const { callbacks, maxAge, updateAge } = settings;
  const sessionToken = cookie.token;
  const ended = readEndedSession(cookie, context);
  if (ended !== undefined) return ended;
  let expired = false;
  try {
    const found = await callAdapter(context, "getSessionAndUser", sessionToken);
    expired = found !== null && found.session.expires.valueOf() < Date.now();
    if (expired) await callAdapter(context, "deleteSession", sessionToken);
    // The row may be gone because it ended since. Deleting an expired one ends it, too.
    if (!found) return removeCookie(cookie, settings, 0);
    if (expired) return removeCookie(cookie, settings);

    const { user, session } = found;
    const due = session.expires.valueOf() - (maxAge - updateAge) * 1000 <= Date.now();
    // The row is written only if the cookie can be: a later end of the row would stop the next reply from
    // renewing it.
    const renewed = due && context.canSetCookie() && !await hasEnded(sessionToken, context);
    const expires = renewed ? newExpiry(settings) : rowEnd(session.expires, settings);
    const shown = {
      user: { name: user?.name, email: user?.email, image: user?.image },
      expires: expires.toISOString(),
    };
    context.own.known = { session: shown };
    if (renewed) await callAdapter(context, "updateSession", { sessionToken, expires });

    // Core's shape: the user is in both, and `newSession` is what a browser sends to update the session.
    const trigger = update && { trigger: "update" };
    const params = { session: { ...session, expires, user }, user, newSession: update?.data, ...trigger };
    const returned = callbacks.session ? await callbacks.session(params as never) : shown;
    Object.assign(context.own, { known: { session: returned }, isMade: true });
    await emitSessionEvent({ session: returned }, context);
    if (settings.families.endings(sessionToken) > 0) return SIGNED_OUT;
    const read = { session: toSession(returned, context), ...(update && { returned }) };
    if (!due || update) return read;
    return {
      ...read,
      update: writeSessionCookie(cookie.names, sessionToken, settings.cookie, expires),
      ...endChecks(sessionToken, context),
    };
  } catch (error) {
    if (error instanceof CallbackFailure) return failedCallback(error, SessionTokenError, context);
    logger().error(wrapError(SessionTokenError, error));
    // An expired session is none, even where its row could not be deleted.
    return expired ? { session: null } : { session: null, failure: unavailableError(error) };
  }
}

/** Calls the adapter as core does, with the call in the debug log and a failure in the log. */
async function callAdapter<Name extends SessionMethod>(
  { settings, logger }: ReadContext,
  name: Name,
  ...args: Parameters<NonNullable<Adapter[Name]>>
): Promise<Awaited<ReturnType<NonNullable<Adapter[Name]>>>> {
  try {
    logger().debug(`adapter_${name}`, { args });
    const method = settings.adapter![name] as (...args: unknown[]) => unknown;
    return await method(...args) as Awaited<ReturnType<NonNullable<Adapter[Name]>>>;
  } catch (cause) {
    const error = wrapError(AdapterError, cause);
    logger().error(error);
    throw error;
  }
}
