/** The tokens of a sign-in, written to the row of its account. */
import type { ListedAccount, TokenAdapter } from "../../adapter/added_methods.ts";
import type { SignInParams } from "../../session/hooks.ts";

/** Writes the tokens of a sign-in to the row of its account: core does so only when it links the account. */
export async function updateRow(
  { account, user }: SignInParams,
  adapter: Pick<TokenAdapter, "listAccountsByUserId" | "updateAccount">,
): Promise<void> {
  if (!account?.access_token) return;
  const { provider, providerAccountId, access_token, refresh_token, expires_at } = account;
  const isRow = (row: ListedAccount) =>
    row.provider === provider && row.providerAccountId === providerAccountId;
  // Some providers issue a refresh token only with the first sign-in.
  const kept = refresh_token ?? (await adapter.listAccountsByUserId(user.id!)).find(isRow)?.refresh_token;
  await adapter.updateAccount({
    provider,
    providerAccountId,
    access_token,
    refresh_token: kept ?? null,
    expires_at: expires_at ?? null,
  });
}
