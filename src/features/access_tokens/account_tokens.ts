/** The access tokens of providers if sessions are in a database: in the rows of accounts. */
import type { LoggerInstance } from "@auth/core/types";
import type { ActionAuth } from "../../actions/perform.ts";
import { fromAdapter, rowsOf } from "../../actions/account_rows.ts";
import type { AccountTokens, AccountUpdateAdapter } from "../../adapter/added_methods.ts";
import { toCoreLogger } from "../../core/logger.ts";
import { presentedToken, readSession } from "../../instance/read_session.ts";
import { isRefused, refreshTokens } from "./refresh_tokens.ts";
import { ownerOf } from "../../session/open.ts";
import { EARLY_MS, isExpired, type ProviderTokens } from "./provider_tokens.ts";
import { inTurn, refreshedElsewhere } from "../../session/in_turn.ts";
import { ATTEMPTS, expired, oauthProvider, toError, whileValid } from "./token_refresh.ts";
import type { SessionRequest } from "../../types.ts";

/** A row with tokens. */
interface TokenRow {
  readonly provider: string;
  readonly providerAccountId: string;
  readonly tokens: ProviderTokens;
}

/** What this process remembers of accounts. */
interface Memory {
  /** The refreshes under way. */
  readonly underWay: Map<string, Promise<void>>;
  /** Refreshed tokens that could not be written: those in the row of the account are spent. */
  readonly unwritten: Map<string, ProviderTokens>;
}

function memoryOf({ instance: { memory } }: ActionAuth): Memory {
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

/** A valid access token of an account of the signed-in user, or null if there is none. */
export async function accessTokenOfAccount(
  auth: ActionAuth,
  request: SessionRequest,
  id: string,
): Promise<string | null> {
  // Before anything is read: whether there is such a provider does not depend on the user.
  oauthProvider(id, auth.instance.config);
  const userId = await signedInId(auth, request);
  if (userId === undefined) return null;
  let account: string | undefined;
  for (let attempt = 0;; attempt++) {
    const row = await findRow(auth, userId, id, account);
    if (row === undefined) return null;
    const { tokens } = row;
    account = row.providerAccountId;
    const canRefresh = tokens.refresh_token !== undefined && attempt < ATTEMPTS;
    // A provider may issue tokens that expire sooner than they would be refreshed.
    if (!isExpired(tokens, canRefresh && attempt === 0 ? EARLY_MS : 0)) return tokens.access_token;
    if (!canRefresh) throw expired(id);
    try {
      await refreshRow(auth, request, userId, row);
    } catch (failure) {
      return whileValid(tokens, toError(failure, id));
    }
  }
}

/** The id of the signed-in user. */
async function signedInId({ config }: ActionAuth, request: SessionRequest): Promise<string | undefined> {
  const { session, failure } = await readSession(request, config);
  if (failure !== undefined) throw failure;
  if (session === null) return undefined;
  const { cookie, settings } = presentedToken(request, config)!;
  return await fromAdapter(ownerOf(cookie.token, settings));
}

/**
 * The account of a provider. Of several, the one whose access token expires last: it was used for the latest
 * sign-in.
 *
 * @param account The id of one of them.
 */
async function findRow(
  auth: ActionAuth,
  userId: string,
  id: string,
  account: string | undefined,
): Promise<TokenRow | undefined> {
  let latest: TokenRow | undefined;
  for (const row of await rowsOf({ id: userId }, auth, "getAccessToken()")) {
    const { provider, providerAccountId, access_token, refresh_token, expires_at } = row;
    if (provider !== id || !access_token || (account ?? providerAccountId) !== providerAccountId) continue;
    const tokens: ProviderTokens = {
      access_token,
      ...(refresh_token && { refresh_token }),
      ...(expires_at !== null && expires_at !== undefined && { expires_at: Number(expires_at) }),
    };
    const found = { provider, providerAccountId, tokens };
    if (latest === undefined || endOf(found) > endOf(latest)) latest = found;
  }
  return latest;
}

function endOf({ tokens: { expires_at = Infinity } }: TokenRow): number {
  return expires_at;
}

/** Refreshes the tokens of a row once, however many requests and, with a `store`, processes ask. */
async function refreshRow(
  auth: ActionAuth,
  request: SessionRequest,
  userId: string,
  row: TokenRow,
): Promise<void> {
  await onceAtATime(auth, keyOf(row), () => refreshInTurn(auth, request, userId, row));
}

async function refreshInTurn(
  auth: ActionAuth,
  request: SessionRequest,
  userId: string,
  row: TokenRow,
): Promise<void> {
  const { core } = auth.instance.config;
  // Those for http have the same store.
  const settings = auth.instance.settings(true);
  const logger = toCoreLogger(request.log, core.logger, core.debug);
  // The row itself has the result for the processes that wait.
  const turn = await inTurn({ settings, logger }, row.tokens.refresh_token!, async () => {
    await exchange(auth, userId, row, logger);
    return {};
  });
  if (turn === undefined) throw refreshedElsewhere();
}

function keyOf({ provider, providerAccountId }: TokenRow): string {
  return JSON.stringify([provider, providerAccountId]);
}

/**
 * Exchanges the refresh token, unless another process has done so since the row was read, or this one has and
 * could not write the result.
 */
async function exchange(
  auth: ActionAuth,
  userId: string,
  row: TokenRow,
  logger: Pick<LoggerInstance, "error">,
): Promise<void> {
  const { unwritten } = memoryOf(auth);
  const { provider, tokens } = row;
  if (await hasChanged(auth, userId, row)) {
    unwritten.delete(keyOf(row));
    return;
  }
  const left = unwritten.get(keyOf(row));
  if (left !== undefined) return await write(row, left, auth, logger);
  const refresh_token = tokens.refresh_token!;
  let refreshed: ProviderTokens;
  try {
    refreshed = await refreshTokens(oauthProvider(provider, auth.instance.config), refresh_token);
  } catch (failure) {
    // Without a lock, another process may have been faster.
    if (isRefused(failure) && await hasChanged(auth, userId, row)) return;
    throw failure;
  }
  await write(row, { refresh_token, ...refreshed }, auth, logger);
}

/**
 * Writes refreshed tokens to the row of their account. They are kept until that succeeds: the ones before are
 * spent.
 */
async function write(
  row: TokenRow,
  tokens: ProviderTokens,
  auth: ActionAuth,
  logger: Pick<LoggerInstance, "error">,
): Promise<void> {
  const { provider, providerAccountId } = row;
  const { unwritten } = memoryOf(auth);
  const { adapter } = auth.instance.config.core;
  const { access_token, refresh_token = null, expires_at = null } = tokens;
  const account: AccountTokens = { provider, providerAccountId, access_token, refresh_token, expires_at };
  unwritten.set(keyOf(row), tokens);
  try {
    await fromAdapter((adapter as AccountUpdateAdapter).updateAccount(account));
  } catch (cause) {
    const problem =
      `The refreshed tokens of "${provider}" could not be written to the row of their account. ` +
      "This process keeps them, and writes them with the next getAccessToken() of the user.";
    logger.error(new Error(problem, { cause }));
    throw cause;
  }
  unwritten.delete(keyOf(row));
}

async function hasChanged(auth: ActionAuth, userId: string, row: TokenRow): Promise<boolean> {
  const now = (await findRow(auth, userId, row.provider, row.providerAccountId))?.tokens;
  return now?.access_token !== row.tokens.access_token || now.refresh_token !== row.tokens.refresh_token;
}
