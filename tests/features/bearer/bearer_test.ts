/** Session tokens in `Authorization: Bearer`, and the route that issues them. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { decode, encode, type JWT, type JWTEncodeParams } from "@auth/core/jwt";
import { Buffer } from "node:buffer";
import type { Adapter } from "@auth/core/adapters";
import Fastify, { type FastifyInstance } from "fastify";
import { type AuthObject, createAuth, type FastifyAuthConfig, memoryStore } from "fastify-authjs";
import { withSessionList } from "fastify-authjs/adapters";
import { startIssuer } from "fastify-authjs/testing";
import GitHub from "fastify-authjs/providers/github";
import { SECRET, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { testStore } from "../../support/test_store.ts";

const MINE = { username: "ada", password: "open" };

interface Setup {
  readonly auth: AuthObject;
  readonly app: FastifyInstance;
}

async function setUp(overrides: Partial<FastifyAuthConfig> = {}): Promise<Setup> {
  const auth = createAuth(testConfig({ bearer: true, ...overrides }));
  const app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.get("/guarded", { onRequest: auth.requireSession() }, () => "for you");
  return { auth, app };
}

/** A request without cookies. */
async function withBearer(app: FastifyInstance, url: string, token: string, headers = {}): Promise<Answer> {
  return await app.inject({ url, headers: { authorization: `Bearer ${token}`, ...headers } });
}

/** Asks for a token with the session of the browser. */
async function issue(
  client: Client,
): Promise<{ access_token: string; token_type: string; expires_in: number }> {
  const answer = await client.request("POST", "/auth/token", {
    json: { csrfToken: await client.csrfToken() },
  });
  assertEquals(answer.statusCode, 200);
  assert(String(answer.headers["cache-control"]).includes("no-store"));
  return answer.json();
}

async function signedIn(app: FastifyInstance): Promise<Client> {
  const client = new Client(app);
  await client.signIn(MINE);
  return client;
}

Deno.test("a signed-in user gets a token, which getSession() and guards accept without a cookie", async () => {
  const { app } = await setUp({ bearer: { maxAge: 600 } });
  await using _ = app;
  const { access_token, token_type, expires_in } = await issue(await signedIn(app));
  assertEquals([token_type, expires_in], ["Bearer", 600]);
  for (const scheme of ["Bearer", "bearer"]) {
    const answer = await app.inject({ url: "/me", headers: { authorization: `${scheme} ${access_token}` } });
    assertEquals([answer.json().session.user.name, setCookies(answer)], ["ada", []]);
  }
  assertEquals((await withBearer(app, "/guarded", access_token)).body, "for you");
  assertEquals((await withBearer(app, "/auth/session", access_token)).json().user.name, "ada");
});

Deno.test("in a JWT the claim `token_use` tells a bearer token from a cookie, for every build of the plugin", async () => {
  const { app } = await setUp();
  await using _ = app;
  const client = await signedIn(app);
  const { access_token } = await issue(client);
  const use = async (token: string) =>
    (await decode({ token, secret: SECRET, salt: "authjs.session-token" }))!.token_use;
  assertEquals(await use(access_token), "bearer");
  assertEquals(await use(client.cookies.get("authjs.session-token")!), undefined);
});

Deno.test("without `bearer` the header is not looked at, and there is no route", async () => {
  const { app } = await setUp({ bearer: false });
  await using _ = app;
  const client = await signedIn(app);
  const token = client.cookies.get("authjs.session-token")!;
  assertEquals((await withBearer(app, "/me", token)).json(), { session: null });
  assertEquals(
    (await client.get("/me", { headers: { authorization: "Bearer x" } })).json().session.user.name,
    "ada",
  );
  const csrfToken = await client.csrfToken();
  assertEquals((await client.request("POST", "/auth/token", { json: { csrfToken } })).statusCode, 404);
});

