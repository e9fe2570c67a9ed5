/** Access tokens of providers, which are kept for `auth.getAccessToken()` and refreshed by it. */
import type { ListedAccount, TokenAdapter } from "../../adapter/added_methods.ts";
import { strategyOf } from "../../config/adapter_problem.ts";
import { BOOLEAN } from "../../config/rules.ts";
import type { JWT } from "../../types.ts";
import type { Feature, SessionSignIn, SignInParams } from "../feature.ts";

export interface ProviderTokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  /** The id of the account that the refresh token is of. */
  readonly account?: string;
  /** When the access token expires, in seconds since 1970; absent if the provider does not say. */
  readonly expires_at?: number;
}

/** The claim of the session token, which is encrypted. A session never has it. */
const TOKENS_CLAIM = "providerTokens";

export const accessTokens: Feature = {
  rules: { refreshTokens: BOOLEAN },
  problems: [
    ["FST_AUTHJS_ADAPTER_INVALID", ({ core }) => strategyOf(core) === "database" && lackingTokenMethods(core.adapter)],
  ],
  configure: () => ({
    refreshes: true,
    hiddenClaims: [TOKENS_CLAIM],
    onSignIn: keepTokens,
    onRow: ({ params, adapter }) => updateRow(params, adapter as TokenAdapter),
  }),
};

/** How the methods are added that write the tokens of providers to the rows of accounts. */
const TOKEN_METHODS = {
  listAccountsByUserId: "`withAccountList(adapter, query)`",
  updateAccount: "`withAccountUpdate(adapter, update)`",
};

function lackingTokenMethods(adapter: object = {}): string | undefined {
  const missing = Object.entries(TOKEN_METHODS).filter(([method]) => !(method in adapter));
  if (missing.length === 0) return undefined;
  const methods = missing.map(([method]) => `\`${method}()\``).join(" and no ");
  return "`refreshTokens` with sessions in a database keeps the tokens in the rows of accounts, and the adapter has " +
    `no ${methods}. Add ${missing.map(([, helper]) => helper).join(" and ")}, or set \`session: { strategy: "jwt" }\`.`;
}

/** Writes the tokens of a sign-in to the row of its account: core does so only when it links the account. */
async function updateRow({ account, user }: SignInParams, adapter: TokenAdapter): Promise<[]> {
  if (!account?.access_token) return [];
  const { provider, providerAccountId, access_token, refresh_token, expires_at } = account;
  const isRow = (row: ListedAccount) => row.provider === provider && row.providerAccountId === providerAccountId;
  // Some providers issue a refresh token only with the first sign-in.
  const kept = refresh_token ?? (await adapter.listAccountsByUserId(user.id!)).find(isRow)?.refresh_token;
  const tokens = { access_token, refresh_token: kept ?? null, expires_at: expires_at ?? null };
  await adapter.updateAccount({ provider, providerAccountId, ...tokens });
  return [];
}

/**
 * The claims of a sign-in with the tokens of its account. If the same user signs in, those of other providers stay, and
 * so does its refresh token: some providers issue one only with the first sign-in. Passwords and passkeys bring none.
 */
function keepTokens(claims: JWT, { params: { account }, held }: SessionSignIn): JWT {
  // The application may leave `sub` out, or empty: then it is not known whose session it was.
  const kept: JWT = held?.sub && held.sub === claims.sub ? held : {};
  if (!account?.access_token) return TOKENS_CLAIM in kept ? { ...claims, [TOKENS_CLAIM]: allOf(kept) } : claims;
  const { access_token, expires_at, provider, providerAccountId } = account;
  const earlier = tokensOf(kept, provider);
  const refresh_token = account.refresh_token ??
    (earlier?.account === providerAccountId ? earlier.refresh_token : undefined);
  return withTokens({ ...claims, [TOKENS_CLAIM]: allOf(kept) }, provider, {
    access_token,
    ...(refresh_token !== undefined && { refresh_token, account: providerAccountId }),
    ...(expires_at !== undefined && { expires_at }),
  });
}

export function tokensOf(claims: JWT, provider: string): ProviderTokens | undefined {
  const all = allOf(claims);
  return Object.hasOwn(all, provider) ? all[provider] : undefined;
}

export function withTokens(claims: JWT, provider: string, tokens: ProviderTokens): JWT {
  return { ...claims, [TOKENS_CLAIM]: { ...allOf(claims), [provider]: tokens } };
}

function allOf(claims: JWT): Readonly<Record<string, ProviderTokens>> {
  return (claims[TOKENS_CLAIM] ?? {}) as Record<string, ProviderTokens>;
}
