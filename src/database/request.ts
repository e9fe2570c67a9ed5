/**
 * What one auth request does with the database, and what becomes of the request when the database fails.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import { AdapterError } from "@auth/core/errors";
import type { LoggerInstance } from "@auth/core/types";
import type { ResolvedConfig } from "../config/config.ts";
import { FastifyAuthError } from "../errors.ts";
import { readSessionCookie } from "../session/cookie.ts";
import { renewSession, type SessionRenewal } from "./session_renewal.ts";
import { type SessionSettings, sessionSettings } from "../session/settings.ts";

/** The request and what it is answered with. */
export interface DatabaseRequest {
  readonly resolved: ResolvedConfig;
  readonly request: Request;
  /** The auth action, as core names it. */
  readonly action: string;
  readonly logger: LoggerInstance;
  /** Has core answer, working with the adapter it is given. */
  readonly answer: (adapter: Adapter) => Promise<Response>;
}

/**
 * Answers the request.
 *
 * @returns Core's answer; 503 without a body where a failure of the database decided what core answered.
 */
export async function answerWithDatabase(call: DatabaseRequest): Promise<Response> {
  const { resolved, request, action, answer, logger } = call;
  const settings = sessionSettings(resolved, request.url.startsWith("https:"));
  const watched = stopAtFailure(settings.adapter!);
  const renewal = renewalOf(call, settings, watched.adapter);

  const response = await answer(renewal?.adapter ?? watched.adapter);
  if (watched.failed() === undefined) {
    await renewal?.finish(tokenOf(response, settings)).catch((error) =>
      logger.error(new AdapterError(error))
    );
  }
  return decides(watched.failed(), action) ? unavailable(response, action) : response;
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
function decides(failed: string | undefined, action: string): boolean {
  return failed !== undefined && (failed !== "deleteSession" || action === "signout");
}

/** A browser that signed out is to forget its session, whatever became of the row; nothing else is known to be so. */
function unavailable({ headers }: Response, action: string): Response {
  const response = new Response(null, { status: unavailableError().statusCode });
  const cookies = action === "signout" ? headers.getSetCookie() : [];
  for (const cookie of cookies) response.headers.append("set-cookie", cookie);
  return response;
}

/** What the client is told; what happened is in the log. */
export function unavailableError(): FastifyAuthError & { statusCode: number } {
  const message = "The database did not answer. Try again in a moment.";
  return new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", message) as FastifyAuthError & { statusCode: number };
}

/** Tokens in cookies have no row that could outlive them. */
function renewalOf(
  { resolved, action, request }: DatabaseRequest,
  { strategy, cookie, maxAge }: SessionSettings,
  adapter: Adapter,
): SessionRenewal | undefined {
  if (action !== "callback" || strategy === "jwt") return undefined;
  const { token } = readSessionCookie(request.headers.get("cookie") ?? undefined, cookie.name);
  const { generateSessionToken: generate = () => crypto.randomUUID() } = resolved.core.session ?? {};
  return token === "" ? undefined : renewSession(adapter, { token, generate, maxAge });
}

/** The session token that an answer gives the browser. */
function tokenOf({ headers }: Response, { cookie: { name } }: SessionSettings): string | undefined {
  const line = headers.getSetCookie().find((cookie) => cookie.startsWith(`${name}=`));
  return line && decodeURIComponent(line.slice(name.length + 1).split(";")[0]!);
}
