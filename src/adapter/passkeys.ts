/** The passkeys of a user in a database. */
import type { Adapter, AdapterAuthenticator } from "@auth/core/adapters";
import type { Awaitable } from "@auth/core/types";

/** An adapter that names and deletes passkeys, which no adapter of Auth.js does by itself. Both are optional. */
export interface PasskeyAdapter extends Adapter {
  /** Writes the column `name` of an authenticator, which `listAuthenticatorsByUserId()` returns; or `null`. */
  updateAuthenticator?(
    authenticator: Pick<AdapterAuthenticator, "credentialID"> & { name: string | null },
  ): Awaitable<unknown>;
  /** Deletes the row of an authenticator. */
  deleteAuthenticator?(credentialID: string): Awaitable<unknown>;
}

/** The row of a passkey, with a name if the database has one. */
export interface PasskeyRow extends AdapterAuthenticator {
  readonly name?: string | null;
}

/**
 * The passkeys that a user can sign in with, each with its provider. One whose account is unlinked is none, though its
 * row may stay.
 *
 * @param providers The ids of the providers for passkeys.
 */
export async function findPasskeys(
  adapter: Adapter,
  userId: string,
  providers: readonly string[],
): Promise<{ readonly provider: string; readonly row: PasskeyRow }[]> {
  const rows = await adapter.listAuthenticatorsByUserId!(userId);
  const found = await Promise.all(rows.map(async (row) => {
    for (const provider of providers) {
      const account = await adapter.getAccount!(row.providerAccountId, provider);
      if (account !== null && String(account.userId) === String(userId)) return { provider, row };
    }
  }));
  return found.filter((each) => each !== undefined);
}
