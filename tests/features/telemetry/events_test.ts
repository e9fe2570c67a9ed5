/** Events on `node:diagnostics_channel`, for audit trails and metrics. */
import { assert, assertEquals, assertFalse } from "@std/assert";
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, CredentialsSignin, FastifyAuth, type FastifyAuthConfig, memoryStore } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import { passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const NAMES = ["sign-in", "sign-in-failure", "sign-out", "link", "revoke"];
const ADA = { username: "ada", password: "open" };
const AGENT = { "user-agent": "Test/1.0", "x-forwarded-for": "192.0.2.1" };

type Event = Record<string, unknown> & { channel: string };

/** Runs a test with a subscriber on each channel. */
async function observed(run: (events: Event[]) => Promise<void>): Promise<void> {
  const events: Event[] = [];
  // Other tests of this process may sign in meanwhile.
  const storage = new AsyncLocalStorage<boolean>();
  const subscriptions = NAMES.map((name) => {
    const listener = (message: unknown) => {
      if (storage.getStore()) events.push({ channel: name, ...message as object });
    };
    return { name: `fastify-authjs:${name}`, listener };
  });
  for (const { name, listener } of subscriptions) subscribe(name, listener);
  try {
    await storage.run(true, () => run(events));
  } finally {
    for (const { name, listener } of subscriptions) unsubscribe(name, listener);
  }
}

/** The events without what all of them have. */
function withoutBase(events: Event[]): Record<string, unknown>[] {
  return events.map((
    { time: _time, requestId: _id, mountPath: _path, address: _ip, userAgent: _agent, ...own },
  ) => own);
}

const trusting = (config: FastifyAuthConfig) => testApp(config, { trustProxy: true });

Deno.test("a sign-in that the jwt callback refuses is no event of a sign-in", async () => {
  await observed(async (events) => {
    await using app = await trusting(testConfig({ callbacks: { jwt: () => null } }));
    await new Client(app).signIn(ADA);
    assertEquals(events.filter(({ channel }) => channel === "sign-in"), []);
  });
});

Deno.test("a sign-in, another one in its place and a sign-out are events with address and agent", async () => {
  await observed(async (events) => {
    await using app = await trusting(testConfig());
    const client = new Client(app, { ...AGENT, "user-agent": "x".repeat(600) });
    await client.signIn(ADA);
    await client.signIn({ ...ADA, username: "grace" });
    await client.signOut();
    assertEquals(withoutBase(events), [
      {
        channel: "sign-in",
        provider: "credentials",
        userId: "id-ada",
        accountId: "id-ada",
        isNewUser: false,
      },
      { channel: "revoke", provider: "credentials", reason: "replaced", userId: "id-ada" },
      {
        channel: "sign-in",
        provider: "credentials",
        userId: "id-grace",
        accountId: "id-grace",
        isNewUser: false,
      },
      { channel: "sign-out", userId: "id-grace" },
    ]);
    for (const { time, requestId, mountPath, address, userAgent } of events) {
      assertEquals([mountPath, address, userAgent], ["/auth", "192.0.2.1", "x".repeat(512)]);
      assertEquals([typeof time, typeof requestId], ["number", "string"]);
    }
    events.length = 0;
    await client.signOut();
    assertEquals(events, [], "there was no session");
  });
});

Deno.test("a failed sign-in is an event with its reason, and without what was typed", async () => {
  class Locked extends CredentialsSignin {
    override code = "locked";
    readonly statusCode = 403;
  }
  const provider = Credentials({
    credentials: { username: {}, password: { type: "password" } },
    authorize({ username }) {
      if (username === "locked") throw new Locked();
      if (username === "broken") throw new Error("secret details");
      return null;
    },
  });
  await observed(async (events) => {
    const limit = { max: 5, timeWindow: 60_000 };
    await using app = await trusting(testConfig({ providers: [provider], rateLimit: { address: limit } }));
    const client = new Client(app, AGENT);
    const password = "a-secret-password";
    await client.signIn({ username: "ada", password });
    await client.signIn({ username: "locked", password });
    await client.signIn({ username: "broken", password });
    await client.post("/auth/callback/credentials", { username: "ada", password });
    await client.post("/auth/callback/credentials", { username: "ada", password }, {
      origin: "https://evil.example",
    });
    await client.request("POST", "/auth/callback/credentials", { json: { username: {} } });
    await client.signIn({ username: "ada", password });
    await client.post("/auth/signin/nobody", {});
    const failures = withoutBase(events).map(({ channel, provider, ...rest }) => {
      assertEquals([channel, provider], ["sign-in-failure", "credentials"]);
      return rest;
    });
    assertEquals(failures, [
      { reason: "CredentialsSignin", code: "credentials", status: 401 },
      { reason: "CredentialsSignin", code: "locked", status: 403 },
      { reason: "CallbackRouteError", status: 500 },
      { reason: "MissingCSRF", code: "csrf_token_missing", status: 403 },
      { reason: "FST_AUTHJS_CROSS_SITE", status: 403 },
      { reason: "FST_AUTHJS_BODY_INVALID", status: 400 },
      { reason: "FST_AUTHJS_TOO_MANY_REQUESTS", status: 429 },
    ]);
    for (const text of [password, "secret details", "csrfToken", "authjs."]) {
      assertFalse(JSON.stringify(events).includes(text), text);
    }
    assert(events.every(({ address, userAgent }) => address === "192.0.2.1" && userAgent === "Test/1.0"));
  });
});

Deno.test("a sign-in that the signIn callback answers with a page is refused", async () => {
  let page: string | true = "/denied";
  await observed(async (events) => {
    await using app = await trusting(testConfig({ callbacks: { signIn: () => page } }));
    const client = new Client(app, AGENT);
    const answer = await client.signIn({ username: "ada", password: "open" });
    assert(String(answer.headers.location).endsWith("/denied"));
    assertEquals(withoutBase(events), [
      { channel: "sign-in-failure", provider: "credentials", reason: "AccessDenied", status: 403 },
    ]);
    events.length = 0;
    page = true;
    await client.signIn({ username: "ada", password: "open" });
    assertEquals(events.map(({ channel }) => channel), ["sign-in"]);
  });
});

Deno.test("a mailed link that signs a new user in names no address and no token", async () => {
  const sent: string[] = [];
  const provider = Nodemailer({
    server: "smtp://127.0.0.1:1",
    sendVerificationRequest: ({ url }) => void sent.push(url),
  });
  await observed(async (events) => {
    await using app = await trusting(testConfig({ adapter: memoryAdapter(), providers: [provider] }));
    const client = new Client(app, AGENT);
    await client.post("/auth/signin/nodemailer", {
      csrfToken: await client.csrfToken(),
      email: "ada@example.com",
    });
    const { pathname, search, searchParams } = new URL(sent[0]!);
    await client.confirm(pathname + search);
    await client.confirm(pathname + search);
    assertEquals(
      withoutBase(events).map((event): object => ({ ...event, userId: typeof event.userId })),
      [
        { channel: "sign-in", provider: "nodemailer", isNewUser: true, userId: "string" },
        {
          channel: "sign-in-failure",
          provider: "nodemailer",
          reason: "Verification",
          status: 401,
          userId: "undefined",
        },
      ],
    );
    for (const text of ["ada@", "ada%40", searchParams.get("token")!]) {
      assertFalse(JSON.stringify(events).includes(text), text);
    }
  });
});

Deno.test("the first account of a user is linked", async () => {
  const { signInThrough } = await import("../../support/scripted_sign_in.ts");
  const { ScriptedProvider } = await import("../../support/scripted_provider.ts");
  await using provider = await ScriptedProvider.start();
  const oidc = {
    id: "op",
    name: "OP",
    type: "oidc",
    clientId: "client",
    clientSecret: "secret",
    issuer: provider.issuer,
    checks: ["state", "pkce", "nonce"],
  } as FastifyAuthConfig["providers"][number];
  await observed(async (events) => {
    await using app = await trusting(testConfig({ adapter: memoryAdapter(), providers: [oidc] }));
    await signInThrough(new Client(app, AGENT), provider);
    const [link, signIn] = events;
    assertEquals([link?.channel, signIn?.channel, events.length], ["link", "sign-in", 2]);
    assertEquals([link?.provider, typeof link?.userId, typeof link?.accountId], ["op", "string", "string"]);
    assertEquals([signIn?.userId, signIn?.accountId, signIn?.isNewUser], [
      link?.userId,
      link?.accountId,
      true,
    ]);
    assertFalse(JSON.stringify(events).includes("token"));
    events.length = 0;
    await new Client(app, AGENT).get("/auth/callback/op?error=access_denied&state=a");
    assertEquals(withoutBase(events), [
      {
        channel: "sign-in-failure",
        provider: "op",
        reason: "InvalidCheck",
        code: "sign_in_expired",
        status: 401,
      },
    ]);
    events.length = 0;
    const profile = () => {
      throw new Error("no such field");
    };
    await using failing = await trusting(testConfig({ providers: [{ ...oidc, profile } as typeof oidc] }));
    await signInThrough(new Client(failing, AGENT), provider);
    assertEquals(withoutBase(events), [
      { channel: "sign-in-failure", provider: "op", reason: "OAuthProfileParseError", status: 500 },
    ]);
  });
});

Deno.test("auth.signIn() and auth.signOut() publish the same events", async () => {
  await observed(async (events) => {
    const auth = createAuth(testConfig({ rateLimit: { account: { max: 1, timeWindow: 60_000 } } }) as never);
    await using app = Fastify({ trustProxy: true }) as unknown as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.post("/in", (request, reply) => auth.signIn(request, reply, "credentials", { fields: request.body }));
    app.post("/out", (request, reply) => auth.signOut(request, reply));
    const client = new Client(app, AGENT);
    await client.request("POST", "/in", { json: ADA });
    await client.request("POST", "/out");
    await client.request("POST", "/in", { json: { ...ADA, password: "guess" } });
    await client.request("POST", "/in", { json: ADA });
    assertEquals(withoutBase(events).map(({ channel, reason, userId }) => [channel, reason ?? userId]), [
      ["sign-in", "id-ada"],
      ["sign-out", "id-ada"],
      ["sign-in-failure", "CredentialsSignin"],
      ["sign-in-failure", "FST_AUTHJS_TOO_MANY_REQUESTS"],
    ]);
  });
});

Deno.test("the events of the application still run, and reading a session publishes nothing", async () => {
  const told: string[] = [];
  const events: FastifyAuthConfig["events"] = {
    signIn: () => void told.push("signIn"),
    signOut: () => void told.push("signOut"),
  };
  await observed(async (published) => {
    await using app = await trusting(testConfig({ events, providers: [passwordProvider()] }));
    const client = new Client(app);
    await client.signIn(ADA);
    await client.get("/me");
    await client.get("/auth/session");
    await client.get("/auth/signin");
    await client.signOut();
    assertEquals(told, ["signIn", "signOut"]);
    assertEquals(published.map(({ channel }) => channel), ["sign-in", "sign-out"]);
  });
});

Deno.test("nothing is built where nothing is subscribed to", async () => {
  await using app = Fastify() as unknown as FastifyInstance;
  let reads = 0;
  // An event has the address of its request, which is read for nothing else here.
  app.addHook("onRequest", (request, _reply, done) => {
    Object.defineProperty(request, "ip", { get: () => (reads++, "192.0.2.1") });
    done();
  });
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  const visit = async () => {
    const client = new Client(app);
    await client.signIn(ADA);
    await client.signIn({ ...ADA, password: "guess" });
    await client.signOut();
  };
  await visit();
  assertEquals(reads, 0);
  await observed(visit);
  assert(reads > 0);
});

Deno.test("the reason of a failure is a name, whatever an error of the application has as its type", async () => {
  await observed(async (events) => {
    await using app = Fastify() as unknown as FastifyInstance;
    app.addHook("preHandler", (request, _reply, done) => {
      const error = Object.assign(new Error("refused"), { type: "no user ada@example.com" });
      done(request.url.startsWith("/auth/callback/") ? error : undefined);
    });
    await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
    await new Client(app, AGENT).signIn(ADA);
    assertEquals(events.map(({ channel, reason }) => [channel, reason]), [["sign-in-failure", "_OTHER"]]);
  });
});

Deno.test("each part of a tracing channel can be subscribed to by itself", async () => {
  for (const part of ["start", "end", "asyncStart", "asyncEnd", "error"]) {
    const name = `tracing:fastify-authjs.action:${part}`;
    let told = 0;
    const listener = () => void told++;
    subscribe(name, listener);
    try {
      await using app = await testApp(testConfig());
      await new Client(app).signIn({ ...ADA, password: "guess" });
    } finally {
      unsubscribe(name, listener);
    }
    assert(told > 0, part);
  }
});

Deno.test("sessions that the application ends are events without a request", async () => {
  await observed(async (events) => {
    const auth = createAuth(testConfig({ store: memoryStore(), revocable: true }) as never);
    await using app = Fastify() as unknown as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/sessions", (request) => auth.listSessions(request));
    const client = new Client(app, AGENT);
    await client.signIn(ADA);
    const [{ id }] = (await client.get("/sessions")).json();
    events.length = 0;
    assertEquals([await auth.revokeSession(id), await auth.revokeSession(id)], [true, false]);
    await auth.revokeSessions("id-ada");
    const event = { channel: "revoke", reason: "revoked", userId: "id-ada" };
    assertEquals(events.map(({ time: _time, ...rest }) => rest), [event, event]);
  });
});
