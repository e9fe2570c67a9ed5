/** The tokens of providers in the rows of accounts (`refreshTokens` with sessions in a database). */
import type { Adapter } from "@auth/core/adapters";
import type { AccountListAdapter } from "./account_list.ts";
import { withMethods } from "./bind.ts";

/** The tokens of an account, as they are written to its row. */
export interface AccountTokens {
  /** Id of the provider; with `providerAccountId` the key of the row. */
  readonly provider: string;
  /** Id of the user at the provider. */
  readonly providerAccountId: string;
  /** The access token. */
  readonly access_token: string;
  /** The refresh token, or null if there is none. */
  readonly refresh_token: string | null;
  /** When the access token expires, in seconds since 1970, or null if the provider does not say. */
  readonly expires_at: number | null;
}

/** An adapter that updates the tokens of an account. */
export interface AccountUpdateAdapter extends Adapter {
  /**
   * Writes the three tokens to the row with this `provider` and `providerAccountId`. Its result is not used.
   */
  updateAccount(account: AccountTokens): unknown;
}

/**
 * Adds the method to an adapter by which `refreshTokens` keeps the tokens of providers in the rows of
 * accounts, if sessions are in a database: an update of one row. It is for an adapter of
 * {@linkcode withAccountList}, by which the row is read.
 *
 * @param adapter An adapter of Auth.js; it is not changed.
 * @param update Sets `access_token`, `refresh_token` and `expires_at` of the row with this `provider` and
 * `providerAccountId`.
 * @returns The value for `adapter`.
 *
 * @example
 * ```ts
 * import type { Adapter } from "@auth/core/adapters";
 * import { withAccountUpdate } from "fastify-authjs/adapters";
 *
 * const adapter: Adapter = {}; // such as DrizzleAdapter(db)
 * const updating = withAccountUpdate(adapter, async ({ provider, providerAccountId, ...tokens }) => {
 *   // With Drizzle: await db.update(accounts).set(tokens).where(and(
 *   //   eq(accounts.provider, provider), eq(accounts.providerAccountId, providerAccountId)));
 *   console.assert(provider === "google" && providerAccountId === "42" && tokens.expires_at === null);
 * });
 * const account = { provider: "google", providerAccountId: "42" };
 * await updating.updateAccount({ ...account, access_token: "a", refresh_token: "r", expires_at: null });
 * ```
 */
export function withAccountUpdate<A extends Adapter>(
  adapter: A,
  update: AccountUpdateAdapter["updateAccount"],
): A & AccountUpdateAdapter {
  return withMethods(adapter, { updateAccount: update });
}

/** An adapter with the methods by which the rows of accounts keep tokens. */
export type TokenAdapter = Adapter & AccountListAdapter & AccountUpdateAdapter;