Deno.test("a bearer token counts in place of the cookie, which stays as it is", async () => {
  const { app } = await setUp();
  await using _ = app;
  const ada = await signedIn(app);
  const bob = new Client(app);
  await bob.signIn({ username: "bob", password: "open" });
  const { access_token } = await issue(ada);
  const both = await bob.get("/me", { headers: { authorization: `Bearer ${access_token}` } });
  assertEquals([both.json().session.user.name, setCookies(both)], ["ada", []]);
  for (const wrong of ["forged", "", "a b", "!", `${access_token}x`, access_token.slice(0, -1)]) {
    const answer = await bob.get("/me", { headers: { authorization: `Bearer ${wrong}` } });
    assertEquals([answer.json(), setCookies(answer)], [{ session: null }, []], wrong);
  }
  const basic = await bob.get("/me", { headers: { authorization: "Basic YTpi" } });
  assertEquals(basic.json().session.user.name, "bob");
});

Deno.test("a token ends after its own lifetime, and is not renewed", async () => {
  const { app } = await setUp({ bearer: { maxAge: 600 } });
  await using _ = app;
  const { access_token } = await issue(await signedIn(app));
  await withClock(async (clock) => {
    clock.now += 500_000;
    const answer = await withBearer(app, "/me", access_token);
    assertEquals([answer.json().session.user.name, setCookies(answer)], ["ada", []]);
    clock.now += 200_000;
    assertEquals((await withBearer(app, "/me", access_token)).json(), { session: null });
  });
});

Deno.test("with a jwt callback that changes the claims, no cookie is written", async () => {
  let calls = 0;
  const { app } = await setUp({ callbacks: { jwt: ({ token }) => ({ ...token, calls: ++calls }) } });
  await using _ = app;
  const { access_token } = await issue(await signedIn(app));
  for (let i = 0; i < 2; i++) {
    const answer = await withBearer(app, "/me", access_token);
    assertEquals([answer.json().session.user.name, setCookies(answer)], ["ada", []]);
  }
});

Deno.test("a read of a bearer token takes no lock of the store, since the token is not renewed", async () => {
  const store = testStore();
  const callbacks: FastifyAuthConfig["callbacks"] = { jwt: ({ token }) => token };
  const { app } = await setUp({ bearer: { maxAge: 3600 }, store, callbacks });
  await using _ = app;
  const { access_token } = await issue(await signedIn(app));
  store.calls.length = 0;
  assertEquals((await withBearer(app, "/me", access_token)).json().session.user.name, "ada");
  assertEquals(store.calls, []);
});

Deno.test("what the jwt callback adds to a token is for one request: another begins with the same claims", async () => {
  const { app } = await setUp({
    callbacks: {
      jwt: ({ token }) => ({ ...token, count: ((token.count as number) ?? 0) + 1 }),
      session: ({ session, token }) => ({ ...session, count: token.count }),
    },
  });
  await using _ = app;
  const { access_token } = await issue(await signedIn(app));
  const count = async () => (await withBearer(app, "/me", access_token)).json().session.count;
  const first = await count();
  assert(first > 1, `${first}`);
  assertEquals([await count(), await count()], [first, first]);
});

Deno.test("a token is only issued with a session cookie and a CSRF token, from a page of the application", async () => {
  const { app } = await setUp();
  await using _ = app;
  const client = await signedIn(app);
  const { access_token } = await issue(client);
  const csrfToken = await client.csrfToken();
  const statusOf = async (json: object, headers: Record<string, string> = {}, by = client) =>
    (await by.request("POST", "/auth/token", { json, headers: { accept: "application/json", ...headers } }))
      .statusCode;
  assertEquals(await statusOf({}), 403);
  assertEquals(await statusOf({ csrfToken: "forged" }), 403);
  assertEquals(await statusOf({ csrfToken }, { "sec-fetch-site": "cross-site" }), 403);
  assertEquals(await statusOf({ csrfToken }, { authorization: `Bearer ${access_token}` }), 401);
  const stranger = new Client(app);
  assertEquals(await statusOf({ csrfToken: await stranger.csrfToken() }, {}, stranger), 401);
  assertEquals((await client.get("/auth/token")).statusCode, 405);
});

Deno.test("a guard answers a bearer token that is not accepted with 401 and a challenge, never a redirect", async () => {
  const { app } = await setUp();
  await using _ = app;
  const answer = await withBearer(app, "/guarded", "forged", { accept: "text/html" });
  assertEquals([answer.statusCode, answer.headers["www-authenticate"]], [
    401,
    'Bearer error="invalid_token"',
  ]);
  const none = await app.inject("/guarded");
  assertEquals([none.statusCode, none.headers["www-authenticate"]], [401, "Bearer"]);
});

