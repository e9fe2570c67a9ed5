/** The tokens of OAuth providers (`refreshTokens`): what is kept of them, and where. */
import type { JWT } from "@auth/core/jwt";
import type { ActionAuth } from "../../actions/perform.ts";
import type { SessionSignIn } from "../../session/hooks.ts";

/** What is kept of a provider's token response. */
export interface ProviderTokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  /** The id of the account that the refresh token is of. */
  readonly account?: string;
  /** When the access token expires, in seconds since 1970; absent if the provider does not say. */
  readonly expires_at?: number;
}

/** The claim of the session token, which is encrypted. A session never has it. */
export const TOKENS_CLAIM = "providerTokens";

/** How long before it expires an access token is refreshed, in milliseconds: it is still to be sent. */
export const EARLY_MS = 30_000;

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

/** Whether an access token expires within `early` milliseconds. */
export function isExpired({ expires_at }: ProviderTokens, early: number): boolean {
  return expires_at !== undefined && expires_at * 1000 - early <= Date.now();
}

/**
 * The claims of a sign-in with the tokens of its account. If the same user signs in, those of other providers
 * stay, and so does its refresh token: some providers issue one only with the first sign-in.
 */
export function keepTokens(claims: JWT, { params: { account }, held }: SessionSignIn): JWT {
  if (!account?.access_token) return claims;
  const { access_token, expires_at, provider, providerAccountId } = account;
  const kept = held !== undefined && held.sub === claims.sub ? held : {};
  const earlier = tokensOf(kept, provider);
  const refresh_token = account.refresh_token ??
    (earlier?.account === providerAccountId ? earlier.refresh_token : undefined);
  return withTokens({ ...claims, [TOKENS_CLAIM]: allOf(kept) }, provider, {
    access_token,
    ...(refresh_token !== undefined && { refresh_token, account: providerAccountId }),
    ...(expires_at !== undefined && { expires_at }),
  });
}

/** The tokens of a provider that the signed-in user of a request has. */
export interface TokenPlace {
  /** What is there now; `undefined` if there is nothing. Without a refresh token it cannot be refreshed. */
  read(): Promise<ProviderTokens | undefined>;
  /** Refreshes what was read last, unless that was done meanwhile. */
  refresh(): Promise<void>;
}

interface Memory {
  readonly underWay: Map<string, Promise<void>>;
  /** Refreshed tokens that could not be written: those in the row of the account are spent. */
  readonly unwritten: Map<string, ProviderTokens>;
}

/** What this process remembers, also for the next configuration of a tenant. */
export function memoryOf({ instance: { memory } }: ActionAuth): Memory {
  const known = memory.get("access_tokens") as Memory | undefined;
  const own = known ?? { underWay: new Map(), unwritten: new Map() };
  if (known === undefined) memory.set("access_tokens", own);
  return own;
}

/** Does work once for all who ask for it at the same time. */
export async function onceAtATime(auth: ActionAuth, key: string, work: () => Promise<void>): Promise<void> {
  const { underWay } = memoryOf(auth);
  const working = underWay.get(key) ?? work().finally(() => underWay.delete(key));
  underWay.set(key, working);
  await working;
}
