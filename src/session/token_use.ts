/**
 * What a session token comes in. It says so itself, and is refused elsewhere: in a claim, or in a row by the token of
 * the row.
 */
import type { Adapter } from "@auth/core/adapters";
import type { JWT } from "@auth/core/jwt";

/** The cookie of a browser, or the `Authorization` header of another client. */
export type TokenUse = "cookie" | "header";

/** What a token for a header has: the claim, or in the token of a row an end, before what else the end says. */
export const HEADER_CLAIM = { token_use: "bearer" }, HEADER_TAG = ".bearer";

/** Whether the claims of a token are for the use. */
export function areFor({ token_use }: JWT, use: TokenUse): boolean {
  return (token_use === HEADER_CLAIM.token_use) === (use === "header");
}

/** Whether the token of a row is for the use. */
export function isRowFor(sessionToken: string, use: TokenUse): boolean {
  return /\.bearer(?=\.|$)/.test(sessionToken) === (use === "header");
}

/**
 * The adapter, which finds and ends the rows of one use only. Some databases find a row also by another
 * spelling of its token, so that of the row decides.
 */
export function rowsForUse(adapter: Adapter, use: TokenUse): Adapter {
  return {
    ...adapter,
    async getSessionAndUser(token) {
      const found = await adapter.getSessionAndUser!(token);
      return isRowFor(found?.session.sessionToken ?? token, use) ? found : null;
    },
    deleteSession: (token) => isRowFor(token, use) ? adapter.deleteSession!(token) : Promise.resolve(null),
  };
}
