/** The claims of the session token, and access tokens of providers that are refreshed. */
import { inspect } from "node:util";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { type AuthObject, createAuth, customFetch, type FastifyAuthConfig } from "fastify-authjs";
import type { Provider } from "fastify-authjs/providers";
import { captureLog, SECRET, testConfig } from "./support/app.ts";
import { Client, setCookies } from "./support/client.ts";
import { withClock } from "./support/clock.ts";
import { memoryAdapter } from "./support/memory_adapter.ts";
import { memoryLock } from "./support/memory_lock.ts";

/** A token endpoint, whose refresh tokens can be used once. */
class Acme {
  /** How long its access tokens live, in seconds. */
  lifetime = 3600;
  /** Answers in place of a refresh. */
  answer: (() => Response | Promise<Response>) | undefined;
  issuesRefreshTokens = true;
  refreshes = 0;
  readonly requests: Request[] = [];
  #issued = 0;
  #valid = "";

  readonly provider: Provider = {
    id: "acme",
    name: "Acme",
    type: "oauth",
    clientId: "id",
    clientSecret: "secret",
    authorization: "https://acme.example/authorize",
    token: "https://acme.example/token",
    userinfo: "https://acme.example/userinfo",
    checks: ["state"],
    profile: ({ id, name }: { id: string; name: string }) => ({ id, name }),
    [customFetch]: (input: string | URL | Request, init?: RequestInit) =>
      this.#fetch(new Request(input, init)),
  } as unknown as Provider;

  async #fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === "/userinfo") return Response.json({ id: "1", name: "ada" });
    this.requests.push(request.clone());
    const form = new URLSearchParams(await request.text());
    if (form.get("grant_type") !== "refresh_token") return this.#issue();
    this.refreshes++;
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

interface Setup {
  readonly acme: Acme;
  readonly auth: AuthObject;
  readonly app: FastifyInstance;
}

async function setUp(
  overrides: Partial<FastifyAuthConfig> = {},
  acme = new Acme(),
  logger?: FastifyServerOptions["logger"],
): Promise<Setup> {
  const auth = createAuth(testConfig({ providers: [acme.provider], refreshTokens: true, ...overrides }));
  const app = Fastify(logger === undefined ? {} : { logger }) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/claims", async (request) => ({ claims: await auth.getToken(request) }));
  app.get("/access", async (request) => ({ token: await auth.getAccessToken(request, "acme") }));
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  return { acme, auth, app };
}

/** Signs in with the provider. */
async function signIn(client: Client): Promise<void> {
  const started = await client.post("/auth/signin/acme", { csrfToken: await client.csrfToken() });
  const { searchParams } = new URL(String(started.headers.location));
  const query = new URLSearchParams({ code: "code", state: searchParams.get("state")! });
  assertEquals((await client.get(`/auth/callback/acme?${query}`)).statusCode, 302);
}

const access = async (client: Client) => (await client.get("/access")).json();

/** Does something some seconds later. */
function later<T>(seconds: number, act: () => Promise<T>): Promise<T> {
  return withClock((clock) => {
    clock.now += seconds * 1000;
    return act();
  });
}

Deno.test("getToken() gives the claims of the session token, and null without a session", async () => {
  const { app, acme } = await setUp({ callbacks: { jwt: ({ token }) => ({ ...token, plan: "paid" }) } });
  await using _ = app;
  const client = new Client(app);
  assertEquals((await client.get("/claims")).json(), { claims: null });
  await signIn(client);
  const { claims } = (await client.get("/claims")).json();
  assertEquals([claims.name, claims.plan, claims.providerTokens.acme.access_token], [
    "ada",
    "paid",
    "access-1",
  ]);
  assertEquals(acme.refreshes, 0);
});

Deno.test("what a caller does with the claims changes nothing", async () => {
  const { app, auth } = await setUp({ refreshTokens: false });
  await using _ = app;
  app.get("/twice", async (request) => {
    const [first, second] = [await auth.getToken(request), await auth.getToken(request)];
    first!.name = "changed";
    return [second!.name, (await auth.getToken(request))!.name, (await auth.getSession(request))?.user.name];
  });
  const client = new Client(app);
  await signIn(client);
  assertEquals((await client.get("/twice")).json(), ["ada", "ada", "ada"]);
});

Deno.test("getAccessToken() gives the access token of the sign-in while it is valid", async () => {
  const { app, acme } = await setUp();
  await using _ = app;
  const client = new Client(app);
  assertEquals(await access(client), { token: null });
  await signIn(client);
  const answer = await client.get("/access");
  assertEquals([answer.json(), acme.refreshes, setCookies(answer)], [{ token: "access-1" }, 0, []]);
});

Deno.test("an access token that expires is refreshed, and the browser gets the new session cookie", async () => {
  const { app, acme } = await setUp();
  await using _ = app;
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  acme.lifetime = 3600;
  const answer = await client.get("/access");
  assertEquals([answer.json(), acme.refreshes], [{ token: "access-2" }, 1]);
  assert(setCookies(answer).some((line) => line.startsWith("authjs.session-token=")));
  assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 1]);
  // As core authenticates the client.
  assertEquals(acme.requests.at(-1)!.headers.get("authorization"), `Basic ${btoa("id:secret")}`);
});

