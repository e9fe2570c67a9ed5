/**
 * A provider whose tokens are refreshed, and an application that a user is signed in to with it.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { type AuthObject, createAuth, customFetch, type FastifyAuthConfig } from "fastify-authjs";
import type { Provider } from "fastify-authjs/providers";
import { testConfig } from "./app.ts";
import { type Answer, Client } from "./client.ts";
import { withClock } from "./clock.ts";

/** A provider whose requests go to a function. */
export function acmeProvider(answer: (request: Request) => Promise<Response>): Provider {
  return {
    id: "acme",
    name: "Acme",
    type: "oauth",
    clientId: "id",
    clientSecret: "secret",
    authorization: "https://acme.example/authorize",
    token: "https://acme.example/token",
    userinfo: "https://acme.example/userinfo",
    checks: ["state"],
    profile: ({ id, name, email }: { id: string; name: string; email?: string }) => ({ id, name, email }),
    [customFetch]: (input: string | URL | Request, init?: RequestInit) => answer(new Request(input, init)),
  } as unknown as Provider;
}

/** A token endpoint, whose refresh tokens can be used once. */
export class Acme {
  /** How long its access tokens live, in seconds. */
  lifetime = 3600;
  /** A refresh is answered after this. */
  before: Promise<unknown> | undefined;
  /** Answers in place of a refresh. */
  answer: (() => Response | Promise<Response>) | undefined;
  issuesRefreshTokens = true;
  refreshes = 0;
  readonly requests: Request[] = [];
  #issued = 0;
  #valid = "";

  readonly provider: Provider = acmeProvider((request) => this.#fetch(request));

  async #fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === "/userinfo") return Response.json({ id: "1", name: "ada" });
    this.requests.push(request.clone());
    const form = new URLSearchParams(await request.text());
    if (form.get("grant_type") !== "refresh_token") return this.#issue();
    this.refreshes++;
    await this.before;
    if (this.answer !== undefined) return await this.answer();
    if (form.get("refresh_token") !== this.#valid) {
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    }
    return this.#issue();
  }

  #issue(): Response {
    this.#issued++;
    this.#valid = `refresh-${this.#issued}`;
    return Response.json({
      access_token: `access-${this.#issued}`,
      ...(this.issuesRefreshTokens && { refresh_token: this.#valid }),
      token_type: "bearer",
      expires_in: this.lifetime,
    });
  }
}

/** An application, and a browser. */
export interface TokenApp extends AsyncDisposable {
  readonly acme: Acme;
  readonly auth: AuthObject;
  readonly app: FastifyInstance;
  readonly client: Client;
}

/** How the application is made. */
export interface TokenAppOptions {
  /** Besides the provider and `refreshTokens`. */
  readonly config?: Partial<FastifyAuthConfig>;
  /** The provider. */
  readonly acme?: Acme;
  readonly logger?: FastifyServerOptions["logger"];
  /** Adds routes, before any request is sent. */
  readonly routes?: (app: FastifyInstance, auth: AuthObject) => void;
}

/** An application with `refreshTokens` that no user is signed in to. */
export async function tokenApp(
  { config = {}, acme = new Acme(), logger, routes }: TokenAppOptions = {},
): Promise<TokenApp> {
  const auth = createAuth(testConfig({ providers: [acme.provider], refreshTokens: true, ...config }));
  const app = Fastify(logger === undefined ? {} : { logger }) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/claims", async (request) => ({ claims: await auth.getToken(request) }));
  app.get("/access", async (request) => ({ token: await auth.getAccessToken(request, "acme") }));
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  routes?.(app, auth);
  return { acme, auth, app, client: new Client(app), [Symbol.asyncDispose]: () => app.close() };
}

/**
 * The same with a user who is signed in.
 *
 * @param lifetime Seconds that the access token of the sign-in lives; the later ones live for an hour.
 */
export async function signedInApp(
  { lifetime = 3600, ...options }: TokenAppOptions & { readonly lifetime?: number } = {},
): Promise<TokenApp> {
  const opened = await tokenApp(options);
  opened.acme.lifetime = lifetime;
  await signIn(opened.client);
  opened.acme.lifetime = 3600;
  return opened;
}

/** Signs in with the provider. */
export async function signIn(client: Client, provider = "acme"): Promise<void> {
  assertEquals((await finishSignIn(client, provider)).statusCode, 302);
}

/** The callback of a sign-in with the provider. */
export async function finishSignIn(client: Client, provider = "acme"): Promise<Answer> {
  const started = await client.post(`/auth/signin/${provider}`, { csrfToken: await client.csrfToken() });
  const { searchParams } = new URL(String(started.headers.location));
  const query = new URLSearchParams({ code: "code", state: searchParams.get("state")! });
  return await client.get(`/auth/callback/${provider}?${query}`);
}

/** What the application gets of `getAccessToken()`. */
export const access = async (client: Client) => (await client.get("/access")).json();

/** Does something some seconds later. */
export function later<T>(seconds: number, act: () => Promise<T>): Promise<T> {
  return withClock((clock) => {
    clock.now += seconds * 1000;
    return act();
  });
}