Deno.test("with a database a token is a session of its own, with its own end", async () => {
  const adapter = memoryAdapter();
  const providers = [GitHub({ clientId: "id", clientSecret: "secret" })];
  const { app } = await setUp({ adapter, providers, bearer: { maxAge: 600 } });
  await using _ = app;
  const user = await adapter.createUser({
    id: "1",
    name: "ada",
    email: "ada@example.com",
    emailVerified: null,
  });
  await adapter.createSession({
    sessionToken: "row",
    userId: user.id,
    expires: new Date(Date.now() + 3600_000),
  });
  const client = new Client(app);
  client.cookies.set("authjs.session-token", "row");
  const { access_token } = await issue(client);
  assertNotEquals(access_token, "row");
  await client.signOut();
  const answer = await withBearer(app, "/me", access_token);
  assertEquals([answer.json().session.user.name, setCookies(answer)], ["ada", []]);
  const left = new Date(answer.json().session.expires).getTime() - Date.now();
  assert(left > 500_000 && left <= 600_000);
});

Deno.test("with a database a token says its own end also if sessions outlive their cookies", async () => {
  const adapter = memoryAdapter();
  const days = 24 * 3600;
  const providers = [GitHub({ clientId: "id", clientSecret: "secret" })];
  for (const bearer of [{ maxAge: 600 }, { maxAge: 500 * days }]) {
    const { app, auth } = await setUp({ adapter, providers, bearer, session: { maxAge: 1000 * days } });
    await using _ = app;
    app.get("/watch", async (request) => {
      let ended = false;
      const stop = await auth.onSessionEnd(request, () => void (ended = true));
      stop();
      return { ended };
    });
    const user = await adapter.createUser({ id: "1", name: "ada", email: "ada@example.com", emailVerified: null });
    const expires = new Date(Date.now() + 1000 * days * 1000);
    await adapter.createSession({ sessionToken: "row", userId: user.id, expires });
    const client = new Client(app);
    client.cookies.set("authjs.session-token", "row");
    const { access_token } = await issue(client);
    const { session } = (await withBearer(app, "/me", access_token)).json();
    const left = (Date.parse(session.expires) - Date.now()) / 1000;
    assert(left > bearer.maxAge - 60 && left <= bearer.maxAge, `${left}`);
    assertEquals((await withBearer(app, "/watch", access_token)).json(), { ended: false });
  }
});

Deno.test("with a database no token is issued for a session that ends meanwhile, or if the row cannot be kept", async () => {
  const memory = memoryAdapter();
  let meanwhile = () => Promise.resolve();
  const adapter = {
    ...memory,
    createSession: (row: never) => cannotKeep ? Promise.reject(new Error("no space left")) : memory.createSession(row),
  } as Adapter;
  let cannotKeep = false;
  const providers = [GitHub({ clientId: "id", clientSecret: "secret" })];
  const callbacks: FastifyAuthConfig["callbacks"] = {
    async session({ session }) {
      await meanwhile();
      return session;
    },
  };
  const { app } = await setUp({ adapter, providers, callbacks });
  await using _ = app;
  const user = await memory.createUser({ id: "1", name: "ada", email: "ada@example.com", emailVerified: null });
  const asked = async () => {
    await memory.createSession({
      sessionToken: "row",
      userId: user.id,
      expires: new Date(Date.now() + 3600_000),
    });
    const client = new Client(app);
    client.cookies.set("authjs.session-token", "row");
    return (await client.request("POST", "/auth/token", { json: { csrfToken: await client.csrfToken() } })).statusCode;
  };
  assertEquals(await asked(), 200);
  cannotKeep = true;
  assertEquals(await asked(), 503);
  cannotKeep = false;
  meanwhile = async () => void await memory.deleteSession("row");
  assertEquals(await asked(), 401);
  meanwhile = () => Promise.reject(new Error("boom"));
  assertEquals(await asked(), 503);
});

