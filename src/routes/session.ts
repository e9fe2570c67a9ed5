/**
 * `GET <prefix>/session`, by which a browser reads its session: the same read as `getSession()`. And `POST`, by which it
 * updates it: core's work, on the newest token.
 *
 * @module
 */
import { type Answer, jsonAnswer, type SetCookie } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";
import { unavailableError } from "../database/failure.ts";
import { readSessionCookie, withSessionToken } from "../session/cookie.ts";
import { defaultJwtCallback } from "../session/settings.ts";

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
  const { cookie: { name }, callbacks, renewals, strategy } = context.settings;
  const cookie = readSessionCookie(context.cookies, name);
  if (cookie.token === "" || strategy !== "jwt" || callbacks.jwt === defaultJwtCallback) {
    return await callCore(context);
  }
  // Its outcome is in `newest` if it has one; its failure is not ours.
  await renewals.running(renewals.newest(cookie.token))?.catch(() => {});
  const newest = renewals.newest(cookie.token);
  const answer = await callCore(
    newest === cookie.token
      ? context
      : { ...context, cookies: withSessionToken(context.cookies, cookie.parts, newest) },
  );
  const updated = sessionTokenIn(answer.cookies, name);
  if (updated !== "") {
    renewals.remember(cookie.token, updated);
    renewals.remember(newest, updated);
  }
  return answer;
}

/** The token that cookies put in the browser; empty where they put none. */
function sessionTokenIn(cookies: readonly SetCookie[], name: string): string {
  const pairs = cookies.filter(({ value }) => value !== "").map(({ name, value }) =>
    `${name}=${encodeURIComponent(value)}`
  );
  return readSessionCookie(pairs.join("; "), name).token;
}
