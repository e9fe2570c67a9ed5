/** The access tokens of providers. */
import { accessTokenOfAccount } from "./account_tokens.ts";
import { strategyOf } from "../../config/adapter_problem.ts";
import type { ResolvedConfig } from "../../config/resolve.ts";
import { FastifyAuthError } from "../../errors.ts";
import type { ActionAuth } from "../../actions/perform.ts";
import { presentedToken, readClaims, readRefreshing, readSession } from "../../instance/read_session.ts";
import { invalid } from "../../instance/arguments.ts";
import { refreshTokens } from "./refresh_tokens.ts";
import { EARLY_MS, isExpired, type ProviderTokens, tokensOf, withTokens } from "./provider_tokens.ts";
import type { ClaimsRefresh } from "../../session/read.ts";
import { canCarryCookies } from "../../session/reply.ts";
import { ATTEMPTS, expired, oauthProvider, toError, whileValid } from "./token_refresh.ts";
import type { JWT, SessionRequest } from "../../types.ts";

/** How often one call reads at most: a read that others began does not refresh what it asks for. */
const MOST_READS = 1000;

/** A valid access token of a provider, or null if the user has none. */
export async function getAccessToken(
  auth: ActionAuth,
  request: SessionRequest,
  id: string,
): Promise<string | null> {
  const { config, instance } = auth;
  if (!instance.config.facts.config.refreshTokens) {
    throw invalid(
      "getAccessToken()",
      "set `refreshTokens: true` in the configuration, which keeps the tokens.",
    );
  }
  if (strategyOf(instance.config.core) === "database") {
    return await accessTokenOfAccount(auth, request, id);
  }
  const refresh = refreshOf(id, instance.config);
  let claims = await readClaims(request, config);
  if (claims === null) {
    // If it is not known whether there is a session, it is not known either that there are no tokens.
    const { failure } = await readSession(request, config);
    if (failure !== undefined) throw failure;
  }
  let attempt = 0;
  for (let reads = 0; claims !== null; reads++) {
    const tokens = tokensOf(claims, id);
    if (tokens === undefined) return null;
    // A client with a token in a header cannot be given the new refresh token.
    const mayRefresh = attempt < ATTEMPTS && reads < MOST_READS &&
      presentedToken(request, config)?.settings.use !== "header";
    const refreshToken = mayRefresh ? tokens.refresh_token : undefined;
    // A provider may issue tokens that expire sooner than they would be refreshed.
    if (!isExpired(tokens, refreshToken !== undefined && attempt === 0 ? EARLY_MS : 0)) {
      return tokens.access_token;
    }
    if (refreshToken === undefined) throw expired(id);
    if (!canCarryCookies(request)) return whileValid(tokens, replyHasLeft());
    const { runs } = refresh;
    const read = await readRefreshing(request, config, refresh);
    if (read.failure !== undefined) throw read.failure;
    // One read serves requests of the same time, which may have asked for the tokens of other providers.
    const { refreshFailure } = read;
    if (refreshFailure?.what === id) return whileValid(tokens, toError(refreshFailure.cause, id));
    claims = read.session === null ? null : read.claims ?? null;
    if (refresh.runs > runs || !areSame(tokens, claims === null ? undefined : tokensOf(claims, id))) {
      attempt++;
    }
  }
  return null;
}

/**
 * A new refresh token that does not reach the browser is lost, and the one before may be of no use any more.
 */
function replyHasLeft(): FastifyAuthError {
  return invalid(
    "getAccessToken()",
    "call it before the reply is sent, in a scope of the plugin and not for a WebSocket: the access token has " +
      "expired, and the reply must set the cookie that has its successor.",
  );
}

function areSame(a: ProviderTokens, b: ProviderTokens | undefined): boolean {
  return a.access_token === b?.access_token && a.expires_at === b.expires_at;
}

/** A refresh that counts how often it ran. */
function refreshOf(id: string, config: ResolvedConfig): ClaimsRefresh & { runs: number } {
  const provider = oauthProvider(id, config);
  const refresh = {
    what: id,
    runs: 0,
    isDue(claims: JWT) {
      const tokens = tokensOf(claims, id);
      return tokens?.refresh_token !== undefined && isExpired(tokens, EARLY_MS);
    },
    async run(claims: JWT) {
      refresh.runs++;
      const tokens = tokensOf(claims, id)!;
      const { expires_at: _expired, ...kept } = tokens;
      const refreshed = await refreshTokens(provider, tokens.refresh_token!);
      return withTokens(claims, id, { ...kept, ...refreshed });
    },
    fromWithin: () =>
      new FastifyAuthError(
        "FST_AUTHJS_CONFIG_INVALID",
        "getAccessToken() was called by a function that is called while the session is read, such as the `jwt` " +
          "callback, and would refresh the tokens of this very session. Call it in a handler or a hook.",
      ),
  };
  return refresh;
}
