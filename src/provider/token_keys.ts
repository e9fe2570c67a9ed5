/** What ID and logout tokens of a client are signed with (OpenID Connect Core 1.0, section 10.1). */
import { type OpenIdClient, openIdMetadata } from "./openid_metadata.ts";

/**
 * The algorithms of keys that a provider publishes (RFC 7518 section 3.1, RFC 8037, RFC 9864): neither `none`, nor
 * those of the client secret.
 */
export const PUBLIC_KEY_ALGORITHMS: readonly string[] = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

export const SECRET_ALGORITHMS: readonly string[] = ["HS256", "HS384", "HS512"];

/** The default for a client that is registered without one (OpenID Connect Registration 1.0, section 2). */
const DEFAULT = "RS256";

/**
 * The algorithms of public keys that a provider may sign ID and logout tokens with: the one that the client is
 * registered for; else the default, unless the provider says that it has only others.
 *
 * @param supported `id_token_signing_alg_values_supported` of its metadata.
 */
function publicKeyAlgorithms({ client }: OpenIdClient, supported: unknown): string[] {
  const { id_token_signed_response_alg: registered } = client ?? {};
  const listed = Array.isArray(supported) ? supported : [DEFAULT];
  const used = registered !== undefined ? [registered] : listed.includes(DEFAULT) ? [DEFAULT] : listed;
  return PUBLIC_KEY_ALGORITHMS.filter((algorithm) => used.includes(algorithm));
}

export interface PublishedKeys {
  readonly issuer: string;
  readonly url: unknown;
  readonly algorithms: string[];
}

/** Finds out where the keys are: at `jwks_endpoint`, else where the provider's metadata say. */
export async function publishedKeys(client: OpenIdClient): Promise<PublishedKeys> {
  const { issuer, jwks_endpoint } = client;
  if (typeof jwks_endpoint === "string") {
    return { issuer, url: jwks_endpoint, algorithms: publicKeyAlgorithms(client, undefined) };
  }
  const metadata = await openIdMetadata(client);
  return {
    issuer: metadata.issuer,
    url: metadata.jwks_uri,
    algorithms: publicKeyAlgorithms(client, metadata.id_token_signing_alg_values_supported),
  };
}

/**
 * The key of a client that is registered for tokens which are signed with its secret.
 *
 * @throws {TypeError} if it has no secret.
 */
export function secretKey({ client, clientSecret }: OpenIdClient) {
  const { id_token_signed_response_alg: registered = "" } = client ?? {};
  if (!SECRET_ALGORITHMS.includes(registered)) return undefined;
  if (!clientSecret) {
    throw new TypeError(`it is signed with the \`clientSecret\` (${registered}), which is not set`);
  }
  return { key: new TextEncoder().encode(clientSecret), algorithms: [registered] };
}
