/** Guards that require how and when the user was authenticated, with a real OpenID Provider. */
import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import type { Configuration } from "oidc-provider";
import { base, Check } from "oidc-provider/lib/helpers/interaction_policy/index.js";
import {
  type AuthObject,
  createAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  type JWT,
  requireSession,
  type RequireSessionOptions,
  type RouteAuthConfig,
} from "fastify-authjs";
import type { Provider } from "fastify-authjs/providers";
import { signedIn, startIssuer } from "fastify-authjs/testing";
import { captureLog, type LogLine, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { signedInApp } from "../../support/token_provider.ts";
import { locationOf, pathOf, startSignIn } from "../../support/oauth_client.ts";
import { type OpenIdProvider, ProviderBrowser, startOpenIdProvider } from "../../support/openid_provider.ts";

const HTML = { accept: "text/html" };
const PASSWORD = "urn:example:password", SECOND_FACTOR = "urn:example:second-factor";

/** What the provider knows of a request, as its checks get it. */
interface Asked {
  readonly oidc: { readonly params: { readonly acr_values?: string }; readonly acr?: string };
}

/** Makes users authenticate anew if the class that the client asks for is not that of their session. */
function policy(): Configuration["interactions"] {
  const prompts = base();
  prompts.get("login")!.checks.push(
    new Check("acr", "another class is asked for", "login_required", ({ oidc }: Asked) => {
      const { acr_values } = oidc.params;
      return acr_values !== undefined && !acr_values.split(" ").includes(oidc.acr ?? "");
    }),
  );
  return { policy: prompts, url: (_context, { uid }) => `/interaction/${uid}` };
}

interface Setup {
  readonly app: FastifyInstance;
  readonly auth: AuthObject;
  readonly op: OpenIdProvider;
  readonly lines: LogLine[];
  /** A browser that is signed in. */
  readonly browser: Client;
  /** Follows a redirect to the provider and back, and requests the page that it leads to. */
  goThrough(answer: Answer): Promise<Answer>;
}

/** Signs Ada in, and requests `/page` of an application as its guard requires it. */
async function withGuard(
  options: RequireSessionOptions,
  run: (setup: Setup) => Promise<void>,
  { config = {}, provider = {} }: { config?: Partial<FastifyAuthConfig>; provider?: Configuration } = {},
): Promise<void> {
  await using op = await startOpenIdProvider([{
    client_id: "client",
    client_secret: "secret",
    redirect_uris: ["http://localhost/auth/callback/op"],
  }], { acrValues: [PASSWORD, SECOND_FACTOR], claims: { openid: ["sub", "amr"] }, ...provider });
  const settings = { id: "op", name: "OP", type: "oidc", clientId: "client", clientSecret: "secret" };
  const { logger, lines } = captureLog();
  const providers = [{ ...settings, issuer: op.issuer }] as unknown as FastifyAuthConfig["providers"];
  const auth = createAuth(testConfig({ providers, stepUp: true, ...config }));
  await using app = Fastify({ logger }) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/page", { onRequest: auth.requireSession(options) }, () => "page");
  app.get("/claims", (request) => auth.getToken(request));
  app.get("/me", async (request) => ({ signedIn: await auth.getSession(request) !== null }));
  const declared: RouteAuthConfig = { auth: options };
  app.get("/declared", { config: declared }, () => "declared");
  const browser = new Client(app);
  const atProvider = new ProviderBrowser();
  const goThrough = async (answer: Answer) => {
    const { url } = await atProvider.visit(locationOf(answer));
    const back = await browser.get(pathOf(url));
    return await browser.get(pathOf(new URL(locationOf(back), "http://localhost").href), { headers: HTML });
  };
  op.authentication = { acr: PASSWORD, amr: ["pwd"] };
  await goThrough(await startSignIn(browser));
  await run({ app, auth, op, lines, browser, goThrough });
}

const page = (browser: Client) => browser.get("/page?a=1", { headers: HTML });

const parameters = (answer: Answer) => Object.fromEntries(new URL(locationOf(answer)).searchParams);

Deno.test("a user who was authenticated too long ago signs in again, and returns to the page", () =>
  withClock((clock) =>
    withGuard({ maxAge: 300 }, async ({ op, browser, goThrough }) => {
      // The provider says when only if it is asked, and does not ask Ada for that.
      const first = await page(browser);
      assertEquals([first.statusCode, new URL(locationOf(first)).origin], [302, op.issuer]);
      const { max_age, acr_values, prompt } = parameters(first);
      assertEquals([max_age, acr_values, prompt], ["300", undefined, undefined]);
      assertEquals([(await goThrough(first)).body, op.logins], ["page", 1]);
      clock.now += 299_000;
      assertEquals((await page(browser)).body, "page");
      clock.now += 2_000;
      const again = await page(browser);
      assertEquals(parameters(again).max_age, "300");
      assertMatch(String(again.headers["cache-control"]), /no-store/);
      assertEquals([(await goThrough(again)).body, op.logins], ["page", 2]);
      // Once more, with the cookie of the sign-in before.
      clock.now += 301_000;
      assertEquals([(await goThrough(await page(browser))).body, op.logins], ["page", 3]);
    })
  ));

Deno.test("a class that the provider did not use is asked for", () =>
  withGuard({ acr: [SECOND_FACTOR, "urn:example:more"] }, async ({ op, browser, goThrough }) => {
    op.authentication = { acr: SECOND_FACTOR };
    const answer = await page(browser);
    assertEquals(parameters(answer).acr_values, `${SECOND_FACTOR} urn:example:more`);
    assertEquals([(await goThrough(answer)).body, op.logins], ["page", 2]);
    assertEquals((await browser.get("/claims")).json().acr, SECOND_FACTOR);
  }, { provider: { interactions: policy()! } }));

Deno.test("methods must all have been used", () =>
  withGuard({ amr: ["pwd", "otp"] }, async ({ op, browser, goThrough }) => {
    op.authentication = { amr: ["pwd", "otp"] };
    const answer = await page(browser);
    assertEquals(parameters(answer).prompt, "login");
    assertEquals([(await goThrough(answer)).body, op.logins], ["page", 2]);
  }));

Deno.test("a provider that does not do as it is asked is not asked without end", () =>
  withGuard({ acr: SECOND_FACTOR }, async ({ browser, goThrough, lines }) => {
    for (let i = 0; i < 2; i++) {
      const refused = await goThrough(await page(browser));
      assertEquals([refused.statusCode, refused.json().code], [403, "FST_AUTHJS_FORBIDDEN"]);
    }
    const warnings = lines.filter((line) => JSON.stringify(line).includes("FST_AUTHJS_WARN_STEP_UP"));
    assertEquals(warnings.length, 1);
    assertStringIncludes(JSON.stringify(warnings), "op");
    assertEquals((await browser.get("/claims")).json().signIn.provider, "op");
  }));

Deno.test("a request that is for no page gets a 401 that says what is required", () =>
  withGuard({ maxAge: 60, acr: SECOND_FACTOR }, async ({ browser }) => {
    const answer = await browser.get("/page");
    assertEquals([answer.statusCode, answer.json().code], [401, "FST_AUTHJS_STEP_UP_REQUIRED"]);
    assertEquals(
      answer.headers["www-authenticate"],
      `Cookie error="insufficient_user_authentication", max_age="60", acr_values="${SECOND_FACTOR}"`,
    );
    assertEquals(setCookies(answer), []);
    const stranger = await browser.get("/page", { headers: { cookie: "a=b" } });
    assertEquals(stranger.json().code, "FST_AUTHJS_UNAUTHENTICATED");
  }));

Deno.test("a route declares it in its config, and a bearer token has the claims of its session", () =>
  withGuard({ maxAge: 300 }, async ({ app, browser, goThrough }) => {
    const answer = await browser.get("/declared", { headers: HTML });
    assertEquals(parameters(answer).max_age, "300");
    assertEquals((await goThrough(answer)).body, "declared");
    const issued = await browser.request("POST", "/auth/token", {
      json: { csrfToken: await browser.csrfToken() },
    });
    const headers = { ...HTML, authorization: `Bearer ${issued.json().access_token}` };
    assertEquals((await app.inject({ url: "/page", headers })).body, "page");
    await withClock(async (clock) => {
      clock.now += 301_000;
      const late = await app.inject({ url: "/page", headers });
      assertEquals(late.statusCode, 401);
      assertMatch(
        String(late.headers["www-authenticate"]),
        /^Bearer error="insufficient_user_authentication"/,
      );
    });
  }, { config: { bearer: true } }));

Deno.test("a user of a password signs in again on the sign-in page", async () => {
  const auth = createAuth(testConfig({ stepUp: true }));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/page", { onRequest: auth.requireSession({ maxAge: 60 }) }, () => "page");
  const browser = new Client(app);
  const mine = { username: "ada", password: "open" };
  await browser.signIn(mine);
  assertEquals((await page(browser)).body, "page");
  await withClock(async (clock) => {
    clock.now += 61_000;
    assertStringIncludes(
      locationOf(await page(browser)),
      "/auth/signin?error=SessionRequired&callbackUrl=%2Fpage",
    );
    await browser.signIn(mine);
    assertEquals((await page(browser)).body, "page");
  });
});

Deno.test("a user of a password signs in again on the application's own page, which a scope without the plugin has, too", async () => {
  const auth = createAuth(testConfig({ stepUp: true, pages: { signIn: "/login" } }));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/page", { onRequest: auth.requireSession({ maxAge: 60 }) }, () => "page");
  const browser = new Client(app);
  await browser.signIn({ username: "ada", password: "open" });
  await withClock(async (clock) => {
    clock.now += 61_000;
    assertStringIncludes(locationOf(await page(browser)), "/login?error=SessionRequired&callbackUrl=%2Fpage");
  });
});

Deno.test("an application without pages refuses a user who was authenticated too long ago", async () => {
  const auth = createAuth(testConfig({ stepUp: true }));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  const browser = new Client(app);
  await browser.signIn({ username: "ada", password: "open" });
  await using elsewhere = Fastify() as FastifyInstance;
  elsewhere.get("/page", { onRequest: auth.requireSession({ maxAge: 60 }) }, () => "page");
  await withClock(async (clock) => {
    clock.now += 61_000;
    const answer = await elsewhere.inject({ url: "/page", headers: { ...HTML, cookie: browser.cookie! } });
    assertEquals(answer.statusCode, 401);
  });
});

Deno.test("a sign-in by OAuth says nothing of when the user was authenticated", async () => {
  await using opened = await signedInApp({ config: { stepUp: true } });
  const { claims } = (await opened.client.get("/claims")).json();
  assertEquals([claims.auth_time, claims.signIn.provider], [undefined, "acme"]);
});

Deno.test("the claims that callbacks.jwt sets count, and an update keeps them", () =>
  withGuard({ amr: "otp" }, async ({ browser }) => {
    assertEquals((await page(browser)).body, "page");
    const csrfToken = await browser.csrfToken();
    await browser.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
    assertEquals((await page(browser)).body, "page");
  }, {
    config: { callbacks: { jwt: ({ token, account }) => account ? { ...token, amr: ["otp"] } : token } },
  }));

Deno.test("an auth_time far ahead does not count, and one of a provider whose clock is ahead does", async () => {
  for (
    const [auth_time, passes] of [[Date.now() / 1000 + 3600, true], [Date.now(), false], [Infinity, false]] as const
  ) {
    const jwt = ({ token }: { token: JWT }) => ({ ...token, auth_time });
    await withGuard({ maxAge: 300 }, async ({ browser }) => {
      assertEquals((await browser.get("/page")).statusCode, passes ? 200 : 401, String(auth_time));
    }, { config: { callbacks: { jwt } } });
  }
});

Deno.test("what cannot be meant is refused at once", () => {
  const config = testConfig({ stepUp: true });
  const mistakes: RequireSessionOptions[] = [
    { maxAge: 0 },
    { maxAge: "60" as never },
    { maxAge: undefined as never },
    { acr: [] },
    { acr: "a b" },
    { amr: "" },
    { amr: undefined as never },
    { acr: ['"'] },
    { acr: 1 as never },
  ];
  for (const wrong of mistakes) {
    const error = assertThrows(() => requireSession(config, wrong), FastifyAuthError);
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
  }
  const error = assertThrows(() => requireSession(testConfig(), { maxAge: 60 }), FastifyAuthError);
  assertStringIncludes(error.message, "`stepUp: true`");
});

Deno.test("without `stepUp` session tokens are as ever", async () => {
  const auth = createAuth(testConfig());
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/claims", (request) => auth.getToken(request));
  const browser = new Client(app);
  await browser.signIn({ username: "ada", password: "open" });
  const claims = (await browser.get("/claims")).json();
  assertEquals([claims.name, claims.auth_time, claims.signIn], ["ada", undefined, undefined]);
});

const inDatabase = () => ({ adapter: memoryAdapter(), session: { strategy: "database" as const } });

/** The name of the cookie beside a session in a database. */
const SIGN_IN = "authjs.sign-in";

Deno.test("with sessions in a database, when the user was authenticated is kept beside the session", () =>
  withClock((clock) =>
    withGuard({ maxAge: 300 }, async ({ op, browser, goThrough }) => {
      const first = await page(browser);
      assertEquals(parameters(first).max_age, "300");
      assertEquals([(await goThrough(first)).body, op.logins], ["page", 1]);
      clock.now += 301_000;
      const again = await page(browser);
      assertEquals(parameters(again).max_age, "300");
      assertEquals([(await goThrough(again)).body, op.logins], ["page", 2]);
      await browser.signOut();
      assertEquals(browser.cookies.has(SIGN_IN), false);
    }, { config: inDatabase() })
  ));

Deno.test("with sessions in a database, the class and the methods of the sign-in count", () =>
  withGuard({ acr: SECOND_FACTOR, amr: "otp" }, async ({ op, browser, goThrough, lines }) => {
    const vain = await goThrough(await page(browser));
    assertEquals([vain.statusCode, vain.json().code], [403, "FST_AUTHJS_FORBIDDEN"]);
    assertStringIncludes(JSON.stringify(lines), "FST_AUTHJS_WARN_STEP_UP");
    op.authentication = { acr: SECOND_FACTOR, amr: ["pwd", "otp"] };
    assertEquals((await goThrough(await page(browser))).body, "page");
    const session = (await browser.get("/auth/session")).json();
    assertEquals(Object.keys(session).sort(), ["expires", "user"]);
  }, { config: inDatabase() }));

Deno.test("what is kept beside a session counts for that session alone, and cannot be forged", () => {
  const database = inDatabase();
  return withGuard({ maxAge: 300 }, async ({ app, browser, goThrough }) => {
    assertEquals((await goThrough(await page(browser))).body, "page");
    const held = browser.cookies.get(SIGN_IN)!;
    const [payload, signature] = held.split(".");
    const forged = btoa(JSON.stringify({ auth_time: 9e9 })).replaceAll("=", "");
    for (const value of [`${forged}.${signature}`, `${payload}.`, payload!, "", ".", `${forged}.${forged}`]) {
      browser.cookies.set(SIGN_IN, value);
      assertEquals((await page(browser)).statusCode, 302, value);
    }
    browser.cookies.set(SIGN_IN, held);
    assertEquals((await page(browser)).body, "page");
    // A session of the same user in another browser, which has not signed in for this.
    const other = new Client(app);
    const issued = await browser.request("POST", "/auth/token", {
      json: { csrfToken: await browser.csrfToken() },
    });
    const token = issued.json().access_token;
    const { user } = (await database.adapter!.getSessionAndUser!(browser.cookies.get("authjs.session-token")!))!;
    const expires = new Date(Date.now() + 3600_000);
    await database.adapter!.createSession!({ sessionToken: "another", userId: user.id, expires });
    other.cookies.set("authjs.session-token", "another");
    other.cookies.set(SIGN_IN, held);
    assertEquals((await other.get("/me")).json(), { signedIn: true });
    assertEquals((await page(other)).statusCode, 302);
    // A bearer token is of a session of its own.
    const headers = { ...HTML, authorization: `Bearer ${token}`, cookie: browser.cookie! };
    const bearer = await app.inject({ url: "/page", headers });
    assertEquals([bearer.statusCode, bearer.json().code], [401, "FST_AUTHJS_STEP_UP_REQUIRED"]);
  }, { config: { ...database, bearer: true } });
});

Deno.test("authorize() says how the user was authenticated, wherever sessions are kept", async () => {
  const rows = { ...inDatabase() };
  for (const kept of [{} as Partial<typeof rows>, rows]) {
    const { adapter } = kept;
    const ada = await adapter?.createUser({
      id: "1",
      name: "ada",
      email: "a@b.example",
      emailVerified: null,
    });
    const provider = {
      id: "credentials",
      name: "Password",
      type: "credentials",
      credentials: {},
      authorize: ({ otp }: { otp?: string }) => ({
        id: ada?.id ?? "1",
        name: "ada",
        amr: otp ? ["pwd", "otp"] : ["pwd"],
      }),
    };
    const providers = [provider] as unknown as FastifyAuthConfig["providers"];
    const auth = createAuth(testConfig({ providers, stepUp: true, ...kept }));
    await using app = Fastify() as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/page", { onRequest: auth.requireSession({ amr: "otp", maxAge: 60 }) }, () => "page");
    const browser = new Client(app);
    await browser.signIn({});
    assertStringIncludes(locationOf(await page(browser)), "/auth/signin");
    await browser.signIn({ otp: "123456" });
    assertEquals((await page(browser)).body, "page");
  }
});

Deno.test("signedIn() signs in for guards that require how, wherever sessions are kept", async () => {
  for (const kept of [{}, inDatabase()]) {
    const auth = createAuth(testConfig({ providers: [], stepUp: true, ...kept }));
    await using app = Fastify() as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/page", { onRequest: auth.requireSession({ maxAge: 60, amr: "otp" }) }, () => "page");
    const user = { name: "Ada", email: "ada@example.com" };
    const plain = await signedIn(app, auth, { user });
    assertEquals((await plain("/page")).json().code, "FST_AUTHJS_STEP_UP_REQUIRED");
    const stepped = await signedIn(app, auth, { user, claims: { amr: ["otp"] } });
    assertEquals((await stepped("/page")).body, "page");
  }
});

for (const strategy of ["jwt", "database"] as const) {
  Deno.test(`an account that is linked by its address has no claims of another user's session (${strategy})`, async () => {
    await using issuer = await startIssuer();
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    for (const id of ["ada", "bob"]) {
      tables.users.set(id, { id, name: id, email: `${id}@example.com`, emailVerified: null });
    }
    const authorize = () => ({ id: "ada", name: "ada", amr: ["hwk"] });
    const password = { id: "credentials", name: "Password", type: "credentials", credentials: {}, authorize };
    const work = issuer.provider({ id: "work", name: "Work" });
    const auth = createAuth(testConfig({
      adapter: memoryAdapter(tables),
      providers: [password as never, { ...work as object, allowDangerousEmailAccountLinking: true } as Provider],
      session: { strategy },
      stepUp: true,
    }));
    await using app = Fastify() as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/key", { onRequest: auth.requireSession({ amr: "hwk" }) }, () => "in");
    const client = new Client(app);
    const started = await client.post("/auth/signin/work", { csrfToken: await client.csrfToken() });
    // In another tab, meanwhile.
    await client.signIn({ username: "ada", password: "open" });
    assertEquals((await client.get("/key")).statusCode, 200);
    issuer.user = { sub: "w-1", name: "Bob", email: "bob@example.com", email_verified: true };
    const sent = await fetch(String(started.headers.location), { redirect: "manual" });
    await sent.body?.cancel();
    await client.get(pathOf(sent.headers.get("location")!));
    assertEquals((await client.get("/auth/session")).json().user.email, "bob@example.com");
    assertEquals((await client.get("/key")).statusCode, 401);
  });
}

for (const strategy of ["jwt", "database"] as const) {
  Deno.test(`a step-up with somebody else's account does not open the page to the user of the session (${strategy})`, async () => {
    await using issuer = await startIssuer();
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    const auth = createAuth(testConfig({
      adapter: memoryAdapter(tables),
      providers: [issuer.provider({ id: "work", name: "Work" })],
      session: { strategy },
      stepUp: true,
    }));
    await using app = Fastify() as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/key", { onRequest: auth.requireSession({ acr: "gold" }) }, () => "in");
    const client = new Client(app);
    const finish = async (address: unknown, sub: string) => {
      issuer.user = { sub, name: sub, email: `${sub}@example.com` };
      const sent = await fetch(String(address), { redirect: "manual" });
      await sent.body?.cancel();
      await client.get(pathOf(sent.headers.get("location")!));
    };
    const started = await client.post("/auth/signin/work", { csrfToken: await client.csrfToken() });
    await finish(started.headers.location, "ada");
    // Whoever has her session signs in with an account that is not hers, until the page opens.
    for (let round = 0; round < 2; round++) {
      const asked = await client.get("/key", { headers: { accept: "text/html" } });
      if (asked.statusCode === 200) break;
      await finish(asked.headers.location, "mallory");
    }
    assertEquals((await client.get("/key")).statusCode, 200);
    assertEquals((await client.get("/auth/session")).json().user.email, "mallory@example.com");
    assertEquals(new Set(tables.accounts.map(({ userId }) => userId)).size, 2);
  });
}