Deno.test("requests at the same time, and late ones with the old cookie, refresh once", async () => {
  const { app, acme } = await setUp();
  await using _ = app;
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  acme.lifetime = 3600;
  const { cookie } = client;
  const send = async () => (await app.inject({ url: "/access", headers: { cookie: cookie! } })).json();
  const together = await Promise.all(Array.from({ length: 8 }, send));
  assertEquals(together, together.map(() => ({ token: "access-2" })));
  assertEquals([await send(), acme.refreshes], [{ token: "access-2" }, 1]);
});

Deno.test("several calls in one request refresh once", async () => {
  const { app, acme, auth } = await setUp();
  await using _ = app;
  app.get(
    "/twice",
    (request) => Promise.all([auth.getAccessToken(request, "acme"), auth.getAccessToken(request, "acme")]),
  );
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  acme.lifetime = 3600;
  assertEquals((await client.get("/twice")).json(), ["access-2", "access-2"]);
  assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 1]);
});

Deno.test("tokens that live shorter than they are refreshed early are given out", async () => {
  const { app, acme } = await setUp();
  await using _ = app;
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 1]);
});

Deno.test("where it cannot be replaced, an access token is given out until it expires", async () => {
  for (const name of ["noRefreshToken", "down"] as const) {
    const { app, acme } = await setUp();
    await using _ = app;
    const client = new Client(app);
    acme.lifetime = 20;
    acme.issuesRefreshTokens = name === "down";
    await signIn(client);
    acme.answer = () => Promise.reject(Object.assign(new Error("down"), { code: "ECONNREFUSED" }));
    assertEquals([await access(client), acme.refreshes], [{ token: "access-1" }, name === "down" ? 1 : 0]);
    const { statusCode } = await later(21, () => client.get("/access"));
    assertEquals(statusCode, name === "down" ? 503 : 401);
  }
});

Deno.test("nothing is refreshed for a reply that cannot carry the new refresh token", async () => {
  const { app, acme, auth } = await setUp();
  await using _ = app;
  let settle: (result: unknown) => void;
  const late = new Promise((resolve) => settle = resolve);
  app.get("/late", {
    onResponse: (request, _reply, done) => {
      done();
      auth.getAccessToken(request, "acme").then(settle, settle);
    },
  }, (request) => auth.getSession(request));
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  await client.get("/late");
  assertEquals(await late, "access-1");
  const upgrade = { connection: "upgrade", upgrade: "websocket" };
  const answer = await later(6, () => client.get("/access", { headers: upgrade }));
  assertEquals([answer.json().code, acme.refreshes], ["FST_AUTHJS_CONFIG_INVALID", 0]);
});

Deno.test("processes with a lock refresh once, also when one of them renews the session", async () => {
  const acme = new Acme();
  const refreshLock = memoryLock();
  const session = { updateAge: 0 };
  const { app: first } = await setUp({ refreshLock, session }, acme);
  await using _first = first;
  const { app: second } = await setUp({ refreshLock, session }, acme);
  await using _second = second;
  const { app: third } = await setUp({ refreshLock, session }, acme);
  await using _third = third;
  const client = new Client(first);
  acme.lifetime = 5;
  await signIn(client);
  acme.lifetime = 3600;
  const headers = { cookie: client.cookie! };
  const answers = await later(6, () =>
    Promise.all([
      first.inject({ url: "/me", headers }),
      second.inject({ url: "/access", headers }),
      third.inject({ url: "/access", headers }),
      first.inject({ url: "/access", headers }),
      second.inject({ url: "/me", headers }),
    ]));
  assertEquals([1, 2, 3].map((each) => answers[each]!.json().token), ["access-2", "access-2", "access-2"]);
  assertEquals(acme.refreshes, 1);
});

