/** What a read of a session gives, and the steps common to sessions in tokens and in a database. */
import { type AuthError, EventError } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import type { LoggerInstance } from "@auth/core/types";
import type { Log } from "../utils/log.ts";
import type { SessionCookieUpdate } from "./cookie.ts";
import type { FastifyAuthError } from "../errors.ts";
import type { CallbackFailure } from "./callback_failure.ts";
import { leaveOutTokens } from "./provider_tokens.ts";
import type { RefreshFailure } from "./jwt_read.ts";
import type { SessionSettings } from "./settings.ts";
import type { Session } from "../types.ts";

/** What a read gives. */
export interface SessionRead {
  /** The session, or null if the user is not signed in. */
  readonly session: Session | null;
  /** The cookies to set, where the read changed something. */
  readonly update?: SessionCookieUpdate;
  /**
   * The cookies in their place when the reply leaves. Another request may have replaced the token since, and
   * its reply may be with the browser already.
   */
  readonly newestUpdate?: () => SessionCookieUpdate;
  /** Whether the session ended since, so that these cookies must not be set any more. */
  readonly isOutdated?: () => boolean;
  /** Asks whether the session ended in another process; {@linkcode isOutdated} then knows. */
  readonly checkOtherProcesses?: () => Promise<unknown>;
  /** Why it is not known whether the user is signed in, for the client: the adapter or a callback failed. */
  readonly failure?: FastifyAuthError;
  /** What the `session` callback returned for an update. */
  readonly returned?: unknown;
  /** The claims of the session token, where the read has made new ones. */
  readonly claims?: JWT;
  /** Why the tokens of a provider could not be refreshed. */
  readonly refreshFailure?: RefreshFailure | undefined;
}

/** The refresh of a provider's tokens, for reads that are to have a valid access token. */
export interface TokenRefresh {
  /** The id of the provider. */
  readonly provider: string;
  /** Whether the claims have tokens that are to be refreshed. */
  isDue(claims: JWT): boolean;
  /** Refreshes them. Rejects where that fails. */
  run(claims: JWT): Promise<JWT>;
}

/** Core's logger, and a cheaper method for what any client can cause at will. */
export interface AuthLogger extends LoggerInstance {
  /** Logs why a session token was refused, as core's `JWTSessionError` would. */
  refusal(reason: Error): void;
}

/** A read or an update of a session. */
export interface OwnRead {
  /** Whether the callbacks have made it: then only its own request waits for it, and not others of the session. */
  isMade?: boolean;
  /** Whether it is an update, of which reads that it calls learn only what is known of a token. */
  readonly isUpdate?: boolean;
  /** The name of the session; empty until its token is opened. */
  name: string;
  readonly settings: SessionSettings;
  readonly logger: () => Pick<LoggerInstance, "error">;
  /** Says once that a function asked for the session that it is called for. */
  readonly warn: (message: string) => void;
  /** What is known of the session so far: what a `session` callback gets or has returned, and the claims. */
  known?: { readonly session: unknown; readonly claims?: JWT };
}

/** What a read works with besides the cookie. */
export interface ReadContext {
  readonly settings: SessionSettings;
  /** Where messages go, made when there is one. */
  readonly logger: () => AuthLogger;
  /** The headers of the request. */
  readonly headers: { readonly "user-agent"?: string | undefined };
  /** Whether the reply can carry a cookie. */
  readonly canSetCookie: () => boolean;
  /** What the session is updated with, by a request for that. */
  readonly update?: { readonly data: unknown };
  /** Refreshes tokens of a provider with the read. */
  readonly refresh?: TokenRefresh | undefined;
  /** For messages about the application rather than Auth.js. */
  readonly log: Log;
  /** For functions of the application that ask for the session that is read. */
  readonly own: OwnRead;
  /** For messages that are logged once, not with each request. */
  readonly auth: { once(what: string, tell: () => void): void };
}

/** The user is not signed in, and no cookie has to change. */
export const SIGNED_OUT: SessionRead = Object.freeze({ session: null });

/** The session as core makes it of claims, which a callback may add to. */
export function sessionOf(claims: JWT, expires: string) {
  return { user: { name: claims.name, email: claims.email, image: claims.picture }, expires };
}

/**
 * The session as it would arrive over HTTP, which is how core delivers it: dates are texts, functions are
 * gone.
 *
 * Only a well-formed session counts as one. A callback can return anything, and a guard must not take it for
 * a user.
 */
export function toSession(
  value: unknown,
  { logger, settings }: {
    readonly logger: () => Pick<LoggerInstance, "error">;
    readonly settings: Pick<SessionSettings, "hidesClaims">;
  },
): Session | null {
  if (typeof value !== "object" || value === null) return null;
  try {
    const session = JSON.parse(JSON.stringify(value, settings.hidesClaims ? leaveOutTokens : undefined));
    const { user, expires } = session;
    if (typeof user !== "object" || user === null || Array.isArray(user)) return null;
    return expires === undefined || typeof expires === "string" ? session : null;
  } catch (error) {
    logger().error(error as Error); // A BigInt, a cycle.
    return null;
  }
}

/** Tells the application that a session was read. As in core, its failure is logged and changes nothing. */
export async function emitSessionEvent(
  message: { session: unknown; token?: JWT },
  { settings: { event }, logger }: ReadContext,
): Promise<void> {
  try {
    await event!(message as Parameters<NonNullable<typeof event>>[0]);
  } catch (error) {
    logger().error(wrapError(EventError, error));
  }
}

/**
 * An error of core's around what was caught, which its constructors take though their types do not say so.
 */
export function wrapError(kind: new (cause?: string) => AuthError, cause: unknown): AuthError {
  return new kind(cause as string);
}

/** The read whose callback failed. The log says which one, and what it threw. */
export function failedCallback(
  failure: CallbackFailure,
  kind: new (cause?: string) => AuthError,
  { logger }: ReadContext,
): SessionRead {
  const error = wrapError(kind, failure.cause);
  error.message = `${failure.message} ${error.message}`;
  logger().error(error);
  return { session: null, failure };
}
