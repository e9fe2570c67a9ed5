/** What a read of a session gives, and the steps common to sessions in tokens and in a database. */
import { type AuthError, EventError } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import type { AuthLogger } from "../config/notices.ts";
import { FastifyAuthError } from "../errors.ts";
import type { SetCookie } from "../http/set_cookie.ts";
import type { Session } from "../types.ts";
import { rootMessage, toError } from "../utils/error_chain.ts";
import { plainCopy } from "../utils/plain_copy.ts";
import type { SessionSettings } from "./settings.ts";

export interface SessionRead {
  readonly session: Session | null;
  /** The claims of the session token, as the callbacks left them. */
  readonly claims?: JWT;
  readonly update?: CookieUpdate | undefined;
  /** Why it is not known whether the user is signed in, for the client: the adapter or a callback failed. */
  readonly failure?: FastifyAuthError;
}

/** What a read changes of the session cookie of this name. */
export interface CookieUpdate {
  readonly name: string;
  /** When the reply leaves, another request may have replaced the token. */
  readonly cookies: () => readonly SetCookie[];
  /** Whether the session ended since, so that they must not be set any more. */
  readonly isOutdated: () => boolean;
  /** Whether another request made the token: its reply has it, too. */
  readonly isJoined?: boolean | undefined;
  /** Asks what other processes have made of it; {@linkcode cookies} and {@linkcode isOutdated} then know. */
  readonly checkOtherProcesses?: (() => Promise<unknown>) | undefined;
}

export const SIGNED_OUT: SessionRead = Object.freeze({ session: null });

export interface ReadContext {
  readonly settings: SessionSettings;
  readonly headers: { readonly "user-agent"?: string | undefined };
  readonly auth: { once(what: string, tell: () => void): void };
  readonly logger: AuthLogger;
  readonly canSetCookie: () => boolean;
  /** Whether a renewal that is due waits for the next request, since this reply carries no cookies. */
  readonly leavesDue?: () => boolean;
  readonly update?: { readonly data: unknown };
  /** When the read began: what ended since is not brought back. */
  readonly began: number;
  /** The name of the session; empty until its token is opened. */
  name: string;
  /** The session so far, what a callback gets or has returned, and its claims. */
  known?: { readonly session: unknown; readonly token?: JWT } | undefined;
  /** Whether the callbacks have made it: then only its own request waits for it, and not others of the session. */
  isMade?: boolean;
  /** The promise of a callback that was called outside of an asynchronous context. */
  call?: PromiseLike<unknown> | undefined;
}

/** The session as core makes it of claims, which a callback may add to. */
export function sessionOf(claims: Readonly<Record<string, unknown>>, expires: string) {
  return { user: { name: claims.name, email: claims.email, image: claims.picture }, expires };
}

/** The session as over HTTP. A callback can return anything, which a guard must not take for a user. */
export function toSession(value: unknown, context: Pick<ReadContext, "logger" | "settings">): Session | null {
  if (typeof value !== "object" || value === null) return null;
  try {
    const { leaveOut } = context.settings;
    const session = leaveOut ? JSON.parse(JSON.stringify(value, leaveOut)) : plainCopy(value);
    const { user, expires } = session;
    if (typeof user !== "object" || user === null || Array.isArray(user)) return null;
    return expires === undefined || typeof expires === "string" ? session : null;
  } catch (error) {
    const problem = "`callbacks.session` returned a session that JSON cannot hold, so there is none";
    context.logger.error(new TypeError(`${problem}: ${rootMessage(error)}`));
    return null;
  }
}

/** Tells the application of the session that the callbacks have made. As in core, its failure changes nothing. */
export async function sendSessionEvent({ settings: { event }, known, logger }: ReadContext): Promise<void> {
  try {
    await event?.(known as Parameters<NonNullable<typeof event>>[0]);
  } catch (error) {
    logger.error(wrapError(EventError, error));
  }
}

type ErrorKind = new (cause?: string) => AuthError;

/** An error of core's around what was caught, which its constructors take though their types do not say so. */
export function wrapError(kind: ErrorKind, cause: unknown): AuthError {
  return new kind(toError(cause) as unknown as string);
}

/** 503, or the `statusCode` of what was thrown. The session stays: the next read may succeed. */
export class CallbackFailure extends FastifyAuthError {
  constructor(what: string, cause: unknown) {
    const { statusCode: status } = (cause ?? {}) as { statusCode?: unknown };
    const isStatus = typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599;
    super("FST_AUTHJS_UNAVAILABLE", `The ${what} of the application failed. Its log says why.`, {
      cause,
      ...(isStatus && { statusCode: status }),
    });
  }
}

export function failedCallback(failure: CallbackFailure, kind: ErrorKind, { logger }: ReadContext): SessionRead {
  const error = wrapError(kind, failure.cause);
  error.message = `${failure.message} ${error.message}`;
  logger.error(error);
  return { session: null, failure };
}
