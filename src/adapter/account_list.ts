/** The accounts of a user in a database, which no adapter of Auth.js lists by itself. */
import type { Adapter } from "@auth/core/adapters";
import type { Awaitable } from "@auth/core/types";
import { withMethods } from "./bind.ts";

/** The row of an account, with all of its columns. */
export interface ListedAccount {
  /** Id of the provider. */
  readonly provider: string;
  /** Id of the user at the provider. */
  readonly providerAccountId: string;
  /** Kind of the provider. */
  readonly type: string;
  /** Id of the user that the account belongs to. */
  readonly userId: string | number;
  /** The access token of the provider. */
  readonly access_token?: string | null;
  /** The refresh token of the provider. */
  readonly refresh_token?: string | null;
  /** When the access token expires, in seconds since 1970; some drivers return a bigint column as text. */
  readonly expires_at?: number | bigint | string | null;
}

/** An adapter that lists the accounts of a user. */
export interface AccountListAdapter extends Adapter {
  /** The rows of the accounts that belong to the user with this id, in any order. */
  listAccountsByUserId(userId: string): Awaitable<readonly ListedAccount[]>;
}

/**
 * Adds the method to an adapter that `listAccounts()`, `unlinkAccount()` and, with sessions in a database,
 * `getAccessToken()` need: a query for the accounts of a user.
 *
 * @param adapter An adapter of Auth.js; it is not changed.
 * @param list Finds the rows whose `userId` is the given one, with all of their columns.
 * @returns The value for `adapter`.
 *
 * @example
 * ```ts
 * import type { Adapter } from "@auth/core/adapters";
 * import { withAccountList } from "fastify-authjs/adapters";
 *
 * const adapter: Adapter = {}; // such as DrizzleAdapter(db)
 * const listing = withAccountList(adapter, async (userId) => {
 *   // With Drizzle: return await db.select().from(accounts).where(eq(accounts.userId, userId));
 *   return [{ provider: "github", providerAccountId: "42", type: "oauth", userId }];
 * });
 * const [account] = await listing.listAccountsByUserId("1");
 * console.assert(account?.userId === "1");
 * ```
 */
export function withAccountList<A extends Adapter>(
  adapter: A,
  list: AccountListAdapter["listAccountsByUserId"],
): A & AccountListAdapter {
  return withMethods(adapter, { listAccountsByUserId: list });
}
