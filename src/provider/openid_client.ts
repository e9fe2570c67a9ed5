/** What is asked of a configured OpenID Provider besides what core asks: its metadata, and what signs its tokens. */
import { customFetch } from "@auth/core";
import * as oauth from "oauth4webapi";
import { parseJsonObject } from "../utils/decode.ts";
import type { Fetch } from "./fetch.ts";
import type { Settings } from "./settings.ts";

/** A provider of the resolved configuration, with the application's settings. */
export interface OpenIdClient {
  readonly id: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly client?: Partial<oauth.Client>;
  /** Where its keys are, for a provider without a discovery document. */
  readonly jwks_endpoint?: unknown;
  /** Limited in time and size; it keeps discovery documents. */
  readonly fetch: Fetch;
}

export function toOpenIdClient(provider: object): OpenIdClient {
  return { ...provider as OpenIdClient, fetch: (provider as Settings)[customFetch] as Fetch };
}

/** The provider's `fetch` refuses plain http in production. */
export function requestOptions({ fetch }: Pick<OpenIdClient, "fetch">) {
  return {
    [oauth.allowInsecureRequests]: true,
    // deno-lint-ignore no-explicit-any -- the function is `fetch`, whose types differ from those of oauth4webapi
    [oauth.customFetch]: fetch as any,
  };
}

/** The provider's metadata, which are kept for ten minutes, as for sign-ins. */
export async function openIdMetadata(client: OpenIdClient): Promise<oauth.AuthorizationServer> {
  const response = await oauth.discoveryRequest(new URL(client.issuer), requestOptions(client));
  return parseJsonObject(await response.text()) as unknown as oauth.AuthorizationServer;
}

/** Algorithms of keys that a provider publishes (RFC 7518 section 3.1, RFC 8037, RFC 9864). */
export const PUBLIC_KEY_ALGORITHMS: readonly string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

export const SECRET_ALGORITHMS: readonly string[] = ["HS256", "HS384", "HS512"];

/** The default for a client that is registered without one (OpenID Connect Registration 1.0, section 2). */
const DEFAULT = "RS256";

/** Where the keys are, and what ID and logout tokens may be signed with: as registered, else RS256 if it is used. */
export async function publishedKeys(client: OpenIdClient) {
  const { issuer, jwks_endpoint } = client;
  const metadata: oauth.AuthorizationServer = typeof jwks_endpoint === "string"
    ? { issuer, jwks_uri: jwks_endpoint }
    : await openIdMetadata(client);
  const { id_token_signing_alg_values_supported: supported } = metadata;
  const listed: readonly string[] = Array.isArray(supported) ? supported : [DEFAULT];
  const { id_token_signed_response_alg: registered } = client.client ?? {};
  const used = registered !== undefined ? [registered] : listed.includes(DEFAULT) ? [DEFAULT] : listed;
  const algorithms = PUBLIC_KEY_ALGORITHMS.filter((algorithm) => used.includes(algorithm));
  return { issuer: metadata.issuer, url: metadata.jwks_uri as unknown, algorithms };
}

/** The key of a client that is registered for tokens which are signed with its secret. */
export function secretKey({ client, clientSecret }: OpenIdClient) {
  const { id_token_signed_response_alg: registered = "" } = client ?? {};
  if (!SECRET_ALGORITHMS.includes(registered)) return undefined;
  if (!clientSecret) throw new TypeError(`it is signed with the \`clientSecret\` (${registered}), which is not set`);
  return { key: new TextEncoder().encode(clientSecret), algorithms: [registered] };
}
