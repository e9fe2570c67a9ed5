/** The access tokens of providers. */
import type { ActionAuth } from "../../actions/perform.ts";
import { strategyOf } from "../../config/adapter_problem.ts";
import { AuthActionError, FastifyAuthError } from "../../errors.ts";
import { invalid } from "../../instance/arguments.ts";
import { findUnavailable, unavailableProviderError } from "../../provider/provider_error.ts";
import type { SessionRequest } from "../../types.ts";
import { tokensInRows } from "./account_tokens.ts";
import { EARLY_MS, isExpired } from "./provider_tokens.ts";
import { isRefused, isTemporary, refreshTokens } from "./refresh_tokens.ts";
import { tokensInSession } from "./session_tokens.ts";

/** How often tokens are refreshed for one call: others may change them at the same time. */
const ATTEMPTS = 3;

/** A valid access token of a provider, or null if the user has none. */
export async function getAccessToken(
  auth: ActionAuth,
  request: SessionRequest,
  id: string,
): Promise<string | null> {
  const { core, coreProviders, facts, providers } = auth.instance.config;
  if (!facts.config.refreshTokens) {
    throw invalid(
      "getAccessToken()",
      "set `refreshTokens: true` in the configuration, which keeps the tokens.",
    );
  }
  const { type } = providers.get(id) ?? {};
  if (type !== "oauth" && type !== "oidc") {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", `There is no OAuth provider "${id}".`);
  }
  const find = strategyOf(core) === "database" ? tokensInRows : tokensInSession;
  const place = find(auth, request, id, (token) => refreshTokens(coreProviders.get(id)!, token));
  for (let attempt = 0;; attempt++) {
    const tokens = await place.read();
    if (tokens === undefined) return null;
    const canRefresh = tokens.refresh_token !== undefined && attempt < ATTEMPTS;
    // A provider may issue tokens that expire sooner than they would be refreshed.
    if (!isExpired(tokens, canRefresh && attempt === 0 ? EARLY_MS : 0)) return tokens.access_token;
    if (!canRefresh) throw expired(id);
    try {
      await place.refresh();
    } catch (failure) {
      // Without a way to replace it, an access token is given out for as long as it is valid.
      if (isExpired(tokens, 0)) throw toError(failure, id);
      return tokens.access_token;
    }
  }
}

/** Errors of ours that an application is told as they are: of the adapter or the store, and of the call. */
const TOLD: readonly string[] = ["FST_AUTHJS_UNAVAILABLE", "FST_AUTHJS_CONFIG_INVALID"];

/** Why tokens could not be refreshed, for the application. */
function toError(failure: unknown, id: string): FastifyAuthError {
  if (failure instanceof FastifyAuthError && TOLD.includes(failure.code)) return failure;
  const unavailable = findUnavailable(failure);
  if (unavailable !== undefined) return unavailableProviderError(unavailable);
  if (isTemporary(failure)) {
    return new FastifyAuthError(
      "FST_AUTHJS_UNAVAILABLE",
      `The provider "${id}" cannot refresh the access token now. Try again in a moment.`,
      { cause: withoutResponse(failure) },
    );
  }
  if (isRefused(failure)) return expired(id, withoutResponse(failure));
  return new AuthActionError(
    `Refreshing the access token of "${id}" failed.`,
    { type: "Configuration", statusCode: 500 },
    { cause: withoutResponse(failure) },
  );
}

/** The error without its causes, which have the response of the provider: there may be tokens in it. */
function withoutResponse(failure: unknown): unknown {
  if (!(failure instanceof Error)) return failure;
  const { name, message, stack, code, error, error_description } = failure as Error & Record<string, unknown>;
  return Object.assign(new Error(message), { name, stack, code, error, error_description });
}

function expired(id: string, cause?: unknown): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_ACCESS_TOKEN_EXPIRED",
    `The access token of "${id}" has expired and cannot be refreshed. Sign in with it again.`,
    cause === undefined ? {} : { cause },
  );
}
