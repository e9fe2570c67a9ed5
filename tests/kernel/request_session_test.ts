/** `request.session`, for applications that register the plugin with `decorateRequest`. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import fastifyCookie from "@fastify/cookie";
import fastifySession from "@fastify/session";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { type ConfigForRequest, createAuth, type FastifyAuthConfig } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import { captureLog, SECRET, testConfig } from "../support/app.ts";
import { Client, setCookies } from "../support/client.ts";
import { faultyAdapter } from "../support/faults.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";

const ADA = { username: "ada", password: "open" };

/** What a handler finds. */
const sessionOf = (request: FastifyRequest) => (request as { session?: unknown }).session;

/** An application whose `/session` answers with what is on the request. */
async function decoratedApp(config: FastifyAuthConfig | ConfigForRequest, decorateRequest = true) {
  const auth = createAuth(config as FastifyAuthConfig);
  const app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth", decorateRequest });
  app.get("/session", (request) => ({ has: "session" in request, session: sessionOf(request) }));
  return { app, auth };
}

Deno.test("request.session is the session that getSession() gives, and null if there is none", async () => {
  const { app, auth } = await decoratedApp(testConfig());
  await using _app = app;
  app.get("/both", async (request) => sessionOf(request) === await auth.getSession(request));
  const client = new Client(app);
  assertEquals((await client.get("/session")).json(), { has: true, session: null });
  await client.signIn(ADA);
  const { session } = (await client.get("/session")).json();
  assertEquals(session.user.name, "ada");
  assertEquals((await client.get("/both")).json(), true);
  await client.signOut();
  assertEquals((await client.get("/session")).json(), { has: true, session: null });
});

Deno.test("without decorateRequest no request has a session, and none is read", async () => {
  const calls: string[] = [];
  const { app } = await decoratedApp(
    testConfig({
      callbacks: {
        session({ session }) {
          calls.push("session");
          return session;
        },
      },
    }),
    false,
  );
  await using _app = app;
  const client = new Client(app);
  await client.signIn(ADA);
  calls.length = 0;
  assertEquals((await client.get("/session")).json(), { has: false });
  assertEquals(calls, []);
});

Deno.test("hooks, guards and handlers of a request share one read of request.session", async () => {
  const { adapter } = faultyAdapter(memoryAdapter());
  let reads = 0;
  const { getSessionAndUser } = adapter;
  adapter.getSessionAndUser = (token) => {
    reads++;
    return getSessionAndUser!(token);
  };
  const user = await adapter.createUser!({
    id: "1",
    name: "ada",
    email: "ada@example.com",
    emailVerified: null,
  });
  const passwords = Credentials({ credentials: { username: {}, password: {} }, authorize: () => user });
  const { app, auth } = await decoratedApp(testConfig({ adapter, providers: [passwords] }));
  await using _app = app;
  const found: unknown[] = [];
  app.addHook("onRequest", (request, _reply, done) => {
    found.push(sessionOf(request));
    done();
  });
  app.get("/guarded", { onRequest: auth.requireSession() }, async (request) => {
    found.push(sessionOf(request), await auth.getSession(request));
    return "ok";
  });
  const client = new Client(app);
  await client.signIn(ADA);
  found.length = reads = 0;
  assertEquals((await client.get("/guarded")).statusCode, 200);
  assertEquals([reads, found.length, new Set(found).size], [1, 3, 1]);
});

Deno.test("a database that fails leaves request.session null, and a guard answers with 503", async () => {
  const { adapter, faults } = faultyAdapter(memoryAdapter());
  const { app, auth } = await decoratedApp(testConfig({ adapter }));
  await using _app = app;
  app.get("/guarded", { onRequest: auth.requireSession() }, () => "ok");
  faults.set("getSessionAndUser", "throws");
  const headers = { cookie: `authjs.session-token=${"a".repeat(64)}` };
  assertEquals((await app.inject({ url: "/session", headers })).json(), { has: true, session: null });
  assertEquals((await app.inject({ url: "/guarded", headers })).statusCode, 503);
});

Deno.test("a session that request.session renews reaches the browser", async () => {
  let reads = 0;
  const { app } = await decoratedApp(
    testConfig({ callbacks: { jwt: ({ token }) => ({ ...token, reads: ++reads }) } }),
  );
  await using _app = app;
  const client = new Client(app);
  await client.signIn(ADA);
  const lines = setCookies(await client.get("/session"));
  assertEquals(lines.filter((line) => line.startsWith("authjs.session-token=")).length, 1);
});

