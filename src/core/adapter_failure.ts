/**
 * What one auth request does with the database, and what becomes of the request when the database fails.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import { AdapterError } from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import { replaceSession, type SessionReplacement } from "../adapter/session_replacement.ts";
import { SignInWrites } from "../adapter/sign_in_writes.ts";
import { readSessionCookie } from "../session/cookie.ts";
import type { SessionSettings } from "../session/settings.ts";
import type { Answer } from "./answer.ts";
import type { RequestContext } from "./context.ts";

/**
 * Answers a request with the adapter of its configuration.
 *
 * @param context The request.
 * @param answer Has core answer, working with the adapter it is given.
 * @returns Core's answer; one with {@linkcode unavailableError} where a failure of the database decided what
 * core answered.
 */
export async function answerWithAdapter(
  context: RequestContext,
  answer: (adapter: Adapter) => Promise<Answer>,
): Promise<Answer> {
  const { settings } = context;
  const writes = writesOf(context, settings.adapter!);
  const watched = stopAtFailure(writes?.adapter ?? settings.adapter!);
  const renewal = renewalOf(context, settings, watched.adapter);

  const answered = await answer(renewal?.adapter ?? watched.adapter);
  if (watched.failed() === undefined) {
    await renewal?.finish(tokenOf(answered, settings)).catch((error) =>
      context.logger.error(new AdapterError(error))
    );
  }
  const failure = watched.failed();
  const decided = failure !== undefined && decides(failure, context);
  await writes?.cleanUp(decided);
  return decided ? unavailable(answered, failure, context) : answered;
}

/** The first call that failed. */
interface Failure {
  readonly method: string;
  readonly error: unknown;
}

interface Watched {
  readonly adapter: Adapter;
  /** The call that failed, if one did. */
  failed(): Failure | undefined;
}

/**
 * An adapter that is not asked again once it failed. Core takes some failures for "not there" and goes on: it
 * would create a second user where it could not read the first.
 */
function stopAtFailure(adapter: Adapter): Watched {
  let failure: Failure | undefined;
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
  return { adapter: Object.fromEntries(watched) as Adapter, failed: () => failure };
}

/**
 * Whether the answer would have been another one. A row that is left behind after it expired, or after the
 * browser got a new session, does not change who is signed in; one that was to end with the session does.
 */
function decides({ method }: Failure, { action }: RequestContext): boolean {
  return method !== "deleteSession" || action === "signout";
}

/**
 * A browser that signed out is to forget its session, whatever became of the row; nothing else is known to be
 * so.
 */
function unavailable(
  { cookies, error }: Answer,
  failure: Failure,
  { action, logger }: RequestContext,
): Answer {
  if (error !== undefined) logger.error(error);
  return {
    status: 503,
    headers: {},
    cookies: action === "signout" ? cookies : [],
    error: unavailableError(failure.error),
  };
}

/** What a sign-in writes, to be taken back where it comes to nothing. */
function writesOf(
  { action, provider, config, logger }: RequestContext,
  adapter: Adapter,
): SignInWrites | undefined {
  if (action !== "callback" || provider === undefined) return undefined;
  const { unfinishedUsers: unfinished } = config;
  return new SignInWrites(adapter, { type: provider.type, unfinished, report: logger.error });
}

/** Tokens in cookies have no row that could outlive them. */
function renewalOf(
  { action, config, cookies }: RequestContext,
  { strategy, cookie, maxAge }: SessionSettings,
  adapter: Adapter,
): SessionReplacement | undefined {
  if (action !== "callback" || strategy === "jwt") return undefined;
  const { token } = readSessionCookie(cookies, cookie.name);
  const { generateSessionToken: generate = () => crypto.randomUUID() } = config.core.session ?? {};
  return token === "" ? undefined : replaceSession(adapter, { token, generate, maxAge });
}

/** The session token that an answer gives the browser. */
function tokenOf({ cookies }: Answer, { cookie: { name } }: SessionSettings): string | undefined {
  return cookies.find((cookie) => cookie.name === name)?.value;
}