Deno.test("updateSession() and signOut() refuse a bearer token", async () => {
  const { app, auth } = await setUp();
  await using _ = app;
  app.post("/update", (request, reply) => auth.updateSession(request, reply, {}));
  app.post("/leave", (request, reply) => auth.signOut(request, reply));
  const { access_token } = await issue(await signedIn(app));
  for (const url of ["/update", "/leave"]) {
    const headers = { authorization: `Bearer ${access_token}` };
    assertEquals((await app.inject({ method: "POST", url, headers })).statusCode, 401);
  }
});

Deno.test("bearer must be a boolean, or have a lifetime of at most a session's", async () => {
  for (const bearer of ["yes", null, [], { maxAge: 0 }, { maxAge: "1" }, { maxAge: 31 * 24 * 3600 }] as never[]) {
    await using app = Fastify() as FastifyInstance;
    const config: FastifyAuthConfig = { providers: [], secret: SECRET, trustHost: true, bearer };
    const code = await app.register(createAuth(config).plugin, { prefix: "/auth" }).then(
      () => "none",
      (error) => error.code,
    );
    assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
  }
});

/** An application with sessions in a JWT, and one with sessions in a database, each with a browser that is signed in. */
async function withEachStrategy(
  run: (setup: Setup & { client: Client; cookie: string }) => Promise<void>,
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<void> {
  for (const strategy of ["jwt", "database"] as const) {
    const adapter = memoryAdapter();
    const user = await adapter.createUser({
      id: "1",
      name: "ada",
      email: "a@b.example",
      emailVerified: null,
    });
    const expires = new Date(Date.now() + 3600_000);
    await adapter.createSession({ sessionToken: "row", userId: user.id, expires });
    const database = { adapter, providers: [GitHub({ clientId: "id", clientSecret: "secret" })] };
    const { app, auth } = await setUp({ ...(strategy === "database" && database), ...overrides });
    await using _ = app;
    app.post("/leave", (request, reply) => auth.signOut(request, reply));
    const client = strategy === "jwt" ? await signedIn(app) : new Client(app);
    if (strategy === "database") client.cookies.set("authjs.session-token", "row");
    await run({ app, auth, client, cookie: client.cookies.get("authjs.session-token")! });
  }
}

Deno.test("a bearer token is no session cookie: it is not read, renewed, exchanged, or ended by it", () =>
  withEachStrategy(async ({ app, client }) => {
    const { access_token } = await issue(client);
    const thief = new Client(app);
    for (const variant of [access_token, `${access_token} `]) {
      thief.cookies.set("authjs.session-token", variant);
      for (const url of ["/me", "/auth/session"]) {
        const { session, user } = (await thief.get(url)).json() ?? {};
        assertEquals([session ?? null, user ?? null], [null, null]);
      }
      thief.cookies.set("authjs.session-token", variant);
      const json = { csrfToken: await thief.csrfToken() };
      const answer = await thief.request("POST", "/auth/token", {
        json,
        headers: { accept: "application/json" },
      });
      assertEquals(answer.statusCode, 401);
      thief.cookies.set("authjs.session-token", variant);
      await thief.signOut();
    }
    assertEquals((await withBearer(app, "/me", access_token)).json().session.user.name, "ada");
  }));

Deno.test("a session cookie is no bearer token", () =>
  withEachStrategy(async ({ app, cookie }) => {
    assertEquals((await withBearer(app, "/me", cookie)).json(), { session: null });
    assertEquals((await withBearer(app, "/guarded", cookie)).statusCode, 401);
  }));

Deno.test("a bearer token links no account to its user as a session cookie", async () => {
  await using issuer = await startIssuer();
  const adapter = memoryAdapter();
  const { app, auth } = await setUp({ adapter, providers: [issuer.provider()] });
  await using _ = app;
  app.get("/link", (request, reply) => auth.linkAccount(request, reply, "issuer"));
  const ada = await issuer.signIn(app, { user: { sub: "ada", name: "Ada" } });
  const { csrfToken } = (await ada("/auth/csrf")).json();
  const issued = await ada({ method: "POST", url: "/auth/token", payload: { csrfToken } });
  const { access_token } = issued.json();
  const linked = await withBearer(app, "/link", access_token);
  assertEquals([linked.statusCode, linked.json().code], [401, "FST_AUTHJS_UNAUTHENTICATED"]);
  issuer.user = { sub: "thief", name: "Thief" };
  const thief = new Client(app);
  thief.cookies.set("authjs.session-token", access_token);
  const started = await thief.post("/auth/signin/issuer", { csrfToken: await thief.csrfToken() });
  const { headers } = await fetch(String(started.headers.location), { redirect: "manual" });
  const { search } = new URL(headers.get("location")!);
  await thief.get(`/auth/callback/issuer${search}`);
  assertEquals((await thief.get("/me")).json().session.user.name, "Thief");
  assertEquals(
    (await adapter.getUserByAccount({ provider: "issuer", providerAccountId: "thief" }))?.name,
    "Thief",
  );
});

Deno.test("a listed session is current for its bearer token, too", async () => {
  await using database = { adapter: memoryAdapter(), [Symbol.asyncDispose]: () => Promise.resolve() };
  const rows: { sessionToken: string; userId: string; expires: Date }[] = [];
  const adapter = withSessionList({
    ...database.adapter,
    createSession(row) {
      rows.push(row);
      return database.adapter.createSession(row);
    },
  } as Adapter, (userId) => Promise.resolve(rows.filter((row) => row.userId === userId)));
  await using issuer = await startIssuer();
  const { app, auth } = await setUp({ adapter, providers: [issuer.provider()] });
  await using _ = app;
  app.get("/sessions", (request) => auth.listSessions(request));
  const ada = await issuer.signIn(app);
  const { csrfToken } = (await ada("/auth/csrf")).json();
  const issued = await ada({ method: "POST", url: "/auth/token", payload: { csrfToken } });
  const sessions = (await withBearer(app, "/sessions", issued.json().access_token)).json();
  assertEquals(sessions.map(({ current }: { current: boolean }) => current), [true, false]);
});

Deno.test("with a database the list does not say that a bearer token was seen before it was issued", async () => {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const adapter = withSessionList(memoryAdapter(tables), () => [...tables.sessions.values()]);
  await using issuer = await startIssuer();
  const { app, auth } = await setUp({ adapter, providers: [issuer.provider()], bearer: { maxAge: 3600 } });
  await using _ = app;
  app.get("/sessions", (request) => auth.listSessions(request));
  const ada = await issuer.signIn(app);
  const { csrfToken } = (await ada("/auth/csrf")).json();
  await ada({ method: "POST", url: "/auth/token", payload: { csrfToken } });
  const seen = (await ada("/sessions")).json().map(({ lastSeenAt }: { lastSeenAt?: string }) => lastSeenAt);
  assertEquals(seen.map((each?: string) => each && Date.now() - Date.parse(each) < 60_000), [true, undefined]);
});

Deno.test("in the list a bearer token in a JWT ends when it does, however often it is used", async () => {
  const { app, auth } = await setUp({ bearer: { maxAge: 3600 }, store: memoryStore(), revocable: true });
  await using _ = app;
  app.get("/sessions", (request) => auth.listSessions(request));
  const browser = await signedIn(app);
  const { access_token } = await issue(browser);
  const end = (await withBearer(app, "/me", access_token)).json().session.expires;
  const listed = async () =>
    (await browser.get("/sessions")).json().filter(({ current }: { current: boolean }) => !current);
  await withClock(async (clock) => {
    for (const minutes of [0, 30, 29]) {
      clock.now += minutes * 60_000;
      assertEquals((await withBearer(app, "/me", access_token)).json().session.expires, end);
      const [{ expires }, ...others] = await listed();
      assert(Math.abs(Date.parse(expires) - Date.parse(end)) < 2000, `${expires} ${end}`);
      assertEquals(others, []);
    }
    clock.now += 3 * 60_000;
    assertEquals(await listed(), []);
  });
});

Deno.test("an own codec that drops claims is told when a token is issued", async () => {
  const { app } = await setUp({
    jwt: {
      encode: ({ token }) => Promise.resolve(Buffer.from(JSON.stringify({ name: token?.name })).toString("base64url")),
      decode: ({ token }) => Promise.resolve(JSON.parse(Buffer.from(token!, "base64url").toString())),
    },
  });
  await using _ = app;
  const client = await signedIn(app);
  const json = { csrfToken: await client.csrfToken() };
  const answer = await client.request("POST", "/auth/token", {
    json,
    headers: { accept: "application/json" },
  });
  assertEquals([answer.statusCode, answer.json().code], [500, "FST_AUTHJS_CONFIG_INVALID"]);
});

Deno.test("a token that no client could send is not issued, which the answer says", async () => {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  tables.users.set("id-ada", { id: "id-ada", name: "ada", email: "ada@example.com", emailVerified: null } as never);
  const unsendable: Partial<FastifyAuthConfig>[] = [
    {
      jwt: {
        encode: ({ token }) => Promise.resolve(`own*${btoa(JSON.stringify(token))}`),
        decode: ({ token }) => Promise.resolve(JSON.parse(atob(token!.slice(4)))),
      },
    },
    { adapter: memoryAdapter(tables), session: { generateSessionToken: () => `own:${crypto.randomUUID()}` } },
  ];
  for (const config of unsendable) {
    const { app } = await setUp(config);
    await using _ = app;
    const client = await signedIn(app);
    const json = { csrfToken: await client.csrfToken() };
    const answer = await client.request("POST", "/auth/token", { json, headers: { accept: "application/json" } });
    assertEquals([answer.statusCode, answer.json().code], [500, "FST_AUTHJS_CONFIG_INVALID"]);
    assert(answer.json().message.includes("Authorization header"), answer.body);
  }
  assertEquals(tables.sessions.size, 1);
});

Deno.test("a token that is being issued while all sessions of its user are ended does not let anyone in", async () => {
  for (const strategy of ["jwt", "own jwt", "database"] as const) {
    let revoke = () => Promise.resolve();
    const memory = memoryAdapter();
    const rows: Parameters<typeof memory.createSession>[0][] = [];
    const adapter = withSessionList({
      ...memory,
      async createSession(row) {
        if (row.sessionToken.includes("bearer")) await revoke();
        rows.push(row);
        return await memory.createSession(row);
      },
      async deleteSession(token) {
        rows.splice(rows.findIndex(({ sessionToken }) => sessionToken === token), 1);
        await memory.deleteSession(token);
      },
    } as Adapter, (userId) => Promise.resolve(rows.filter((row) => row.userId === userId)));
    await using issuer = await startIssuer();
    const { app, auth } = await setUp({
      providers: [issuer.provider()],
      ...(strategy === "database" ? { adapter } : { store: memoryStore(), revocable: true }),
      callbacks: {
        async session({ session }) {
          if (strategy === "jwt") await revoke();
          return session;
        },
      },
      ...(strategy === "own jwt" && {
        jwt: {
          async encode(params: JWTEncodeParams) {
            if (params.token?.token_use !== undefined) await revoke();
            return await encode(params);
          },
        },
      }),
    });
    await using _ = app;
    app.get("/sub", async (request) => (await auth.getToken(request))?.sub ?? rows[0]!.userId);
    const ada = await issuer.signIn(app);
    const userId = (await ada("/sub")).body;
    const { csrfToken } = (await ada("/auth/csrf")).json();
    revoke = async () => {
      revoke = () => Promise.resolve();
      await auth.revokeSessions(userId);
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const issued = await ada({
      method: "POST",
      url: "/auth/token",
      payload: { csrfToken },
      headers: { accept: "application/json" },
    });
    assertEquals([issued.statusCode, rows.length], [401, 0], strategy);
  }
});

Deno.test("a bearer token ends with the sessions of the user who signed in, whatever has become of `sub`", async () => {
  for (const sub of [undefined, "another"]) {
    const { app, auth } = await setUp({
      store: memoryStore(),
      revocable: true,
      callbacks: { jwt: ({ token, user }) => user ? token : { ...token, sub } as JWT },
    });
    await using _ = app;
    const client = await signedIn(app);
    await client.request("GET", "/guarded");
    const { access_token } = await issue(client);
    assertEquals((await withBearer(app, "/guarded", access_token)).statusCode, 200);
    await auth.revokeSessions("another");
    assertEquals((await withBearer(app, "/guarded", access_token)).statusCode, 200);
    await auth.revokeSessions("id-ada");
    assertEquals((await withBearer(app, "/guarded", access_token)).statusCode, 401, String(sub));
  }
});
