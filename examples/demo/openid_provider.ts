import { generateKeyPairSync, randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import Fastify, { type FastifyServerOptions } from "fastify";
// Deep, because the package's entry point warns about every runtime but Node, and this runs on Deno as well.
// @ts-types="@types/oidc-provider"
import { Provider } from "oidc-provider/lib/provider.js";
// @ts-types="@types/oidc-provider"
import type { ClientMetadata } from "oidc-provider";
import { memoryStorage } from "./memory_storage.ts";
import { addInteractions } from "./openid_interactions.ts";
import { providerErrorPage } from "./pages/openid.ts";
import { findPerson, type ProviderName } from "./people.ts";

/** A real OpenID Provider, and what an application needs to know to be its client. */
export interface OpenIdProvider {
  readonly name: ProviderName;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Opens it, for one client with these callback URLs; until then it answers 503. */
  open(redirectUris: string[]): void;
  close(): Promise<void>;
}

/**
 * Starts an OpenID Provider on a free port of loopback.
 *
 * It is on 127.0.0.1 and the application on localhost: two sites to a browser, as they would be on the internet.
 */
export async function startOpenIdProvider(
  name: ProviderName,
  logger: FastifyServerOptions["logger"] = false,
): Promise<OpenIdProvider> {
  const clientId = "fastify-demo";
  const clientSecret = randomBytes(32).toString("base64url");
  const server = Fastify({ logger, forceCloseConnections: true });
  let provider: Provider | undefined;
  const requireProvider = (): Provider => {
    if (provider) return provider;
    throw Object.assign(new Error("The OpenID Provider is still starting."), { statusCode: 503 });
  };

  server.register((scope) => addInteractions(scope, name, requireProvider));
  server.register((scope) => {
    // oidc-provider reads its own bodies from the socket.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    scope.all("/*", async (request, reply) => {
      const handle = requireProvider().callback();
      reply.hijack();
      await handle(request.raw, reply.raw);
    });
    return Promise.resolve();
  });
  await server.listen({ port: 0, host: "127.0.0.1" });

  const { port } = server.server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  return {
    name,
    issuer,
    clientId,
    clientSecret,
    open(redirectUris) {
      provider = createProvider(name, issuer, {
        client_id: clientId,
        client_secret: clientSecret,
        client_name: "Fastify demo",
        redirect_uris: redirectUris,
      });
    },
    close: () => server.close(),
  };
}

function createProvider(name: ProviderName, issuer: string, client: ClientMetadata): Provider {
  return new Provider(issuer, {
    adapter: memoryStorage(),
    clients: [client],
    jwks: { keys: [signingKey()] },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"] },
    conformIdTokenClaims: false, // name and e-mail in the ID token, as most providers have it
    features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: { Session: 3600, Interaction: 3600, Grant: 3600, AccessToken: 3600, IdToken: 3600 },
    findAccount(_context, id) {
      const person = findPerson(id, name);
      if (!person) return undefined;
      return {
        accountId: id,
        claims: () => ({ sub: id, name: person.name, email: person.email, email_verified: true }),
      };
    },
    renderError(context, { error, error_description: description }) {
      context.type = "html";
      context.body = providerErrorPage(name, error, description ?? "").text;
    },
  });
}

/** New at every start: nothing signed before is ever checked again. */
function signingKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return {
    ...privateKey.export({ format: "jwk" }),
    use: "sig",
    alg: "RS256",
    kid: randomBytes(8).toString("hex"),
  };
}