Deno.test("a token endpoint that answers with something else shows no tokens in errors and logs", async () => {
  const { logger, lines } = captureLog();
  const { app, acme } = await setUp({}, new Acme(), logger);
  await using _ = app;
  let thrown: unknown;
  app.setErrorHandler((error, _request, reply) => {
    thrown = error;
    app.log.error(error);
    return reply.code(500).send({});
  });
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  acme.answer = () => Response.json({ access_token: "access-9", refresh_token: "refresh-9", token_type: 1 });
  assertEquals((await later(6, () => client.get("/access"))).statusCode, 500);
  assert(lines.length > 0);
  assert(!/access-|refresh-\d/.test(JSON.stringify(lines) + inspect(thrown, { depth: 9 })));
});

Deno.test("a refresh token that is refused is a 401, and the session stays", async () => {
  const { app, acme } = await setUp();
  await using _ = app;
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  acme.answer = () => Response.json({ error: "invalid_grant" }, { status: 400 });
  const answer = await later(6, () => client.get("/access"));
  assertEquals([answer.statusCode, answer.json().code], [401, "FST_AUTHJS_ACCESS_TOKEN_EXPIRED"]);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
});

Deno.test("a provider that refuses the client is a 500, one that cannot be reached a 503", async () => {
  const { app, acme } = await setUp();
  await using _ = app;
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  acme.answer = () => Response.json({ error: "invalid_client" }, { status: 401 });
  const refused = await later(6, () => client.get("/access"));
  assertEquals([refused.statusCode, refused.json().code], [500, "FST_AUTHJS_ACTION_FAILED"]);
  acme.answer = () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
  const unreachable = await later(6, () => client.get("/access"));
  assertEquals([unreachable.statusCode, unreachable.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
  acme.answer = undefined;
  acme.lifetime = 3600;
  assertEquals(await access(client), { token: "access-2" });
});

Deno.test("the tokens of providers are never in the session, whatever the callback returns", async () => {
  const { app } = await setUp({
    callbacks: {
      session: ({ session, token }) => ({ ...session, ...token, token, expires: session.expires }),
    },
  });
  await using _ = app;
  const client = new Client(app);
  await signIn(client);
  const csrfToken = await client.csrfToken();
  const answers = [
    await client.get("/me"),
    await client.get("/auth/session"),
    await client.request("POST", "/auth/session", { json: { csrfToken, data: {} } }),
  ];
  for (const { body } of answers) {
    assertStringIncludes(body, '"name":"ada"');
    assert(!/access-|refresh-/.test(body));
  }
});

Deno.test("the tokens survive updates and renewals of the session", async () => {
  const { app, auth } = await setUp({ session: { updateAge: 0 } });
  await using _ = app;
  app.post("/update", async (request, reply) => {
    await auth.updateSession(request, reply, {});
    return { token: await auth.getAccessToken(request, "acme") };
  });
  const client = new Client(app);
  await signIn(client);
  assertEquals((await client.request("POST", "/update")).json(), { token: "access-1" });
  await client.get("/me");
  assertEquals(await access(client), { token: "access-1" });
});

Deno.test("a token that is refreshed after an update in the same request reaches the browser", async () => {
  const { app, acme, auth } = await setUp({ refreshGrace: 0 });
  await using _ = app;
  app.post("/update", async (request, reply) => {
    await auth.updateSession(request, reply, {});
    return { token: await auth.getAccessToken(request, "acme") };
  });
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  acme.lifetime = 3600;
  const answer = await client.request("POST", "/update");
  assertEquals(answer.json(), { token: "access-2" });
  assertEquals(setCookies(answer).filter((line) => line.startsWith("authjs.session-token=")).length, 1);
  assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 1]);
});

Deno.test("getAccessToken() says what is wrong with its use", async () => {
  const { app, auth } = await setUp();
  await using _ = app;
  app.get("/unknown", (request) => auth.getAccessToken(request, "gitlab"));
  assertEquals((await app.inject("/unknown")).json().code, "FST_AUTHJS_NOT_FOUND");

  const without = await setUp({ refreshTokens: false });
  await using _without = without.app;
  assertEquals((await without.app.inject("/access")).json().code, "FST_AUTHJS_CONFIG_INVALID");
});

Deno.test("refreshTokens needs sessions in tokens, and a boolean", async () => {
  const { provider } = new Acme();
  const mistakes: Partial<FastifyAuthConfig>[] = [
    { adapter: memoryAdapter() },
    { refreshTokens: "yes" as unknown as boolean },
  ];
  for (const wrong of mistakes) {
    const config: FastifyAuthConfig = {
      providers: [provider],
      secret: SECRET,
      trustHost: true,
      refreshTokens: true,
      ...wrong,
    };
    await using app = Fastify() as FastifyInstance;
    const code = await app.register(createAuth(config).plugin, { prefix: "/auth" }).then(
      () => "none",
      (error) => error.code,
    );
    assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
  }
});
