/** A request to a provider, as it is observed: what it is for, and how it ended. */
import { redactUrl } from "../http/redact.ts";
import { errorTypeOf } from "../telemetry/error_type.ts";
import { providerRequests } from "../telemetry/operations.ts";
import type { ProviderEndpoint } from "../types.ts";
import { isDiscoveryUrl } from "./discovery.ts";
import { ProviderUnavailable } from "./provider_unavailable.ts";

/** Makes a request that is observed. */
export function observedExchange<Answer extends Response>(
  provider: string,
  url: URL,
  init: RequestInit | undefined,
  method: string,
  exchange: () => Promise<Answer>,
): Promise<Answer> {
  const message = {
    provider,
    endpoint: endpointOf(url, init ?? {}, method),
    method,
    url: redactUrl(`${url.origin}${url.pathname}${url.search}`),
  };
  return providerRequests.trace(message, exchange, {
    end: ({ status }) => status < 400 ? { status } : { status, errorType: String(status) },
    failure: (error) => ({ errorType: reasonOf(error) }),
  });
}

/** Whether a code or a refresh token is exchanged for tokens. */
export function isTokenRequest(init: RequestInit): boolean {
  return isCodeExchange(init) || grantType(init) === "refresh_token";
}

/** Whether a code is exchanged for tokens. */
export function isCodeExchange(init: RequestInit): boolean {
  return grantType(init) === "authorization_code";
}

function grantType({ body }: RequestInit): string | null {
  return body instanceof URLSearchParams ? body.get("grant_type") : null;
}

/**
 * What a request is for, by what RFC 6749, RFC 6750, RFC 7009, RFC 7517, RFC 8414 and OpenID Connect Discovery
 * have in it.
 */
function endpointOf(url: URL, init: RequestInit, method: string): ProviderEndpoint {
  if (isTokenRequest(init)) return "token";
  const headers = new Headers(init.headers);
  if (method === "GET") {
    if (isDiscoveryUrl(url) || isServerMetadata(url)) return "discovery";
    if (headers.get("accept")?.includes("application/jwk-set+json")) return "jwks";
  }
  if (init.body instanceof URLSearchParams && init.body.has("token")) return "revocation";
  return /^(?:bearer|dpop|token) /i.test(headers.get("authorization") ?? "") ? "userinfo" : "other";
}

/** Whether this is the address of metadata of RFC 8414, section 3.1. */
export function isServerMetadata({ pathname }: URL): boolean {
  return pathname.startsWith("/.well-known/oauth-authorization-server");
}

/** `timeout` or `unreachable` if there was no whole response, in the same words on each runtime. */
function reasonOf(error: unknown): string {
  if (!(error instanceof ProviderUnavailable)) return errorTypeOf(error);
  if (error.cause === undefined) return "timeout";
  return error.cause instanceof Error ? "unreachable" : errorTypeOf(error);
}
