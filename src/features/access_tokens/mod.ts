/** Access tokens of providers, which are kept for `auth.getAccessToken()` and refreshed by it. */
import { strategyOf } from "../../config/adapter_problem.ts";
import { BOOLEAN } from "../../config/rules.ts";
import type { Feature } from "../../instance/feature.ts";
import type { ListedAccount, TokenAdapter } from "../../adapter/added_methods.ts";
import type { SignInParams } from "../../session/hooks.ts";
import { keepTokens, TOKENS_CLAIM } from "./provider_tokens.ts";

export const accessTokens: Feature = {
  rules: { refreshTokens: BOOLEAN },
  problems: [
    [
      "FST_AUTHJS_ADAPTER_INVALID",
      ({ core }) => strategyOf(core) === "database" && lackingTokenMethods(core.adapter),
    ],
  ],
  configure({ core }) {
    if (strategyOf(core) === "jwt") {
      return { refreshes: true, hiddenClaims: [TOKENS_CLAIM], onSignIn: keepTokens };
    }
    return {
      refreshes: true,
      async onRow(signIn) {
        await updateRow(signIn.params, signIn.adapter as TokenAdapter);
        return [];
      },
    };
  },
};

/** How the methods are added that write the tokens of providers to the rows of accounts. */
const TOKEN_METHODS = {
  listAccountsByUserId: "withAccountList(adapter, query)",
  updateAccount: "withAccountUpdate(adapter, update)",
};

function lackingTokenMethods(adapter: object = {}): string | undefined {
  const missing = Object.entries(TOKEN_METHODS).filter(([method]) => !(method in adapter));
  if (missing.length === 0) return undefined;
  return "`refreshTokens` with sessions in a database keeps the tokens in the rows of accounts, and the adapter has " +
    `no ${missing.map(([method]) => `\`${method}()\``).join(" and no ")}. Add ${
      missing.map(([, helper]) => `\`${helper}\``).join(" and ")
    }, or set \`session: { strategy: "jwt" }\`.`;
}

/** Writes the tokens of a sign-in to the row of its account: core does so only when it links the account. */
async function updateRow({ account, user }: SignInParams, adapter: TokenAdapter): Promise<void> {
  if (!account?.access_token) return;
  const { provider, providerAccountId, access_token, refresh_token, expires_at } = account;
  const isRow = (row: ListedAccount) => row.provider === provider && row.providerAccountId === providerAccountId;
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
