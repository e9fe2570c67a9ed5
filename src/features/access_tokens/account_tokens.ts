/** The access tokens of providers if sessions are in a database: in the rows of accounts. */
import type { ActionAuth } from "../../actions/perform.ts";
import { fromAdapter, rowsOf, signedInAs } from "../../actions/account_rows.ts";
import type { AccountUpdateAdapter } from "../../adapter/added_methods.ts";
import { toCoreLogger } from "../../core/logger.ts";
import { inTurn, refreshedElsewhere } from "../../session/renew.ts";
import type { SessionRequest } from "../../types.ts";
import { memoryOf, onceAtATime, type ProviderTokens, type TokenPlace } from "./provider_tokens.ts";
import { isRefused } from "./refresh_tokens.ts";

interface TokenRow {
  readonly provider: string;
  readonly providerAccountId: string;
  readonly tokens: ProviderTokens;
}

/**
 * The tokens of the signed-in user in the rows of accounts.
 *
 * @param id The id of the provider.
 * @param exchange Exchanges a refresh token.
 */
export function tokensInRows(
  auth: ActionAuth,
  request: SessionRequest,
  id: string,
  exchange: (refreshToken: string) => Promise<ProviderTokens>,
): TokenPlace {
  const { instance } = auth;
  const { core } = instance.config;
  const logger = toCoreLogger(request.log, core.logger, core.debug);
  const { unwritten } = memoryOf(auth);
  let user: { readonly id: string } | undefined;
  let row: TokenRow | undefined;

  /**
   * The account of the provider. Of several, the one whose access token expires last: it was used for the latest
   * sign-in. Once one was found, it is the same one.
   */
  async function findRow(): Promise<TokenRow | undefined> {
    let latest: TokenRow | undefined;
    for (const found of await rowsOf(user!, auth, "getAccessToken()")) {
      const { provider, providerAccountId, access_token, refresh_token, expires_at } = found;
      const isOther = row !== undefined && row.providerAccountId !== providerAccountId;
      if (provider !== id || !access_token || isOther) continue;
      const tokens: ProviderTokens = {
        access_token,
        ...(refresh_token && { refresh_token }),
        ...(expires_at !== null && expires_at !== undefined && { expires_at: Number(expires_at) }),
      };
      const { expires_at: end = Infinity } = tokens;
      if (latest === undefined || end > (latest.tokens.expires_at ?? Infinity)) {
        latest = { provider, providerAccountId, tokens };
      }
    }
    return latest;
  }

  async function hasChanged({ tokens }: TokenRow): Promise<boolean> {
    const now = (await findRow())?.tokens;
    return now?.access_token !== tokens.access_token || now.refresh_token !== tokens.refresh_token;
  }

  /**
   * Exchanges the refresh token, unless another process has done so since the row was read, or this one has and
   * could not write the result.
   */
  async function renew(row: TokenRow): Promise<void> {
    if (await hasChanged(row)) return void unwritten.delete(keyOf(row));
    const left = unwritten.get(keyOf(row));
    if (left !== undefined) return await write(row, left);
    const refresh_token = row.tokens.refresh_token!;
    let refreshed: ProviderTokens;
    try {
      refreshed = await exchange(refresh_token);
    } catch (failure) {
      // Without a lock, another process may have been faster.
      if (isRefused(failure) && await hasChanged(row)) return;
      throw failure;
    }
    await write(row, { refresh_token, ...refreshed });
  }

  /** They are kept until they are written: the ones before are spent. */
  async function write(row: TokenRow, tokens: ProviderTokens): Promise<void> {
    const { provider, providerAccountId } = row;
    const { access_token, refresh_token = null, expires_at = null } = tokens;
    unwritten.set(keyOf(row), tokens);
    try {
      const account = { provider, providerAccountId, access_token, refresh_token, expires_at };
      await fromAdapter((core.adapter as AccountUpdateAdapter).updateAccount(account));
    } catch (cause) {
      const problem = `The refreshed tokens of "${provider}" could not be written to the row of their account. ` +
        "This process keeps them, and writes them with the next getAccessToken() of the user.";
      logger.error(new Error(problem, { cause }));
      throw cause;
    }
    unwritten.delete(keyOf(row));
  }

  return {
    async read() {
      if (user === undefined) {
        const signedIn = await signedInAs(auth, request);
        if (signedIn?.id === undefined) return undefined;
        user = { id: signedIn.id };
      }
      row = await findRow();
      return row?.tokens;
    },
    async refresh() {
      const before = row!;
      await onceAtATime(auth, keyOf(before), async () => {
        // The row itself has the result for the processes that wait. Those for http have the same store.
        const context = { settings: instance.settings(true), logger };
        const turn = await inTurn(context, before.tokens.refresh_token!, async () => {
          await renew(before);
          return {};
        });
        if (turn === undefined) throw refreshedElsewhere();
      });
    },
  };
}

function keyOf({ provider, providerAccountId }: TokenRow): string {
  return JSON.stringify([provider, providerAccountId]);
}
