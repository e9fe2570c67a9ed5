/**
 * An application whose users sign in with a real OpenID Provider that can end their sessions, and the browsers of its
 * user, Ada.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { Adapter } from "@auth/core/adapters";
import Fastify, { type FastifyInstance } from "fastify";
import type { ClientMetadata, Configuration } from "oidc-provider";
import { type AuthObject, createAuth, type FastifyAuthConfig } from "fastify-authjs";
import { captureLog, type LogLine, passwordProvider, testConfig } from "./app.ts";
import { type Answer, Client } from "./client.ts";
import { memoryAdapter, type MemoryTables } from "./memory_adapter.ts";
import { locationOf, pathOf, startSignIn } from "./oauth_client.ts";
import { type OpenIdProvider, ProviderBrowser, startOpenIdProvider } from "./openid_provider.ts";

/** What a test works with. */
export interface SignOutSetup {
  readonly app: FastifyInstance;
  readonly auth: AuthObject;
  readonly op: OpenIdProvider;
  readonly lines: LogLine[];
  /** The answers to the logout tokens that the provider has sent. */
  readonly delivered: Answer[];
  /** The rows, with an adapter. */
  readonly tables: MemoryTables;
  /** A browser that is signed in, here and at the provider. */
  signIn(): Promise<Browsers>;
}

/** One user's browser: what it has of the application, and what of the provider. */
export interface Browsers {
  readonly browser: Client;
  readonly atProvider: ProviderBrowser;
}

/** How an application and its provider differ. */
export interface SignOutOptions {
  readonly config?: Partial<FastifyAuthConfig>;
  /** What the application says of the provider. */
  readonly provider?: Record<PropertyKey, unknown>;
  /** What the provider knows of the application. */
  readonly client?: Partial<ClientMetadata>;
  readonly atProvider?: Configuration;
  /** Where sessions are rows: the adapter over these tables. */
  readonly adapter?: (adapter: Adapter, tables: MemoryTables) => Adapter;
  /** Where the auth routes are. */
  readonly prefix?: string;
}

/** Runs a test with them. */
export async function withSignOut(
  { config = {}, provider = {}, client = {}, atProvider, adapter, prefix = "/auth" }: SignOutOptions,
  run: (setup: SignOutSetup) => Promise<void>,
): Promise<void> {
  const delivered: Answer[] = [];
  /** The provider's request to the application, which does not listen. */
  const deliver = async (url: string, { method, headers, body }: RequestInit) => {
    const { pathname } = new URL(url);
    const answer = await app.inject({
      method: method as "POST",
      url: pathname,
      headers: Object.fromEntries(new Headers(headers)),
      payload: String(body),
    });
    delivered.push(answer);
    return new Response(null, { status: answer.statusCode });
  };
  await using op = await startOpenIdProvider([{
    client_id: "client",
    client_secret: "secret",
    redirect_uris: [`http://localhost${prefix}/callback/op`],
    post_logout_redirect_uris: [`http://localhost${prefix}/signed-out`],
    ...client,
  }], { ...atProvider, fetch: deliver } as Configuration);
  const settings = { id: "op", name: "OP", type: "oidc", clientId: "client", clientSecret: "secret" };
  const { logger, lines } = captureLog();
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const providers = [
    { ...settings, issuer: op.issuer, ...provider },
    passwordProvider(),
  ] as unknown as FastifyAuthConfig["providers"];
  const auth = createAuth(testConfig({
    providers,
    ...(adapter && { adapter: adapter(memoryAdapter(tables), tables) }),
    ...config,
  }));
  await using app = Fastify({ logger }) as FastifyInstance;
  await app.register(auth.plugin, { prefix });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.get("/claims", (request) => auth.getToken(request));
  app.post("/leave", (request, reply) => auth.signOut(request, reply, (request.body ?? {}) as object));
  app.post("/quit", (request, reply) => auth.signOut(request, reply, { redirect: false }));
  app.post("/update", (request, reply) => auth.updateSession(request, reply, {}));
  const signIn = async () => {
    const browser = new Client(app, {}, prefix);
    const atProvider = new ProviderBrowser();
    const csrfToken = await browser.csrfToken();
    const { url } = await atProvider.visit(
      locationOf(await browser.post(`${prefix}/signin/op`, { csrfToken })),
    );
    await browser.get(pathOf(url));
    assert(await isSignedIn(browser));
    return { browser, atProvider };
  };
  await run({ app, auth, op, lines, delivered, tables, signIn });
}

/** Whether a browser is signed in to the application. */
export async function isSignedIn(browser: Client): Promise<boolean> {
  return (await browser.get("/me")).json().session !== null;
}

/** Whether the provider shows no log-in to a browser that it knows. */
export async function isKnownAtProvider(
  { op, app }: SignOutSetup,
  { atProvider }: Browsers,
): Promise<boolean> {
  const { logins } = op;
  await atProvider.visit(locationOf(await startSignIn(new Client(app))));
  return op.logins === logins;
}

/** The warnings and errors that were logged. */
export function problemsIn(lines: readonly LogLine[]): string[] {
  return lines.filter(({ level }) => level >= 40).map(({ msg }) => msg);
}
