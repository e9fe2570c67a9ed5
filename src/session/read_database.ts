/**
 * Sessions kept in a database: core's session action with one call of the adapter.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import { AdapterError, SessionTokenError } from "@auth/core/errors";
import { clearSessionCookie, type SessionCookie, writeSessionCookie } from "./cookie.ts";
import { goesOn, hasEnded, readEnded } from "./ending.ts";
import { newExpiry, rowEnd } from "../config/lifetime.ts";
import { announce, NOBODY, type ReadContext, type SessionRead, toSession, wrapped } from "./read.ts";

type SessionMethod = "getSessionAndUser" | "deleteSession" | "updateSession";

/** Reads the session a cookie names. Never throws: a failure is logged, and leaves the cookie alone as in core. */
export async function readDatabaseSession(cookie: SessionCookie, context: ReadContext): Promise<SessionRead> {
  const { settings, logger } = context;
  const { callbacks, maxAge, updateAge } = settings;
  const sessionToken = cookie.token;
  const ended = readEnded(cookie, context);
  if (ended !== undefined) return ended;
  let expired = false;
  try {
    const found = await ask(context, "getSessionAndUser", sessionToken);
    expired = found !== null && found.session.expires.valueOf() < Date.now();
    if (expired) await ask(context, "deleteSession", sessionToken);
    if (!found || expired) {
      return { session: null, update: clearSessionCookie(cookie.names, settings.cookie) };
    }

    const { user, session } = found;
    const due = session.expires.valueOf() - (maxAge - updateAge) * 1000 <= Date.now();
    // A row that outlives its cookie would keep the next reply from renewing the cookie.
    const renewed = due && context.heard() && !await hasEnded(sessionToken, context);
    const expires = renewed ? newExpiry(settings) : rowEnd(session.expires, settings);
    if (renewed) await ask(context, "updateSession", { sessionToken, expires });

    // Core's shape: the user is in both, and `newSession` is what a browser sends to update the session.
    const params = { session: { ...session, expires, user }, user, newSession: undefined };
    const presented = await callbacks.session(params as never);
    if (settings.event) await announce({ session: presented }, context);
    if (settings.families.endings(sessionToken) > 0) return NOBODY;
    const read = { session: toSession(presented, context) };
    if (!due) return read;
    return {
      ...read,
      update: writeSessionCookie(cookie.names, sessionToken, settings.cookie, expires),
      ...goesOn(sessionToken, context),
    };
  } catch (error) {
    logger().error(wrapped(SessionTokenError, error));
    // Nobody is signed in with an expired session, whatever becomes of its row.
    return error instanceof AdapterError && !expired ? { session: null, failure: error } : { session: null };
  }
}

/** Calls the adapter as core does: told to the debug log before, and its failure to the log after. */
async function ask<Name extends SessionMethod>(
  { settings, logger }: ReadContext,
  name: Name,
  ...args: Parameters<NonNullable<Adapter[Name]>>
): Promise<Awaited<ReturnType<NonNullable<Adapter[Name]>>>> {
  try {
    logger().debug(`adapter_${name}`, { args });
    const method = settings.adapter![name] as (...args: unknown[]) => unknown;
    return await method(...args) as Awaited<ReturnType<NonNullable<Adapter[Name]>>>;
  } catch (cause) {
    const error = wrapped(AdapterError, cause);
    logger().error(error);
    throw error;
  }
}
