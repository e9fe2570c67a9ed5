/** An OpenID Provider on this machine, for tests of a sign-in. */
import type { OIDCConfig, OIDCUserConfig } from "@auth/core/providers";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { FastifyAuthError } from "../errors.ts";
import type { Profile } from "../types.ts";
import type { InjectWithCookies, TestedApp } from "./inject.ts";
import { type IssuerUser, newGrants } from "./issuer_grants.ts";
import { answerIssuer, type IssuerAnswer } from "./issuer_routes.ts";
import { type IssuerSignInOptions, signInAtIssuer } from "./issuer_sign_in.ts";
import type { IssuerState } from "./issuer_state.ts";
import { newSigningKey } from "./issuer_tokens.ts";
import { refuseInProduction } from "./refuse_in_production.ts";

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
   * @throws {Error} with what the application answered, where the sign-in failed.
   */
  signIn(app: TestedApp, options?: IssuerSignInOptions): Promise<InjectWithCookies>;
  /** Stops the provider. */
  close(): Promise<void>;
}

/**
 * Starts an OpenID Provider on this machine: discovery, authorization code flow with PKCE, ID tokens (RS256),
 * userinfo, refresh tokens that are used once (with the scope `offline_access`), and sign-out (RP-Initiated
 * Logout 1.0). It takes every client and every secret.
 *
 * @param options The user, and the lifetime of tokens.
 * @returns The provider, to be closed at the end of the test: `await using issuer = await startIssuer()`, or
 * `issuer.close()`.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a `lifetime` that is none, and under
 * `NODE_ENV=production`.
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
    throw new FastifyAuthError(
      "FST_AUTHJS_CONFIG_INVALID",
      "`lifetime` of startIssuer() must be a number of seconds, 0 or more.",
    );
  }
  const server = createServer();
  const [key] = await Promise.all([newSigningKey(), listen(server, port)]);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: IssuerState = {
    url,
    lifetime,
    key,
    grants: newGrants(),
    requests: [],
    user,
    error: undefined,
  };
  server.on("request", (request, response) => void serve(request, response, state));
  const close = () => stop(server);
  return {
    url,
    requests: state.requests,
    get user() {
      return state.user;
    },
    set user(user) {
      state.user = user;
    },
    get error() {
      return state.error;
    },
    set error(error) {
      state.error = error;
    },
    provider: (overrides = {}) => ({ ...providerAt(url), ...overrides }),
    signIn: (app, options = {}) => signInAtIssuer(app, state, options),
    close,
    [Symbol.asyncDispose]: close,
  };
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

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

async function serve(request: IncomingMessage, response: ServerResponse, state: IssuerState): Promise<void> {
  const answer = await readBody(request)
    .then((body) => answerIssuer({ ...partsOf(request, state.url), body: new URLSearchParams(body) }, state))
    .catch((error): IssuerAnswer => ({
      status: 500,
      body: { error: "server_error", error_description: `${error}` },
    }));
  const { status, location, body } = answer;
  response.writeHead(status, {
    "cache-control": "no-store",
    ...(location === undefined ? { "content-type": "application/json" } : { location }),
  });
  response.end(body === undefined ? "" : JSON.stringify(body));
}

function partsOf(request: IncomingMessage, base: string) {
  const { method = "GET", url = "/", headers: { authorization = "" } } = request;
  const { pathname, searchParams } = new URL(url, base);
  return { method, path: pathname, query: searchParams, authorization };
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = "";
  request.setEncoding("utf8");
  for await (const chunk of request) body += chunk;
  return body;
}
