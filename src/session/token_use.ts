/**
 * What a session token is for: a browser's cookie, or `Authorization: Bearer`. It says so itself, and is
 * refused elsewhere: in a claim, or in a row by the token of the row.
 */
import type { Adapter } from "@auth/core/adapters";

/** The value of the claim `token_use` in a bearer token. Other tokens have none of ours. */
export const BEARER = "bearer";

/** What the tokens of rows for bearer tokens have, before what else the end of a token says. */
export const BEARER_TAG = ".bearer";

/** Whether the token of a row is for the use. */
export function isRowFor(sessionToken: string, isBearer: boolean): boolean {
  return /\.bearer(?=\.|$)/.test(sessionToken) === isBearer;
}

/**
 * The adapter, which finds and ends the rows of one use only. Some databases find a row also by another
 * spelling of its token, so that of the row decides.
 */
export function rowsForUse(adapter: Adapter, isBearer: boolean): Adapter {
  return {
    ...adapter,
    async getSessionAndUser(token) {
      const found = await adapter.getSessionAndUser!(token);
      return isRowFor(found?.session.sessionToken ?? token, isBearer) ? found : null;
    },
    deleteSession: (token) =>
      isRowFor(token, isBearer) ? adapter.deleteSession!(token) : Promise.resolve(null),
  };
}
