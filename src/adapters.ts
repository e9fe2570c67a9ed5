/**
 * What an adapter lacks for some features: how to list the accounts and the sessions of a user, and how to update the
 * tokens of an account.
 *
 * Installed with `npm install fastify-authjs fastify`, or with
 * `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify`.
 *
 * @example
 * ```ts
 * import { withSessionList } from "fastify-authjs/adapters";
 *
 * const rows = [{ sessionToken: "token", userId: "ada", expires: new Date() }];
 * const adapter = withSessionList({}, (userId) => rows.filter((row) => row.userId === userId));
 * console.assert((await adapter.listSessionsByUserId("ada")).length === 1);
 * ```
 * @module
 */
export type {
  AccountListAdapter,
  AccountTokens,
  AccountUpdateAdapter,
  ListedAccount,
} from "./adapter/added_methods.ts";
export type { ListedSession, PasskeyAdapter, SessionListAdapter } from "./adapter/added_methods.ts";
export { withAccountList, withAccountUpdate, withSessionList } from "./adapter/added_methods.ts";
