/**
 * What one auth request does with the database, and what becomes of the request when the database fails.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import { AdapterError } from "@auth/core/errors";
import type { LoggerInstance } from "@auth/core/types";
import { FastifyAuthError } from "./errors.ts";
import { readSessionCookie } from "./session_cookie.ts";
import { renewSession, type SessionRenewal } from "./session_renewal.ts";

/** The request and what it is answered with. */
export interface DatabaseRequest {
  readonly core: Readonly<AuthConfig>;
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
  const { core, action, answer, logger } = call;
  const watched = stopAtFailure(core.adapter!);
  const name = sessionCookieName(call);
  const renewal = renewalOf(call, name, watched.adapter);

  const response = await answer(renewal?.adapter ?? watched.adapter);
  if (watched.failed() === undefined) {
    await renewal?.finish(cookieOf(response, name)).catch((error) => logger.error(new AdapterError(error)));
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

function renewalOf(call: DatabaseRequest, name: string, adapter: Adapter): SessionRenewal | undefined {
  const { core: { session }, action, request } = call;
  const { token } = readSessionCookie(request.headers.get("cookie") ?? "", name);
  if (action !== "callback" || session?.strategy === "jwt" || token === "") return undefined;
  return renewSession(adapter, {
    token,
    generate: session?.generateSessionToken ?? (() => crypto.randomUUID()),
    maxAge: session?.maxAge ?? 30 * 24 * 60 * 60,
  });
}

function sessionCookieName({ core, request }: DatabaseRequest): string {
  const secure = core.useSecureCookies ?? request.url.startsWith("https:");
  return core.cookies?.sessionToken?.name ?? `${secure ? "__Secure-" : ""}authjs.session-token`;
}

function cookieOf({ headers }: Response, name: string): string | undefined {
  const line = headers.getSetCookie().find((cookie) => cookie.startsWith(`${name}=`));
  return line && decodeURIComponent(line.slice(name.length + 1).split(";")[0]!);
}
