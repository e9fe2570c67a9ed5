/**
 * A real authorization server (`oidc-provider`) that issues access tokens to a service: JWT, opaque or bound to a key.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { randomUUID } from "node:crypto";
import { hash } from "node:crypto";
import { startOpenIdProvider } from "./openid_provider.ts";

export const API = "https://api.example";

const CLIENT = { id: "service", secret: "a-secret-of-the-service" };

/** The client with which the API introspects. */
export const INTROSPECTION = { clientId: "api", clientSecret: "a-secret-of-the-api" };

/** A key of a client, for proofs. */
export interface ProofKey {
  readonly jkt: string;
  /** Makes a proof for a request with a token. */
  proof(method: string, url: string, token?: string, changes?: Record<string, unknown>): Promise<string>;
}

export async function proofKey(): Promise<ProofKey> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = await exportJWK(publicKey);
  return {
    jkt: await calculateJwkThumbprint(jwk),
    proof: (htm, htu, token, changes = {}) =>
      new SignJWT({
        htm,
        htu,
        jti: randomUUID(),
        ...(token !== undefined && { ath: hash("sha256", token, "base64url") }),
        iat: Math.floor(Date.now() / 1000),
        ...changes,
      }).setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk: jwk as JWK }).sign(privateKey),
  };
}

/** A running server. */
export interface ApiIssuerServer extends AsyncDisposable {
  readonly issuer: string;
  /** The requests it got. */
  readonly requests: string[];
  /** A token for the service. */
  token(
    format: "jwt" | "opaque",
    options?: { scope?: string; key?: ProofKey; resource?: string },
  ): Promise<string>;
}

export async function startApiIssuer(): Promise<ApiIssuerServer> {
  const methods = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] };
  const clients = [
    { client_id: CLIENT.id, client_secret: CLIENT.secret, ...methods },
    { client_id: INTROSPECTION.clientId, client_secret: INTROSPECTION.clientSecret, ...methods },
  ];
  const server = await startOpenIdProvider(clients as never, {
    scopes: ["orders:read", "orders:write"],
    features: {
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      dPoP: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => ({
          scope: "orders:read orders:write",
          audience: resource.replace(/#.*|\?.*/, ""),
          accessTokenTTL: 600,
          accessTokenFormat: resource.endsWith("?jwt") ? "jwt" as const : "opaque" as const,
        }),
      },
    },
  });
  return {
    issuer: server.issuer,
    requests: server.requests,
    async token(format, { scope = "orders:read", key, resource = API } = {}) {
      const url = `${server.issuer}/token`;
      const proof = key && { dpop: await key.proof("POST", url) };
      const response = await fetch(url, {
        method: "POST",
        headers: {
          authorization: `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString("base64")}`,
          ...proof,
        },
        body: new URLSearchParams({
          grant_type: "client_credentials",
          resource: `${resource}?${format}`,
          ...(scope && { scope }),
        }),
      });
      const body = await response.json();
      if (!response.ok) throw new Error(JSON.stringify(body));
      return body.access_token;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
