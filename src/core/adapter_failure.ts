/**
 * What one auth request does with the database, and what becomes of the request when the database fails.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import { AdapterError } from "@auth/core/errors";
import { renewSession, type SessionRenewal } from "../database/session_renewal.ts";
import { unavailableError } from "../database/unavailable.ts";
import { readSessionCookie } from "../session/cookie.ts";
import type { SessionSettings } from "../session/settings.ts";
import type { Answer } from "./answer.ts";
import type { RequestContext } from "./context.ts";

/**
 * Answers a request with the adapter of its configuration.
 *
 * @param context The request.
 * @param answer Has core answer, working with the adapter it is given.
 * @returns Core's answer; one with {@linkcode unavailableError} where a failure of the database decided what core
 * answered.
 */
export async function answerWithAdapter(
  context: RequestContext,
  answer: (adapter: Adapter) => Promise<Answer>,
): Promise<Answer> {
  const { settings } = context;
  const watched = stopAtFailure(settings.adapter!);
  const renewal = renewalOf(context, settings, watched.adapter);

  const answered = await answer(renewal?.adapter ?? watched.adapter);
  if (watched.failed() === undefined) {
    await renewal?.finish(tokenOf(answered, settings)).catch((error) =>
      context.logger.error(new AdapterError(error))
    );
  }
  return decides(watched.failed(), context) ? unavailable(answered, context) : answered;
}

interface Watched {
  readonly adapter: Adapter;
  /** The method that failed, if one did. */
  failed(): string | undefined;
}

/**
 * An adapter that is not asked again once it failed. Core takes some failures for "not there" and goes on: it would
 * create a second user where it could not read the first.
 */
function stopAtFailure(adapter: Adapter): Watched {
  let failure: { method: string; error: unknown } | undefined;
  const methods = Object.entries(adapter as Record<string, (...args: unknown[]) => unknown>);
  const watched = methods.map(([method, call]) => [method, async (...args: unknown[]) => {
    if (failure) throw failure.error;
    try {
      return await call(...args);
    } catch (error) {
      failure ??= { method, error };
      throw error;
    }
  }]);
  return { adapter: Object.fromEntries(watched) as Adapter, failed: () => failure?.method };
}

/**
 * Whether the answer would have been another one. A row that is left behind after it expired, or after the browser
 * got a new session, does not change who is signed in; one that was to end with the session does.
 */
function decides(failed: string | undefined, { action }: RequestContext): boolean {
  return failed !== undefined && (failed !== "deleteSession" || action === "signout");
}

/** A browser that signed out is to forget its session, whatever became of the row; nothing else is known to be so. */
function unavailable({ cookies, error }: Answer, { action, logger }: RequestContext): Answer {
  if (error !== undefined) logger.error(error);
  return {
    status: 503,
    headers: {},
    cookies: action === "signout" ? cookies : [],
    error: unavailableError(),
  };
}

/** Tokens in cookies have no row that could outlive them. */
function renewalOf(
  { action, config, cookies }: RequestContext,
  { strategy, cookie, maxAge }: SessionSettings,
  adapter: Adapter,
): SessionRenewal | undefined {
  if (action !== "callback" || strategy === "jwt") return undefined;
  const { token } = readSessionCookie(cookies, cookie.name);
  const { generateSessionToken: generate = () => crypto.randomUUID() } = config.core.session ?? {};
  return token === "" ? undefined : renewSession(adapter, { token, generate, maxAge });
}

/** The session token that an answer gives the browser. */
function tokenOf({ cookies }: Answer, { cookie: { name } }: SessionSettings): string | undefined {
  return cookies.find((cookie) => cookie.name === name)?.value;
}
