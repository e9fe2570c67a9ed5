/**
 * `GET <prefix>/session`, by which a browser reads its session: the same read as `getSession()`. And `POST`, by which it
 * updates it: core's work, on the newest token.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import { type Answer, jsonAnswer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";
import { unavailableError } from "../adapter/failure.ts";
import { isSessionPart, withSessionToken } from "../session/cookie.ts";
import { continueSession, hasEnded } from "../session/ending.ts";
import { newExpiry, rowEnd, withEnd } from "../config/lifetime.ts";
import { hasUnknownKey, openToken } from "../session/open_token.ts";
import {
  endingContext,
  endRemovedSession,
  givenSession,
  heldSession,
  sessionHasEnded,
  withoutCookies,
  withoutSession,
} from "./session_change.ts";

/**
 * Answers with the session, or `null`; with 503 where the database did not answer: a client that took it for signed out
 * would send its user away.
 */
export async function handleSession(context: RequestContext): Promise<Answer> {
  const { session, failure } = await context.readSession();
  const answer = jsonAnswer(session);
  if (failure !== undefined) return { ...answer, error: unavailableError(failure) };
  // Core's, beside the `Cache-Control` that all auth replies have.
  return { ...answer, headers: { ...answer.headers, expires: "0", pragma: "no-cache" } };
}

/**
 * Has core update the session.
 *
 * The token that came may be on its way to be replaced, or be replaced already: core would have the `jwt` callback refresh
 * it a second time. And requests that are on their way with it are led to the update, which they would otherwise undo.
 */
export async function handleSessionUpdate(context: RequestContext): Promise<Answer> {
  const row: RowEnds = {};
  const answer = await updateSession(context, (adapter) => recordRowEnds(adapter, row, context));
  return await withTrueEnd(answer, row, context);
}

async function updateSession(
  context: RequestContext,
  viewOf: (adapter: Adapter) => Adapter,
): Promise<Answer> {
  const held = heldSession(context);
  // Another process may have its key, and core would remove it.
  if (hasUnknownKey(held.token, context.settings)) return jsonAnswer(null);
  const ending = endingContext(context);
  const { families, refreshes } = context.settings;
  // Its outcome is in `newest` if it has one; its failure is not ours.
  await refreshes.running(refreshes.newest(held.token))?.catch(() => {});
  const newest = refreshes.newest(held.token);
  if (held.token === "" || await sessionHasEnded(held.token, context)) {
    return await callCore(withoutCookies(context, held.names));
  }
  const answer = await callCore(
    newest === held.token
      ? context
      : { ...context, cookies: withSessionToken(context.cookies, held.parts, newest) },
    { viewOf },
  );
  // Its browser signed out, or in, while core worked.
  const updated = givenSession(answer, context);
  if (updated === "" ? families.endings(held.token) > 0 : await hasEnded(held.token, ending)) {
    return { ...withoutSession(answer, context), body: null };
  }
  await endRemovedSession(answer, context);
  if (updated !== "" && updated !== newest) {
    refreshes.remember(held.token, updated);
    refreshes.remember(newest, updated);
    await continueSession(newest, updated, ending);
  }
  return answer;
}

/** When the row of a session ended as core read it, and when it ends since core renewed it. */
interface RowEnds {
  read?: Date;
  renewed?: Date;
}

/** The adapter, with a record of the session's ends. A row that is renewed ends with its cookie. */
function recordRowEnds(adapter: Adapter, ends: RowEnds, { settings }: RequestContext): Adapter {
  if (settings.strategy !== "database") return adapter;
  return {
    ...adapter,
    async getSessionAndUser(sessionToken) {
      const found = await adapter.getSessionAndUser!(sessionToken);
      if (found !== null) ends.read = found.session.expires;
      return found;
    },
    updateSession(session) {
      ends.renewed = newExpiry(settings);
      return adapter.updateSession!({ ...session, expires: ends.renewed });
    },
  };
}

/**
 * Core takes the end of the cookie from before the `session` callback and cuts a fraction of a second off it. As the end of
 * the session it says that of the cookie also where the token ends sooner, and that of a row from before it renewed it.
 */
async function withTrueEnd(answer: Answer, row: RowEnds, context: RequestContext): Promise<Answer> {
  const { settings } = context;
  const token = givenSession(answer, context);
  if (token === "") return answer;
  const expires = newExpiry(settings);
  let told: string | undefined;
  const cookies = answer.cookies.map((cookie) => {
    if (!isSessionPart(cookie.name, settings.cookie.name) || cookie.value === "") return cookie;
    told = cookie.options.expires?.toISOString();
    return { ...cookie, options: { ...cookie.options, expires } };
  });
  if (settings.strategy === "database") {
    if (row.read === undefined) return { ...answer, cookies };
    const end = rowEnd(row.renewed ?? row.read, settings);
    return { ...answer, cookies, body: withEnd(answer.body, row.read.toISOString(), end) };
  }
  const opened = await openToken(token, settings).catch(() => undefined);
  const body = opened === undefined ? answer.body : withEnd(answer.body, told, opened.ends.kept);
  return { ...answer, cookies, body };
}
