/** The options of sessions that can be listed and ended from elsewhere, and what the functions take and give. */
import type { SessionRequest } from "../../types.ts";

/** The option of sessions that can be listed and ended from elsewhere. */
export interface SessionsConfig {
  /**
   * Whether each read of a session in a JWT asks the `store` whether it has ended: `listSessions()` and
   * `revokeSession()` of `createAuth()` then work without a database, and a sign-out ends copies of the cookie, too.
   * While the store fails, `getSession()` returns `null` and guards respond with 503. These calls have the timeout of
   * `adapterTimeout`.
   * @default false: a JWT is valid until it expires
   */
  revocable?: boolean;
}

/** A session of a user, as `listSessions()` shows it. */
export interface UserSession {
  /** Names the session for `revokeSession()`. It does not let anyone in: it is no session token. */
  readonly id: string;
  /** Whether it is the session of the request. */
  readonly current: boolean;
  /** When it ends, unless it is used before. */
  readonly expires: Date;
  /** When the user signed in, if that is kept. */
  readonly createdAt?: Date;
  /** When it was last used, to some minutes; if the database has no column for that, when it was last renewed. */
  readonly lastSeenAt?: Date;
  /** The `User-Agent` header of the browser, if that is kept. A client can send any. */
  readonly userAgent?: string;
}

/** Options of `revokeSessions()`. */
export interface RevokeSessionsOptions {
  /** The id of a session that stays, such as that of the request. */
  except?: string | undefined;
}

/** The sessions of users, as the object of `createAuth()` lists and ends them. */
export interface SessionsActions {
  /**
   * The sessions of the signed-in user: on which devices, since when, last used when. That of the request is first.
   * Needs an adapter with `listSessionsByUserId()` (`withSessionList()`), or `revocable` for sessions in a JWT.
   * @param request The request, in any hook or handler.
   * @throws {FastifyAuthError} `FST_AUTHJS_UNAUTHENTICATED` (401) if there is no session; `FST_AUTHJS_ADAPTER_INVALID`
   * if the adapter cannot list sessions; `FST_AUTHJS_UNAVAILABLE` (503).
   */
  readonly listSessions: (request: SessionRequest) => Promise<UserSession[]>;
  /**
   * Ends a session, wherever it is used.
   * @param id An `id` of `listSessions()`. It is not checked whose session that is.
   * @returns Whether there was such a session.
   * @throws {FastifyAuthError} As `listSessions()` does, but not for a session that is missing.
   */
  readonly revokeSession: (id: string) => Promise<boolean>;
  /**
   * Ends all sessions of a user, such as after a new password.
   * @throws {FastifyAuthError} As `revokeSession()` does; `FST_AUTHJS_CONFIG_INVALID` for an empty `userId`, or an
   * `except` of another user.
   */
  readonly revokeSessions: (userId: string, options?: RevokeSessionsOptions) => Promise<void>;
}
