/** Refreshing the tokens of a provider (RFC 6749 section 6). */
import type { Provider } from "@auth/core/providers";
import * as oauth from "oauth4webapi";
import { parseJsonObject } from "../../utils/decode.ts";
import { type OpenIdClient, openIdMetadata, requestOptions, toOpenIdClient } from "../../provider/openid_client.ts";
import { type TokenEndpoint, unverifiedConform } from "../../provider/prepare.ts";
import { isUnavailableAnswer } from "../../provider/provider_error.ts";
import type { ProviderTokens } from "./mod.ts";

type OAuthProvider = Omit<OpenIdClient, "issuer"> & {
  readonly issuer?: string;
  readonly token?: string | TokenEndpoint;
};

/**
 * Exchanges a refresh token at the provider's token endpoint, with the client authentication of the sign-in.
 * @param provider The prepared provider, whose `fetch` is limited in time and size.
 * @returns With a refresh token if the provider issues a new one: the one before may then be of no use any more.
 * @throws {ProviderUnavailable} Somewhere in the causes, if the provider did not answer; the errors of oauth4webapi.
 */
export async function refreshTokens(provider: Provider, refreshToken: string): Promise<ProviderTokens> {
  const settings: OAuthProvider = toOpenIdClient(provider);
  const { token: endpoint = {} } = settings;
  const token: TokenEndpoint = typeof endpoint === "string" ? { url: endpoint } : endpoint;
  const server = await serverOf(settings, token);
  const client: oauth.Client = { client_id: settings.clientId, ...settings.client };
  const response = await oauth.refreshTokenGrantRequest(
    server,
    client,
    clientAuthentication(settings, token, server),
    refreshToken,
    requestOptions(settings),
  );
  const conformed = await unverifiedConform(token)?.(response.clone()) ?? response;
  const tokens = await oauth.processRefreshTokenResponse(server, client, await tokensAlone(conformed));
  const { access_token, refresh_token, expires_in } = tokens;
  return {
    access_token,
    ...(refresh_token !== undefined && { refresh_token }),
    // As in core, 0 says nothing.
    ...(expires_in && { expires_at: Math.floor(Date.now() / 1000 + expires_in) }),
  };
}

async function serverOf(provider: OAuthProvider, { url, params = {} }: TokenEndpoint) {
  const { issuer } = provider;
  if (url !== undefined) {
    const endpoint = new URL(url);
    for (const [name, value] of Object.entries(params)) endpoint.searchParams.set(name, String(value));
    // As in core, the address stands for an issuer that is not configured.
    return { issuer: issuer ?? "https://authjs.dev", token_endpoint: endpoint.href };
  }
  // Without either the user could not have signed in.
  return await openIdMetadata({ ...provider, issuer: issuer! });
}

/** As core authenticates the client when it exchanges a code. */
function clientAuthentication(
  { clientId, clientSecret = "", client }: OAuthProvider,
  { clientPrivateKey }: TokenEndpoint,
  { issuer, token_endpoint }: oauth.AuthorizationServer,
): oauth.ClientAuth {
  switch (client?.token_endpoint_auth_method) {
    case "none":
      return oauth.None();
    case "client_secret_post":
      return oauth.ClientSecretPost(clientSecret);
    case "client_secret_jwt":
      return oauth.ClientSecretJwt(clientSecret);
    case "private_key_jwt":
      return oauth.PrivateKeyJwt(clientPrivateKey as oauth.PrivateKey, {
        [oauth.modifyAssertion](_header, payload) {
          payload.aud = [issuer, token_endpoint!];
        },
      });
    default:
      // Core encodes fewer characters than oauth4webapi, and some providers count on that.
      return (_server, _client, _body, headers) => {
        const pair = [clientId, clientSecret].map((part) => encodeURIComponent(part).replace(/%20/g, "+"));
        headers.set("authorization", `Basic ${btoa(pair.join(":"))}`);
      };
  }
}

/** The response without an ID token, which nothing reads here, and without what `conform` may have made null. */
async function tokensAlone(response: Response): Promise<Response> {
  const body = response.ok ? parseJsonObject(await response.clone().text()) : undefined;
  if (body === undefined) return response;
  const members = Object.entries(body).filter(([name, value]) => name !== "id_token" && value !== null);
  return Response.json(Object.fromEntries(members), { status: response.status });
}

/** What is wrong with the request itself, whatever the refresh token is (RFC 6749 section 5.2). */
const OF_CONFIGURATION = /^(?:invalid_(?:client|request|scope)|unauthorized_client|unsupported_grant_type)$/;

interface RefreshFailure {
  readonly code?: unknown;
  readonly error?: unknown;
  readonly status?: number;
  /** The body, whose `cause` has the status that the provider answered with, or the response. */
  readonly cause?: { readonly status?: unknown; readonly cause?: { readonly status?: unknown } };
}

/**
 * What a provider refused: the refresh token, which expired, was revoked or was used before; or anything for now, since
 * it has too many requests or a failure of its own. `undefined` for other failures.
 */
export function refusalOf(failure: unknown): "token" | "temporary" | undefined {
  const { code, error, status, cause } = (failure ?? {}) as RefreshFailure;
  const isBody = code === oauth.RESPONSE_BODY_ERROR;
  if (!isBody && code !== oauth.RESPONSE_IS_NOT_CONFORM) return undefined;
  const answered = Number(cause?.cause?.status ?? cause?.status ?? status);
  const isTemporary = isUnavailableAnswer(answered, String(error)) || answered >= 500;
  if (isTemporary && error !== "invalid_grant") return "temporary";
  return isBody && !OF_CONFIGURATION.test(String(error)) ? "token" : undefined;
}
