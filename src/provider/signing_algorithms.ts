/** The algorithms that OpenID Providers sign tokens with (RFC 7518 section 3.1, RFC 8037, RFC 9864). */
import type { OpenIdClient } from "./openid_metadata.ts";

/** Those of keys that a provider publishes: neither `none`, nor with the client secret. */
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

/** Those of the client secret. */
export const SECRET_ALGORITHMS: readonly string[] = ["HS256", "HS384", "HS512"];

/** The default for a client that is registered without one (OpenID Connect Registration 1.0, section 2). */
const DEFAULT = "RS256";

/**
 * The algorithms of public keys that a provider may sign ID and logout tokens with: the one that the client is
 * registered for; else the default, unless the provider says that it has only others.
 *
 * @param supported `id_token_signing_alg_values_supported` of its metadata.
 */
export function publicKeyAlgorithms({ client }: OpenIdClient, supported: unknown): string[] {
  const { id_token_signed_response_alg: registered } = client ?? {};
  const listed = Array.isArray(supported) ? supported : [DEFAULT];
  const used = registered !== undefined ? [registered] : listed.includes(DEFAULT) ? [DEFAULT] : listed;
  return PUBLIC_KEY_ALGORITHMS.filter((algorithm) => used.includes(algorithm));
}
