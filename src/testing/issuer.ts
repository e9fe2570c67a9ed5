/** An OpenID Provider on this machine, for tests of a sign-in. */
import type { OIDCConfig, OIDCUserConfig } from "@auth/core/providers";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { invalidConfig } from "../errors.ts";
import type { Profile } from "../types.ts";
import { type InjectWithCookies, refuseInProduction, type TestedApp } from "./inject.ts";
import { issuerService, type IssuerUser, loadMockServer } from "./issuer_service.ts";
import { type IssuerSignInOptions, signInAtIssuer } from "./issuer_sign_in.ts";

/** Settings of {@linkcode startIssuer}. */
export interface IssuerOptions {
  /**
   * The user who signs in first.
   *
   * @default { sub: "ada", name: "Ada", email: "ada@example.com", email_verified: true }
   */
  user?: IssuerUser;
  /**
   * How long access tokens and ID tokens last, in seconds.
   *
   * @default 3600
   */
  lifetime?: number;
  /**
   * The port on 127.0.0.1.
   *
   * @default 0 a free one
   */
  port?: number;
}

/** A running OpenID Provider. */
export interface TestIssuer extends AsyncDisposable {
  /** The issuer, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** The user who signs in next. No password is asked for: the authorization endpoint redirects at once. */
  user: IssuerUser;
  /**
   * The error that the authorization endpoint answers with, such as `"access_denied"` (RFC 6749 section
   * 4.1.2.1). While it is set, no user signs in.
   *
   * @default undefined
   */
  error: string | undefined;
  /** The requests so far, such as `"POST /token"`. */
  readonly requests: readonly string[];
  /**
   * The provider for `providers`, with the id "issuer". Every other OpenID Connect provider can be led here
   * as well, by its `issuer`: `Keycloak({ issuer: issuer.url, clientId: "any", clientSecret: "any" })`.
   *
   * @param overrides Replaces any of its fields.
   */
  provider(overrides?: OIDCUserConfig<Profile>): OIDCConfig<Profile>;
  /**
   * Goes through a whole sign-in, as a browser does: the application's sign-in route, this provider, and the
   * application's callback.
   *
   * @param app The application; it may still be starting.
   * @param options The user, and the provider of the application.
   * @returns The application's `inject()` for the user who signed in.
   * @throws {Error} with what the application answered, if the sign-in failed.
   */
  signIn(app: TestedApp, options?: IssuerSignInOptions): Promise<InjectWithCookies>;
  /** Stops the provider. */
  close(): Promise<void>;
}

/**
 * Starts an OpenID Provider on this machine: discovery, authorization code flow with PKCE, ID tokens (RS256),
 * userinfo, refresh tokens that are used once (with the scope `offline_access`), and sign-out (RP-Initiated
 * Logout 1.0). It takes every client and every secret. It needs the package `oauth2-mock-server`.
 *
 * @param options The user, and the lifetime of tokens.
 * @returns The provider, to be closed at the end of the test: `await using issuer = await startIssuer()`, or
 * `issuer.close()`.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a `lifetime` that is none, without
 * `oauth2-mock-server`, and under `NODE_ENV=production`.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
 * import { startIssuer } from "fastify-authjs/testing";
 *
 * const issuer = await startIssuer();
 * const config: FastifyAuthConfig = {
 *   providers: [issuer.provider()],
 *   secret: "x".repeat(32),
 *   trustHost: true,
 * };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 * app.get("/me", async (request) => (await getSession(request, config))?.user);
 *
 * const inject = await issuer.signIn(app, { user: { sub: "grace", name: "Grace" } });
 * console.assert((await inject("/me")).json().name === "Grace");
 * await issuer.close();
 * ```
 */
export async function startIssuer(options: IssuerOptions = {}): Promise<TestIssuer> {
  refuseInProduction("startIssuer()");
  const { user = ADA, lifetime = 3600, port = 0 } = options;
  if (!(Number.isFinite(lifetime) && lifetime >= 0)) {
    throw invalidConfig("`lifetime` of startIssuer() must be a number of seconds, 0 or more.");
  }
  const library = await loadMockServer();
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const requests: string[] = [];
  const close = () => stop(server);
  const issuer: TestIssuer = {
    url,
    requests,
    user,
    error: undefined,
    provider: (overrides = {}) => ({ ...providerAt(url), ...overrides }),
    signIn: (app, options = {}) => signInAtIssuer(app, url, options),
    close,
    [Symbol.asyncDispose]: close,
  };
  const service = await issuerService(library, url, lifetime, issuer);
  server.on("request", (request, response) => {
    requests.push(`${request.method} ${request.url?.split("?")[0]}`);
    service.requestHandler(request, response);
  });
  return issuer;
}

const ADA: IssuerUser = { sub: "ada", name: "Ada", email: "ada@example.com", email_verified: true };

function providerAt(issuer: string): OIDCConfig<Profile> {
  return {
    id: "issuer",
    name: "Test issuer",
    type: "oidc",
    issuer,
    clientId: "app",
    clientSecret: "secret",
    checks: ["pkce", "state", "nonce"],
  };
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
