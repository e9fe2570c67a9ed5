/** The access tokens of providers. */
import type { Provider } from "@auth/core/providers";
import { accessTokenOfAccount, onceAtATime } from "./account_tokens.ts";
import { strategyOf } from "../../config/adapter_problem.ts";
import type { FastifyAuthError } from "../../errors.ts";
import type { ActionAuth } from "../../actions/perform.ts";
import { changeSession, presentedToken, readClaims, readSession } from "../../instance/read_session.ts";
import { invalid } from "../../instance/arguments.ts";
import { refreshTokens } from "./refresh_tokens.ts";
import { EARLY_MS, isExpired, tokensOf, withTokens } from "./provider_tokens.ts";
import { sessionName } from "../../session/open.ts";
import { ownReadOf } from "../../session/own_read.ts";
import { canCarryCookies } from "../../session/reply.ts";
import { RequestReads } from "../../session/request_reads.ts";
import { ATTEMPTS, expired, oauthProvider, toError, whileValid } from "./token_refresh.ts";
import type { JWT, SessionRequest } from "../../types.ts";

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
  const provider = oauthProvider(id, instance.config);
  for (let attempt = 0;; attempt++) {
    const claims = await readClaims(request, config);
    if (claims === null) {
      // If it is not known whether there is a session, it is not known either that there are no tokens.
      const { failure } = await readSession(request, config);
      if (failure !== undefined) throw failure;
      return null;
    }
    const tokens = tokensOf(claims, id);
    if (tokens === undefined) return null;
    const presented = presentedToken(request, config)!;
    // A client with a token in a header cannot be given the new refresh token.
    const mayRefresh = attempt < ATTEMPTS && presented.settings.use !== "header";
    const canRefresh = mayRefresh && tokens.refresh_token !== undefined;
    // A provider may issue tokens that expire sooner than they would be refreshed.
    if (!isExpired(tokens, canRefresh && attempt === 0 ? EARLY_MS : 0)) return tokens.access_token;
    if (!canRefresh) throw expired(id);
    if (!canCarryCookies(request)) return whileValid(tokens, replyHasLeft());
    const name = await sessionName(presented.cookie.token, presented.settings);
    if (ownReadOf({ name, settings: presented.settings }) !== undefined) throw refreshesItself();
    try {
      await onceAtATime(
        auth,
        JSON.stringify([name, id]),
        () => changeSession(request, config, (newest) => refreshClaims(newest, provider)),
      );
    } catch (failure) {
      return whileValid(tokens, toError(failure, id));
    }
    RequestReads.of(request).forget(config);
  }
}

/** The claims with refreshed tokens, unless they were refreshed meanwhile. */
async function refreshClaims(claims: JWT, provider: Provider): Promise<JWT | undefined> {
  const { id } = provider as { readonly id: string };
  const tokens = tokensOf(claims, id);
  if (tokens?.refresh_token === undefined || !isExpired(tokens, EARLY_MS)) return undefined;
  const { expires_at: _expired, ...kept } = tokens;
  return withTokens(claims, id, { ...kept, ...await refreshTokens(provider, tokens.refresh_token) });
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

function refreshesItself(): FastifyAuthError {
  return invalid(
    "getAccessToken()",
    "it was called by a function that is called while the session is read, such as the `jwt` callback, and would " +
      "refresh the tokens of this very session. Call it in a handler or a hook.",
  );
}
