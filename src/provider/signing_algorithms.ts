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

/** Of the algorithms of public keys the one that is registered for ID tokens, else those that the provider has. */
export function publicKeyAlgorithms({ client }: OpenIdClient, supported: unknown): string[] {
  const registered = client?.id_token_signed_response_alg;
  const used = registered !== undefined ? [registered] : Array.isArray(supported) ? supported : ["RS256"];
  return PUBLIC_KEY_ALGORITHMS.filter((algorithm) => used.includes(algorithm));
}
