/**
 * The records of the contract: the session, its user, and the account of a provider.
 *
 * `Session`, `DefaultSession`, `User` and `Profile` are core's own, so that an application's
 * `declare module "@auth/core/types"` reaches them.
 */
import type { JWT } from "@auth/core/jwt";
import type { DefaultSession, Profile, Session, User } from "@auth/core/types";
import type { ProviderType, TokenSet } from "../provider/types.ts";

export type { DefaultSession, JWT, Profile, Session, User };

/**
 * Links a user to a provider. It may have the fields of an OAuth provider's token set: `access_token`,
 * `refresh_token`, `id_token`, `scope`, `token_type`, `expires_in`, `authorization_details`.
 *
 * An account of core is assignable to it.
 */
export interface Account extends TokenSet {
  /** Id of the provider, such as `"github"`. */
  provider: string;
  /**
   * Id of the user at the provider: what `profile()` returned as `id` for OAuth and OpenID Connect, the
   * address for e-mail, what `authorize()` returned as `id` for credentials.
   */
  providerAccountId: string;
  /** Kind of the provider. */
  type: ProviderType;
  /** Id of the user this account belongs to. */
  userId?: string;
  /** When `access_token` expires, in seconds since 1970; core calculates it from `expires_in`. */
  expires_at?: number;
}

/** What `getSession()` returns: the session of the request, or null if there is none. */
export type GetSessionResult = Promise<Session | null>;
