/**
 * An authorization server for the example, with its own pages: any name signs in with any password. In production it
 * is that of a provider, or of your company.
 *
 * @module
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
// Deep, because the package's entry point warns about every runtime but Node.
// @ts-types="@types/oidc-provider"
import { Provider } from "oidc-provider/lib/provider.js";

/** Starts it on a free port of loopback. Clients register themselves there, as agents do. */
export async function startAuthorizationServer(scope: string) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "1" }] },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    scopes: scope.split(" "),
    features: {
      registration: { enabled: true },
      // The token is for the tool server that the client names (RFC 8707), and is a JWT (RFC 9068).
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, audience) => ({ scope, audience, accessTokenFormat: "jwt" }),
      },
    },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    ttl: { AccessToken: 3600, Grant: 3600, Interaction: 3600, RefreshToken: 86400, Session: 3600 },
  });
  server.on("request", provider.callback());
  return {
    issuer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
