/** Methods for features of this package, which no adapter of Auth.js has by itself, and what is read with them. */
import type { Adapter, AdapterAuthenticator, AdapterSession } from "@auth/core/adapters";
import type { Awaitable } from "@auth/core/types";
import { FastifyAuthError } from "../errors.ts";
import { withMethods } from "./bind.ts";

/** The row of an account. */
export interface ListedAccount {
  /** Id of the provider, such as `"github"`; with `providerAccountId` the key of the row. */
  readonly provider: string;
  /** Id of the user at the provider. */
  readonly providerAccountId: string;
  /** Kind of the provider: `"oauth"`, `"oidc"`, `"webauthn"`. */
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
 * Adds the query that `listAccounts()`, `unlinkAccount()` and, with sessions in a database, `getAccessToken()` need.
 * @param adapter An adapter of Auth.js; it is not changed.
 * @param list Finds the rows whose `userId` is the given one, with all of their columns.
 * @returns The value for `adapter`.
 *
 * @example
 * ```ts
 * import { withAccountList } from "fastify-authjs/adapters";
 *
 * const adapter = withAccountList({}, async (userId) => { // instead of {}, such as DrizzleAdapter(db)
 *   // With Drizzle: return await db.select().from(accounts).where(eq(accounts.userId, userId));
 *   return [{ provider: "github", providerAccountId: "42", type: "oauth", userId }];
 * });
 * console.assert((await adapter.listAccountsByUserId("1"))[0]?.userId === "1");
 * ```
 */
export function withAccountList<A extends Adapter>(
  adapter: A,
  list: AccountListAdapter["listAccountsByUserId"],
): A & AccountListAdapter {
  return withMethods(adapter, { listAccountsByUserId: list });
}

/** The tokens of an account, as they are written to its row. */
export interface AccountTokens extends Pick<ListedAccount, "provider" | "providerAccountId"> {
  /** The access token. */
  readonly access_token: string;
  /** The refresh token, or null if there is none. */
  readonly refresh_token: string | null;
  /** When the access token expires, in seconds since 1970, or null if the provider does not say. */
  readonly expires_at: number | null;
}

/** An adapter that updates the tokens of an account. */
export interface AccountUpdateAdapter extends Adapter {
  /** Writes the three tokens to the row with this `provider` and `providerAccountId`. Its result is not used. */
  updateAccount(account: AccountTokens): unknown;
}

/** An adapter with the methods by which the rows of accounts keep tokens. */
export type TokenAdapter = Adapter & AccountListAdapter & AccountUpdateAdapter;

/**
 * Adds the update to an adapter of {@linkcode withAccountList} by which `refreshTokens` keeps the tokens of providers
 * in the rows of accounts, if sessions are in a database.
 * @param adapter An adapter of Auth.js; it is not changed.
 * @param update Sets `access_token`, `refresh_token` and `expires_at` of the row with this `provider` and
 * `providerAccountId`.
 * @returns The value for `adapter`.
 *
 * @example
 * ```ts
 * import { withAccountUpdate } from "fastify-authjs/adapters";
 *
 * const adapter = withAccountUpdate({}, async ({ provider, providerAccountId, ...tokens }) => {
 *   // With Drizzle: await db.update(accounts).set(tokens).where(and(
 *   //   eq(accounts.provider, provider), eq(accounts.providerAccountId, providerAccountId)));
 *   console.assert(provider === "google" && providerAccountId === "42" && tokens.expires_at === null);
 * });
 * const account = { provider: "google", providerAccountId: "42" };
 * await adapter.updateAccount({ ...account, access_token: "a", refresh_token: "r", expires_at: null });
 * ```
 */
export function withAccountUpdate<A extends Adapter>(
  adapter: A,
  update: AccountUpdateAdapter["updateAccount"],
): A & AccountUpdateAdapter {
  return withMethods(adapter, { updateAccount: update });
}

/** The row of a session, with what else the table may have. */
export interface ListedSession extends AdapterSession {
  /** When the user signed in. */
  readonly createdAt?: Date | null;
  /** When the session was last used. */
  readonly lastSeenAt?: Date | null;
  /** The `User-Agent` header of the browser. */
  readonly userAgent?: string | null;
}

/** An adapter that lists the sessions of a user. */
export interface SessionListAdapter extends Adapter {
  /** The rows of the sessions that belong to the user with this id, in any order. */
  listSessionsByUserId(userId: string): Awaitable<ListedSession[]>;
}

/**
 * Adds the query to an adapter that `listSessions()` and `revokeSessions()` need.
 * @param adapter An adapter of Auth.js; it is not changed.
 * @param list Finds the rows whose `userId` is the given one. They need `sessionToken`, `userId` and `expires`;
 * `createdAt`, `lastSeenAt` and `userAgent` are taken from tables that have them.
 * @returns The value for `adapter`.
 *
 * @example
 * ```ts
 * import { withSessionList } from "fastify-authjs/adapters";
 *
 * const adapter = withSessionList({}, async (userId) => { // instead of {}, such as DrizzleAdapter(db)
 *   // With Drizzle: return await db.select().from(sessions).where(eq(sessions.userId, userId));
 *   return [{ sessionToken: "token", userId, expires: new Date() }];
 * });
 * console.assert((await adapter.listSessionsByUserId("1"))[0]?.userId === "1");
 * ```
 */
export function withSessionList<A extends Adapter>(
  adapter: A,
  list: SessionListAdapter["listSessionsByUserId"],
): A & SessionListAdapter {
  return withMethods(adapter, { listSessionsByUserId: list });
}

/** The rows of a user's sessions that have not expired. */
export async function liveRows(user: string, adapter: Adapter | undefined): Promise<ListedSession[]> {
  const invalid = (problem: string) => new FastifyAuthError("FST_AUTHJS_ADAPTER_INVALID", `The adapter${problem}`);
  const { listSessionsByUserId: list } = adapter as Partial<SessionListAdapter>;
  if (list === undefined) {
    throw invalid(
      " has no listSessionsByUserId(), without which the sessions of a user are not found. Add it with " +
        "`withSessionList(adapter, (userId) => …)`.",
    );
  }
  const rows: (Partial<ListedSession> | null)[] = await list(user);
  const isRow = (row: Partial<ListedSession> | null) =>
    typeof row?.sessionToken === "string" && row.userId != null && row.expires !== undefined;
  if (!Array.isArray(rows) || !rows.every(isRow)) {
    throw invalid(
      "'s listSessionsByUserId() must return an array of rows with `sessionToken`, `userId` and `expires`.",
    );
  }
  // A query that forgets its condition would show and end the sessions of all users.
  if (rows.some((row) => String(row!.userId) !== user)) {
    throw invalid("'s listSessionsByUserId() returned sessions of another user: its query must compare `userId`.");
  }
  return (rows as ListedSession[]).filter(({ expires }) => expires.valueOf() > Date.now());
}

/** An adapter that names and deletes passkeys, which no adapter of Auth.js does by itself. Both are optional. */
export interface PasskeyAdapter extends Adapter {
  /** Writes the column `name` of an authenticator, which `listAuthenticatorsByUserId()` returns; or `null`. */
  updateAuthenticator?(
    authenticator: Pick<AdapterAuthenticator, "credentialID"> & { name: string | null },
  ): Awaitable<unknown>;
  /** Deletes the row of an authenticator. */
  deleteAuthenticator?(credentialID: string): Awaitable<unknown>;
}

/** The passkeys that a user can sign in with. One whose account is unlinked is none, though its row may stay. */
export async function findPasskeys(adapter: Adapter, userId: string, providers: readonly string[]) {
  const listed = await adapter.listAuthenticatorsByUserId!(userId);
  // Core takes nothing for none.
  const rows: readonly (AdapterAuthenticator & { name?: string | null })[] = listed ?? [];
  const found = await Promise.all(rows.map(async (row) => {
    for (const provider of providers) {
      const account = await adapter.getAccount!(row.providerAccountId, provider);
      if (account !== null && String(account.userId) === String(userId)) return { provider, row };
    }
  }));
  return found.filter((each) => each !== undefined);
}
