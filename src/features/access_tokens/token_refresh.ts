/**
 * What refreshing the tokens of a provider is the same for, wherever they are kept: the provider, and the
 * errors.
 */
import type { Provider } from "@auth/core/providers";
import type { ResolvedConfig } from "../../config/resolve.ts";
import { AuthActionError, FastifyAuthError } from "../../errors.ts";
import { findUnavailable, unavailableProviderError } from "../../provider/provider_unavailable.ts";
import { isRefused, isTemporary } from "./refresh_tokens.ts";
import { isExpired, type ProviderTokens } from "./provider_tokens.ts";

/** How often tokens are refreshed for one call: others may change them at the same time. */
export const ATTEMPTS = 3;

/** @throws {FastifyAuthError} `FST_AUTHJS_NOT_FOUND` if there is no such OAuth provider. */
export function oauthProvider(id: string, { coreProviders, providers }: ResolvedConfig): Provider {
  const { type } = providers.get(id) ?? {};
  if (type !== "oauth" && type !== "oidc") {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", `There is no OAuth provider "${id}".`);
  }
  return coreProviders.get(id)!;
}

/** Without a way to replace it, an access token is given out for as long as it is valid. */
export function whileValid(tokens: ProviderTokens, otherwise: FastifyAuthError): string {
  if (isExpired(tokens, 0)) throw otherwise;
  return tokens.access_token;
}

/** Why tokens could not be refreshed, for the application. */
export function toError(failure: unknown, id: string): FastifyAuthError {
  // Of the adapter.
  if (failure instanceof FastifyAuthError && failure.code === "FST_AUTHJS_UNAVAILABLE") return failure;
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

/** The user has to sign in again. */
export function expired(id: string, cause?: unknown): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_ACCESS_TOKEN_EXPIRED",
    `The access token of "${id}" has expired and cannot be refreshed. Sign in with it again.`,
    cause === undefined ? {} : { cause },
  );
}
