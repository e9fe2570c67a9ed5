/** An OpenID Provider on this machine, for tests of a sign-in. */
import type { OIDCConfig, OIDCUserConfig } from "@auth/core/providers";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { LightMyRequestResponse } from "fastify";
import { invalidConfig } from "../errors.ts";
import type { Profile } from "../types.ts";
import { assertOptions, injectWith, type InjectWithCookies, refuseInProduction, type TestedApp } from "./inject.ts";
import { issuerService, type IssuerUser, loadMockServer, USER } from "./issuer_service.ts";

/** Settings of {@linkcode startIssuer}. */
export interface IssuerOptions {
  /**
   * The user who signs in first.
   * @default { sub: "ada", name: "Ada", email: "ada@example.com", email_verified: true }
   */
  user?: IssuerUser;
  /**
   * How long access tokens and ID tokens last, in seconds.
   * @default 3600
   */
  lifetime?: number;
  /**
   * The port on 127.0.0.1.
   * @default 0 a free one
   */
  port?: number;
}

/** Who signs in, and where. */
export interface IssuerSignInOptions {
  /**
   * The user.
   * @default that of the issuer
   */
  readonly user?: IssuerUser;
  /**
   * The id of the application's provider.
   * @default "issuer" that of `issuer.provider()`
   */
  readonly provider?: string;
  /**
   * Where the plugin is registered.
   * @default "/auth"
   */
  readonly prefix?: string;
  /**
   * Parameters for the authorization request, such as `{ acr_values: "mfa" }`.
   * @default {}
   */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** A running OpenID Provider. */
export interface TestIssuer extends AsyncDisposable {
  /** The issuer, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** The user who signs in next. No password is asked for: the authorization endpoint redirects at once. */
  user: IssuerUser;
  /**
   * The error that the authorization endpoint answers with, such as `"access_denied"` (RFC 6749 section 4.1.2.1). While
   * it is set, no user signs in.
   * @default undefined
   */
  error: string | undefined;
  /** The requests so far, such as `"POST /token"`. */
  readonly requests: readonly string[];
  /**
   * The provider for `providers`, with the id "issuer". Every other OpenID Connect provider can be led here as well, by
   * its `issuer`: `Keycloak({ issuer: issuer.url, clientId: "any", clientSecret: "any" })`.
   * @param overrides Replaces any of its fields.
   */
  provider(overrides?: OIDCUserConfig<Profile>): OIDCConfig<Profile>;
  /**
   * Goes through a whole sign-in, as a browser does: the application's sign-in route, this provider, and the
   * application's callback.
   * @param app The application; it may still be starting.
   * @returns The application's `inject()` for the user who signed in.
   * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for an unknown option.
   * @throws {Error} with what the application answered, if the sign-in failed.
   */
  signIn(app: TestedApp, options?: IssuerSignInOptions): Promise<InjectWithCookies>;
  /** Stops the provider. */
  close(): Promise<void>;
}

/**
 * Starts an OpenID Provider on this machine: discovery, authorization code flow with PKCE, ID tokens (RS256), userinfo,
 * refresh tokens that are used once (with the scope `offline_access`), and sign-out (RP-Initiated Logout 1.0). It takes
 * every client and every secret. It needs the package `oauth2-mock-server`.
 * @returns The provider, to be closed at the end of the test: `await using issuer = await startIssuer()`, or
 * `issuer.close()`.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for an unknown option, a `lifetime` that is none, without
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
  assertOptions(options, ["user", "lifetime", "port"], "startIssuer()");
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
    provider: (overrides = {}) => ({ ...PROVIDER, issuer: url, ...overrides }),
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

const PROVIDER: OIDCConfig<Profile> = {
  id: "issuer",
  name: "Test issuer",
  type: "oidc",
  clientId: "app",
  clientSecret: "secret",
  checks: ["pkce", "state", "nonce"],
};

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

const FORM = { accept: "application/json", "content-type": "application/x-www-form-urlencoded" };

/** Signs in, from the application's sign-in route to its callback. */
async function signInAtIssuer(
  app: TestedApp,
  issuer: string,
  options: IssuerSignInOptions,
): Promise<InjectWithCookies> {
  assertOptions(options, ["user", "provider", "prefix", "parameters"], "issuer.signIn()");
  const { user, provider = "issuer", prefix = "/auth", parameters = {} } = options;
  const inject = injectWith(app);
  const csrf = await inject(`${prefix}/csrf`);
  // With `skipCSRFCheck` there is no token, and the answer is empty.
  const isOff = csrf.statusCode === 404 && csrf.body === "";
  if (csrf.statusCode !== 200 && !isOff) throw failed(csrf, `no auth routes at "${prefix}", which \`prefix\` names`);
  const started = await inject({
    method: "POST",
    url: `${prefix}/signin/${provider}?${new URLSearchParams(parameters)}`,
    headers: FORM,
    payload: `${new URLSearchParams(isOff ? {} : { csrfToken: csrf.json().csrfToken })}`,
  });
  if (started.statusCode !== 200) throw failed(started, `the application refused to start it with "${provider}"`);
  const callback = await visitIssuer(started.json().url, issuer, user);
  // Only the query counts: the public path may be another than that in the application.
  const url = `${prefix}/callback/${provider}${callback.search}`;
  const finished = await inject({ url, headers: { accept: FORM.accept } });
  if (finished.statusCode !== 200) throw failed(finished, "the application refused it");
  return inject;
}

/** What a browser is redirected to by the authorization endpoint. */
async function visitIssuer(address: string, issuer: string, user: IssuerUser | undefined): Promise<URL> {
  if (!address.startsWith(`${issuer}/`)) {
    throw new Error(`The sign-in leads to ${address}, and the issuer is ${issuer}: which \`provider\` uses it?`);
  }
  const url = new URL(address);
  if (user !== undefined) url.searchParams.set(USER, JSON.stringify(user));
  const response = await fetch(url, { redirect: "manual" });
  const body = await response.text();
  const location = response.headers.get("location");
  if (location !== null) return new URL(location);
  throw new Error(`The issuer answered with ${response.status}: ${body}`);
}

function failed({ statusCode, body }: LightMyRequestResponse, why: string): Error {
  return new Error(`The sign-in failed, ${why}: ${statusCode} ${body.slice(0, 500)}`);
}
