/** What is known of a session token, and what a read makes of it. */
import type { JWT } from "@auth/core/jwt";
import type { TokenLife } from "../config/lifetime.ts";
import type { Opened } from "../jwt/jwe.ts";

/** What is remembered of a token that was opened. */
export interface KnownToken extends Opened, TokenLife {
  readonly token: string;
}

/** What a read makes of a token, for all requests that carry it at the same time. */
export interface JwtRead {
  /** What the `jwt` callback made of the claims; null ends the session. */
  readonly token: JWT | null;
  /** What the `session` callback returned. */
  readonly session: unknown;
  /** When the session ends if it is not read again, as it says so. */
  readonly expires: string;
  /** The new token for the browser, if it differs from the one that came. */
  readonly sealed?: string;
  /** Why the claims could not be sealed. */
  readonly error?: Error;
  /** If a refresh failed: requests that carry the token may have asked for another. */
  readonly refreshFailure?: RefreshFailure | undefined;
  /** How often the session has ended, if this read ended it. */
  readonly endings?: number;
}

/** Why claims could not be refreshed. */
export interface RefreshFailure {
  readonly what: string;
  readonly cause: unknown;
}
