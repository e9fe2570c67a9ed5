/** Reads sessions that are kept in a database: core's session action with one call of the adapter. */
import type { Adapter } from "@auth/core/adapters";
import { AdapterError, SessionTokenError } from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import { newExpiry, rowEnd } from "../config/lifetime.ts";
import { type SessionCookie, sessionCookies } from "./cookie.ts";
import { cookieUpdate, endedRead, hasEnded, removal } from "./ending.ts";
import { rowName } from "./name.ts";
import { knownRead, ownReadOf } from "./own_read.ts";
import {
  CallbackFailure,
  failedCallback,
  finishSession,
  type ReadContext,
  type SessionRead,
  SIGNED_OUT,
  toSession,
  wrapError,
} from "./read.ts";

/** Reads the session a cookie names. Never throws: a failure is logged and, as in core, the cookie stays. */
export async function readDatabaseSession(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings } = context;
  const name = rowName(cookie.token, settings.use);
  const ended = endedRead(name, cookie, context);
  if (ended !== undefined) return ended;
  const own = ownReadOf({ name, settings });
  if (own !== undefined) return knownRead(own);
  context.name = name;
  return await readRow(cookie, context);
}

/** Reads the row of a session, for a read or an update of it. */
export async function readRow(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings, logger, update, name } = context;
  const { callbacks, maxAge, updateAge, live } = settings;
  const sessionToken = cookie.token;
  let expired = false;
  try {
    const found = await callAdapter(context, "getSessionAndUser", sessionToken);
    // The row may be gone because its session has ended since.
    if (!found) return removal(cookie.names, name, 0, settings);
    expired = found.session.expires.valueOf() < Date.now();
    if (expired) {
      const endings = live.end(name);
      await callAdapter(context, "deleteSession", sessionToken);
      return removal(cookie.names, name, endings, settings);
    }

    const { user, session } = found;
    const due = session.expires.valueOf() - (maxAge - updateAge) * 1000 <= Date.now();
    // The row is written only if the cookie can be: a later end of the row would stop the next reply from
    // renewing it.
    const renewed = due && context.canSetCookie() && !await hasEnded(name, context);
    const expires = renewed ? newExpiry(settings) : rowEnd(session.expires, settings);
    let shown: unknown = {
      user: { name: user?.name, email: user?.email, image: user?.image },
      expires: expires.toISOString(),
    };
    context.known = { session: shown };
    if (renewed) {
      await callAdapter(context, "updateSession", { sessionToken, expires });
      // Adapters that write the whole row bring back a deleted one, and some call it an error if there is none.
      if (live.endings(name) > 0) await callAdapter(context, "deleteSession", sessionToken).catch(() => {});
    }

    // Core's shape: the user is in both, and `newSession` is what a browser sends to update the session.
    const trigger = update && { trigger: "update" };
    const params = { session: { ...session, expires, user }, user, newSession: update?.data, ...trigger };
    try {
      if (callbacks.session !== undefined) shown = await callbacks.session(params as never);
    } catch (cause) {
      throw new CallbackFailure("`session` callback", cause);
    }
    await finishSession(context, { session: shown });
    if (live.endings(name) > 0) return SIGNED_OUT;
    const read = { session: toSession(shown, context) };
    if (!due) return read;
    const cookies = () => sessionCookies(sessionToken, cookie.names, settings.cookie, expires);
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
  ...args: Parameters<NonNullable<Adapter[Name]>>
): Promise<Awaited<ReturnType<NonNullable<Adapter[Name]>>>> {
  logger.debug(`adapter_${name}`, { args });
  try {
    const method = settings.adapter![name] as (...args: unknown[]) => unknown;
    return await method(...args) as Awaited<ReturnType<NonNullable<Adapter[Name]>>>;
  } catch (cause) {
    const error = wrapError(AdapterError, cause);
    logger.error(error);
    throw error;
  }
}