Deno.test("the auth routes work as ever beside request.session", async () => {
  const { app } = await decoratedApp(testConfig({ session: { updateAge: 0 } }));
  await using _app = app;
  const client = new Client(app);
  await client.signIn(ADA);
  const answer = await client.get("/auth/csrf");
  assertEquals(setCookies(answer).filter((line) => line.startsWith("authjs.session-token=")), []);
  assertEquals((await client.get("/auth/session")).json().user.name, "ada");
});

Deno.test("request.session is of the configuration that a function chooses", async () => {
  const acme = testConfig({ tenant: "acme" });
  const { app } = await decoratedApp((request) => request.host === "acme.example" ? acme : undefined);
  await using _app = app;
  const client = new Client(app, { host: "acme.example" });
  await client.signIn(ADA);
  assertEquals((await client.get("/session")).json().session.user.name, "ada");
  const other = await app.inject({ url: "/session", headers: { host: "other.example" } });
  assertEquals([other.statusCode, other.json()], [200, { has: true, session: null }]);
});

for (const isWithinFirst of [true, false]) {
  const order = isWithinFirst ? "before" : "after";
  Deno.test(`request.session is of the configuration of its scope, registered ${order} the one around it`, async () => {
    await using app = Fastify() as FastifyInstance;
    const customers = createAuth(testConfig());
    const cookies = { sessionToken: { name: "staff.session-token" } };
    const employees = createAuth(testConfig({ secret: SECRET + "staff", cookies }));
    const around = async () => void await app.register(customers.plugin, { prefix: "/auth", decorateRequest: true });
    if (!isWithinFirst) await around();
    await app.register(async (staff) => {
      await staff.register(employees.plugin, { prefix: "/auth", decorateRequest: true });
      staff.get("/session", (request) => ({ session: sessionOf(request) }));
      await staff.register((inner, _options, done) => {
        inner.get("/inner", (request) => ({ session: sessionOf(request) }));
        done();
      });
    }, { prefix: "/staff" });
    if (isWithinFirst) await around();
    app.get("/session", (request) => ({ session: sessionOf(request) }));

    const client = new Client(app);
    const names = async () => {
      const answers = [];
      for (const path of ["/session", "/staff/session", "/staff/inner"]) answers.push(await client.get(path));
      return answers.map((answer) => answer.json().session?.user.name ?? null);
    };
    await client.signIn(ADA);
    assertEquals(await names(), ["ada", null, null]);
    const csrfToken = (await client.get("/staff/auth/csrf")).json().csrfToken;
    await client.post("/staff/auth/callback/credentials", { csrfToken, username: "grace", password: "open" });
    assertEquals(await names(), ["ada", "grace", "grace"]);
  });
}

Deno.test("request.session of a configuration that is mounted twice is read once", async () => {
  let reads = 0;
  const { app, auth } = await decoratedApp(testConfig({
    callbacks: {
      session({ session }) {
        reads++;
        return session;
      },
    },
  }));
  await using _app = app;
  await app.register(auth.plugin, { prefix: "/members/auth", decorateRequest: true });
  const client = new Client(app);
  await client.signIn(ADA);
  reads = 0;
  assertEquals((await client.get("/session")).json().session.user.name, "ada");
  assertEquals(reads, 1);
});

Deno.test("request.session of two configurations in one scope stops the boot", async () => {
  const { app } = await decoratedApp(testConfig());
  await using _app = app;
  const other = createAuth(testConfig({ secret: SECRET + "other" }));
  const register = async () => void await app.register(other.plugin, { prefix: "/other", decorateRequest: true });
  const error = await assertRejects(register, Error);
  assertStringIncludes(error.message, "'session' has already been added");
});

Deno.test("request.session of another plugin stops the boot", async () => {
  const { logger } = captureLog();
  await using app = Fastify({ logger });
  await app.register(fastifyCookie);
  await app.register(fastifySession, { secret: SECRET });
  const register = async () =>
    void await app.register(createAuth(testConfig()).plugin, { prefix: "/auth", decorateRequest: true });
  const error = await assertRejects(register, Error);
  assertStringIncludes(error.message, "'session' has already been added");
});
