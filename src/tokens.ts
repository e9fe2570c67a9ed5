/** The claims of the session token, and the access tokens of providers. */
import type { Provider } from "@auth/core/providers";
import type { ActionAuth } from "./actions.ts";
import type { ResolvedConfig } from "./config/resolve.ts";
import { AuthActionError, FastifyAuthError } from "./errors.ts";
import { presentedToken, readRefreshing, readSession } from "./get_session.ts";
import { invalid } from "./guard_options.ts";
import { bearerToken } from "./http/bearer.ts";
import { originOf } from "./http/origin.ts";
import { findUnavailable, unavailableProviderError } from "./provider/provider_unavailable.ts";
import { isRefused, refreshTokens } from "./provider/refresh_tokens.ts";
import { openToken } from "./session/open_token.ts";
import { EARLY_MS, isExpired, type ProviderTokens, tokensOf, withTokens } from "./session/provider_tokens.ts";
import type { TokenRefresh } from "./session/read.ts";
import { cloneClaims } from "./session/read_jwt.ts";
import { canCarryCookies, currentCookies } from "./session/write_back.ts";
import type { JWT, SessionRequest } from "./types.ts";

/** The claims of the session token, or null where there is no session or it is in a database. */
export async function getToken(
  { config, instance }: ActionAuth,
  request: SessionRequest,
): Promise<JWT | null> {
  const { session, claims } = await readSession(request, config);
  if (session === null) return null;
  // Callers may write to them, and requests with the same token share them.
  if (claims !== undefined) return cloneClaims(claims);
  const origin = originOf(request, instance.config.origin);
  const settings = origin && instance.settings(origin.secure);
  if (settings?.strategy !== "jwt") return null;
  const { cookie } = presentedToken(instance, request, settings, currentCookies(request, config));
  return (await openToken(cookie.token, settings)).claims;
}

/** How often tokens are refreshed for one call: another request may just be reading the session without that. */
const ATTEMPTS = 3;

/** A valid access token of a provider, or null where the user has none. */
export async function getAccessToken(
  auth: ActionAuth,
  request: SessionRequest,
  id: string,
): Promise<string | null> {
  const { config, instance } = auth;
  if (!instance.config.keepsTokens) {
    throw invalid(
      "getAccessToken()",
      "set `refreshTokens: true` in the configuration, which keeps the tokens.",
    );
  }
  const refresh = refreshOf(id, instance.config);
  let claims = await getToken(auth, request);
  for (let attempt = 0; claims !== null; attempt++) {
    const tokens = tokensOf(claims, id);
    if (tokens === undefined) return null;
    // A provider may issue tokens that expire sooner than they would be refreshed.
    const refreshToken = attempt < ATTEMPTS && !isBearer(auth, request) ? tokens.refresh_token : undefined;
    if (!isExpired(tokens, refreshToken !== undefined && attempt === 0 ? EARLY_MS : 0)) {
      return tokens.access_token;
    }
    if (refreshToken === undefined) throw expired(id);
    if (!canCarryCookies(request)) return whileValid(tokens, replyHasLeft());
    const read = await readRefreshing(request, config, refresh);
    if (read.refreshFailure !== undefined) return whileValid(tokens, toError(read.refreshFailure, id));
    claims = read.session === null ? null : read.claims ?? null;
  }
  return null;
}

/** Without a way to replace it, an access token is given out for as long as it is valid. */
function whileValid(tokens: ProviderTokens, otherwise: FastifyAuthError): string {
  if (isExpired(tokens, 0)) throw otherwise;
  return tokens.access_token;
}

/** A new refresh token that does not reach the browser is lost, and the one before may be of no use any more. */
function replyHasLeft(): FastifyAuthError {
  return invalid(
    "getAccessToken()",
    "call it before the reply is sent, in a scope of the plugin and not for a WebSocket: the access token has expired, " +
      "and the reply must set the cookie that has its successor.",
  );
}

/** A client with a bearer token cannot be given the new refresh token. */
function isBearer({ instance }: ActionAuth, { headers }: SessionRequest): boolean {
  return instance.config.bearer !== undefined && bearerToken(headers.authorization) !== undefined;
}

function refreshOf(id: string, { core, providers }: ResolvedConfig): TokenRefresh {
  const { type } = providers.get(id) ?? {};
  if (type !== "oauth" && type !== "oidc") {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", `There is no OAuth provider "${id}".`);
  }
  const provider = (core.providers as readonly ConfiguredProvider[]).find((each) =>
    (each.options?.id ?? each.id) === id
  )!;
  return {
    isDue(claims) {
      const tokens = tokensOf(claims, id);
      return tokens?.refresh_token !== undefined && isExpired(tokens, EARLY_MS);
    },
    async run(claims) {
      const tokens = tokensOf(claims, id)!;
      const { expires_at: _expired, ...kept } = tokens;
      const refreshed = await refreshTokens(provider as unknown as Provider, tokens.refresh_token!);
      return withTokens(claims, id, { ...kept, ...refreshed });
    },
  };
}

interface ConfiguredProvider {
  readonly id?: string;
  readonly options?: { readonly id?: string };
}

function toError(failure: unknown, id: string): FastifyAuthError {
  const unavailable = findUnavailable(failure);
  if (unavailable !== undefined) return unavailableProviderError(unavailable);
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
