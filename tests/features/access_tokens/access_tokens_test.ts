/** The claims of the session token, and access tokens of providers that are refreshed. */
import { inspect } from "node:util";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { type AuthObject, createAuth, type FastifyAuthConfig, type JWT, memoryStore } from "fastify-authjs";
import type { Provider } from "fastify-authjs/providers";
import Credentials from "fastify-authjs/providers/credentials";
import { captureLog, SECRET } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { testStore } from "../../support/test_store.ts";
import { access, Acme, later, signedInApp, signIn, tokenApp } from "../../support/token_provider.ts";

Deno.test("getToken() gives the claims of the session token, and null without a session", async () => {
  await using opened = await tokenApp({
    config: { callbacks: { jwt: ({ token }) => ({ ...token, plan: "paid" }) } },
  });
  const { acme, client } = opened;
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
  await using opened = await signedInApp({
    config: { refreshTokens: false },
    routes: (app, auth) =>
      app.get("/twice", async (request) => {
        const [first, second] = [await auth.getToken(request), await auth.getToken(request)];
        first!.name = "changed";
        const third = await auth.getToken(request);
        return [second!.name, third!.name, (await auth.getSession(request))?.user.name];
      }),
  });
  assertEquals((await opened.client.get("/twice")).json(), ["ada", "ada", "ada"]);
});

Deno.test("getAccessToken() gives the access token of the sign-in while it is valid", async () => {
  await using opened = await tokenApp();
  const { acme, client } = opened;
  assertEquals(await access(client), { token: null });
  await signIn(client);
  const answer = await client.get("/access");
  assertEquals([answer.json(), acme.refreshes, setCookies(answer)], [{ token: "access-1" }, 0, []]);
});

Deno.test("an access token that expires is refreshed, and the browser gets the new session cookie", async () => {
  await using opened = await signedInApp({ lifetime: 5 });
  const { acme, client } = opened;
  const answer = await client.get("/access");
  assertEquals([answer.json(), acme.refreshes], [{ token: "access-2" }, 1]);
  assert(setCookies(answer).some((line) => line.startsWith("authjs.session-token=")));
  assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 1]);
  // As core authenticates the client.
  assertEquals(acme.requests.at(-1)!.headers.get("authorization"), `Basic ${btoa("id:secret")}`);
});

for (const method of ["none", "client_secret_post", "client_secret_jwt", "private_key_jwt"] as const) {
  Deno.test(`tokens are refreshed with the client authentication of the sign-in (${method})`, async () => {
    const { privateKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
    const acme = new Acme();
    Object.assign(acme.provider, {
      client: { token_endpoint_auth_method: method },
      token: { url: "https://acme.example/token", params: { tenant: "a" }, clientPrivateKey: privateKey },
    });
    await using opened = await signedInApp({ lifetime: 5, acme });
    assertEquals(await access(opened.client), { token: "access-2" });
    const { url, headers } = acme.requests.at(-1)!;
    const [signedIn, refreshed] = await Promise.all(acme.requests.map(async (request) => await request.formData()));
    assertEquals([new URL(url).search, headers.get("authorization")], ["?tenant=a", null]);
    for (const name of ["client_secret", "client_assertion_type", "client_id"]) {
      assertEquals(refreshed!.get(name), signedIn!.get(name), name);
    }
    const audiences = [signedIn!, refreshed!].map((form) => form.get("client_assertion"))
      .map((assertion) => assertion === null ? "" : JSON.parse(atob(String(assertion).split(".")[1]!)).aud);
    if (method === "private_key_jwt") assertEquals(audiences[1], audiences[0]);
  });
}

Deno.test("a bearer token gets the access token, and cannot have it refreshed", async () => {
  await using opened = await signedInApp({ lifetime: 60, config: { bearer: true } });
  const { app, client } = opened;
  const issued = await client.request("POST", "/auth/token", { json: { csrfToken: await client.csrfToken() } });
  const headers = { authorization: `Bearer ${issued.json().access_token}` };
  assertEquals((await app.inject({ url: "/access", headers })).json(), { token: "access-1" });
  const late = await later(61, async () => await app.inject({ url: "/access", headers }));
  assertEquals(late.json().code, "FST_AUTHJS_ACCESS_TOKEN_EXPIRED");
});

Deno.test("requests at the same time, and late ones with the old cookie, refresh once", async () => {
  await using opened = await signedInApp({ lifetime: 5 });
  const { app, acme, client } = opened;
  const { cookie } = client;
  const send = async () => (await app.inject({ url: "/access", headers: { cookie: cookie! } })).json();
  const together = await Promise.all(Array.from({ length: 8 }, send));
  assertEquals(together, together.map(() => ({ token: "access-2" })));
  assertEquals([await send(), acme.refreshes], [{ token: "access-2" }, 1]);
});

Deno.test("several calls in one request refresh once", async () => {
  await using opened = await signedInApp({
    lifetime: 5,
    routes: (app, auth) =>
      app.get(
        "/twice",
        (request) => Promise.all([auth.getAccessToken(request, "acme"), auth.getAccessToken(request, "acme")]),
      ),
  });
  const { acme, client } = opened;
  assertEquals((await client.get("/twice")).json(), ["access-2", "access-2"]);
  assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 1]);
});

Deno.test("tokens that live shorter than they are refreshed early are given out", async () => {
  await using opened = await signedInApp({ lifetime: 5 });
  const { acme, client } = opened;
  acme.lifetime = 5;
  assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 1]);
});

const down = () => Promise.reject(Object.assign(new Error("down"), { code: "ECONNREFUSED" }));

Deno.test("where it cannot be replaced, an access token is given out until it expires", async () => {
  for (const issuesRefreshTokens of [false, true]) {
    const acme = new Acme();
    acme.issuesRefreshTokens = issuesRefreshTokens;
    await using opened = await signedInApp({ acme, lifetime: 20 });
    acme.answer = down;
    const token = await access(opened.client);
    assertEquals([token, acme.refreshes], [{ token: "access-1" }, issuesRefreshTokens ? 1 : 0]);
    const { statusCode } = await later(21, () => opened.client.get("/access"));
    assertEquals(statusCode, issuesRefreshTokens ? 503 : 401);
  }
});

Deno.test("while another process holds the lock, an access token is given out until it expires, and then 503", async () => {
  const store = memoryStore();
  const lock = () => Promise.resolve(false);
  await using opened = await signedInApp({
    lifetime: 20,
    config: { store: { ...store, lock }, providerTimeout: 100 },
  });
  const { acme, client } = opened;
  assertEquals(await access(client), { token: "access-1" });
  const { statusCode } = await later(21, () => client.get("/access"));
  assertEquals([statusCode, acme.refreshes], [503, 0]);
});

Deno.test("nothing is refreshed for a reply that cannot carry the new refresh token", async () => {
  let settle: (result: unknown) => void;
  const late = new Promise((resolve) => settle = resolve);
  await using opened = await signedInApp({
    lifetime: 5,
    routes: (app, auth) =>
      app.get("/late", {
        onResponse: (request, _reply, done) => {
          done();
          auth.getAccessToken(request, "acme").then(settle, settle);
        },
      }, (request) => auth.getSession(request)),
  });
  const { acme, client } = opened;
  await client.get("/late");
  assertEquals(await late, "access-1");
  const upgrade = { connection: "upgrade", upgrade: "websocket" };
  const answer = await later(6, () => client.get("/access", { headers: upgrade }));
  assertEquals([answer.json().code, acme.refreshes], ["FST_AUTHJS_CONFIG_INVALID", 0]);
});

Deno.test("processes with a lock refresh once, also when one of them renews the session", async () => {
  const acme = new Acme();
  const config: Partial<FastifyAuthConfig> = { store: testStore(), session: { updateAge: 0 } };
  await using first = await signedInApp({ acme, config, lifetime: 5 });
  await using second = await tokenApp({ acme, config });
  await using third = await tokenApp({ acme, config });
  const headers = { cookie: first.client.cookie! };
  const answers = await later(6, () =>
    Promise.all([
      first.app.inject({ url: "/me", headers }),
      second.app.inject({ url: "/access", headers }),
      third.app.inject({ url: "/access", headers }),
      first.app.inject({ url: "/access", headers }),
      second.app.inject({ url: "/me", headers }),
    ]));
  assertEquals([1, 2, 3].map((each) => answers[each]!.json().token), ["access-2", "access-2", "access-2"]);
  assertEquals(acme.refreshes, 1);
});

Deno.test("a token endpoint that answers with something else shows no tokens in errors and logs", async () => {
  const { logger, lines } = captureLog();
  let thrown: unknown;
  await using opened = await signedInApp({
    logger,
    lifetime: 5,
    routes: (app) =>
      app.setErrorHandler((error, _request, reply) => {
        thrown = error;
        app.log.error(error);
        return reply.code(500).send({});
      }),
  });
  const { acme, client } = opened;
  acme.answer = () => Response.json({ access_token: "access-9", refresh_token: "refresh-9", token_type: 1 });
  assertEquals((await later(6, () => client.get("/access"))).statusCode, 500);
  assert(lines.length > 0);
  assert(!/access-|refresh-\d/.test(JSON.stringify(lines) + inspect(thrown, { depth: 9 })));
});

Deno.test("a refresh token that is refused is a 401, and the session stays", async () => {
  await using opened = await signedInApp({ lifetime: 5 });
  const { acme, client } = opened;
  acme.answer = () => Response.json({ error: "invalid_grant" }, { status: 400 });
  const answer = await later(6, () => client.get("/access"));
  assertEquals([answer.statusCode, answer.json().code], [401, "FST_AUTHJS_ACCESS_TOKEN_EXPIRED"]);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
});

Deno.test("a provider that refuses the client is a 500, one that cannot be reached a 503", async () => {
  await using opened = await signedInApp({ lifetime: 5 });
  const { acme, client } = opened;
  acme.answer = () => Response.json({ error: "invalid_client" }, { status: 401 });
  const refused = await later(6, () => client.get("/access"));
  assertEquals([refused.statusCode, refused.json().code], [500, "FST_AUTHJS_ACTION_FAILED"]);
  acme.answer = down;
  const unreachable = await later(6, () => client.get("/access"));
  assertEquals([unreachable.statusCode, unreachable.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
  acme.answer = undefined;
  assertEquals(await access(client), { token: "access-2" });
});

Deno.test("a provider with a failure of its own, or too many requests, is a 503, and no user signs in again", async () => {
  await using opened = await signedInApp({ lifetime: 5 });
  const { acme, client } = opened;
  const failures: [status: number, body: object | string][] = [
    [503, { error: "temporarily_unavailable" }],
    [400, { error: "server_error" }],
    [500, { message: "Internal server error" }],
    [429, { error: "too_many_requests" }],
    [502, "<h1>Bad gateway</h1>"],
    [429, "Slow down"],
  ];
  for (const [status, body] of failures) {
    acme.answer = () => typeof body === "string" ? new Response(body, { status }) : Response.json(body, { status });
    const answer = await later(6, () => client.get("/access"));
    assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"], `${status}`);
  }
  acme.answer = () => Response.json({ error: "invalid_grant" }, { status: 500 });
  assertEquals((await later(6, () => client.get("/access"))).statusCode, 401);
});

Deno.test("members that are null and a lifetime of 0 say nothing in the response to a refresh", async () => {
  await using opened = await signedInApp({ lifetime: 5 });
  const { acme, client } = opened;
  const none = { refresh_token: null, scope: null, expires_in: null };
  for (const others of [none, { expires_in: 0 }]) {
    acme.answer = () => Response.json({ access_token: "access-9", token_type: "bearer", ...others });
    assertEquals(await later(6, () => access(client)), { token: "access-9" });
    const { acme: tokens } = (await client.get("/claims")).json().claims.providerTokens;
    assertEquals(tokens, { access_token: "access-9", refresh_token: "refresh-1", account: "1" });
  }
});

Deno.test("members that `token.conform` makes null say nothing in the response to a refresh", async () => {
  const acme = new Acme();
  const none = { refresh_token: null, scope: null, expires_in: null };
  acme.answer = () => Response.json({ data: { access_token: "nested", token_type: "bearer", ...none } });
  const conform = async (response: Response) => {
    const { data } = await response.json();
    return data && Response.json(data);
  };
  Object.assign(acme.provider, { token: { url: "https://acme.example/token", conform } });
  await using opened = await signedInApp({ lifetime: 5, acme });
  assertEquals(await access(opened.client), { token: "nested" });
});

Deno.test("a sign-in of the same account that brings no refresh token keeps the one before", async () => {
  const jwt = ({ token, account }: { token: JWT; account?: object | null }) =>
    account ? { ...token, sub: "ada" } : token;
  let id = "1";
  const acme = new Acme();
  const profile = () => ({ id, name: "ada" });
  const providers = [{ ...acme.provider, profile } as Provider];
  await using opened = await signedInApp({ acme, config: { providers, callbacks: { jwt } } });
  const { client } = opened;
  acme.issuesRefreshTokens = false;
  const kept = async () => (await client.get("/claims")).json().claims.providerTokens.acme.refresh_token;
  await signIn(client);
  assertEquals([await access(client), await kept()], [{ token: "access-2" }, "refresh-1"]);
  // Another account, which the same user has linked.
  id = "2";
  await signIn(client);
  assertEquals([await access(client), await kept()], [{ token: "access-3" }, undefined]);
});

Deno.test("a refresh that fails is the failure of its provider alone, also for calls at the same time", async () => {
  const umbrella = new Acme();
  umbrella.lifetime = 5;
  const acme = new Acme();
  const jwt = ({ token, account }: { token: JWT; account?: object | null }) =>
    account ? { ...token, sub: "ada" } : token;
  await using opened = await signedInApp({
    acme,
    lifetime: 5,
    config: {
      providers: [acme.provider, { ...umbrella.provider, id: "umbrella" } as Provider],
      callbacks: { jwt },
    },
    routes: (app, auth) =>
      app.get("/both", async (request) => {
        const calls = ["acme", "umbrella"].map((id) => auth.getAccessToken(request, id));
        return (await Promise.allSettled(calls)).map((call) =>
          call.status === "fulfilled" ? call.value : call.reason.code
        );
      }),
  });
  const { client } = opened;
  const started = await client.post("/auth/signin/umbrella", { csrfToken: await client.csrfToken() });
  const state = new URL(String(started.headers.location)).searchParams.get("state")!;
  await client.get(`/auth/callback/umbrella?${new URLSearchParams({ code: "code", state })}`);
  umbrella.lifetime = 3600;
  acme.answer = () => Response.json({ error: "invalid_grant" }, { status: 400 });
  const answer = await later(6, () => client.get("/both"));
  assertEquals(answer.json(), ["FST_AUTHJS_ACCESS_TOKEN_EXPIRED", "access-2"]);
  assertEquals([acme.refreshes, umbrella.refreshes], [1, 1]);
});

for (
  const [what, seconds, inTurn] of [
    ["have expired are refreshed by calls at the same time", 6, false],
    ["are about to expire are refreshed by calls at the same time", 0, false],
    ["have expired are refreshed by calls in turn", 6, true],
  ] as const
) {
  Deno.test(`tokens of five providers that ${what}`, async () => {
    const ids = ["acme", "two", "three", "four", "five"];
    const providers = ids.map((id) => ({ id, acme: new Acme() }));
    for (const { acme } of providers) acme.lifetime = 5;
    const jwt = ({ token, account }: { token: JWT; account?: object | null }) =>
      account ? { ...token, sub: "ada" } : token;
    await using opened = await signedInApp({
      acme: providers[0]!.acme,
      lifetime: 5,
      config: {
        providers: providers.map(({ id, acme }) => ({ ...acme.provider, id }) as Provider),
        callbacks: { jwt },
      },
      routes: (app, auth) =>
        app.get("/all", async (request) => {
          const calls = [];
          for (const id of ids) {
            const call = auth.getAccessToken(request, id);
            calls.push(inTurn ? await call : call);
          }
          return await Promise.all(calls);
        }),
    });
    const { client } = opened;
    for (const id of ids.slice(1)) {
      const started = await client.post(`/auth/signin/${id}`, { csrfToken: await client.csrfToken() });
      const state = new URL(String(started.headers.location)).searchParams.get("state")!;
      await client.get(`/auth/callback/${id}?${new URLSearchParams({ code: "code", state })}`);
    }
    for (const { acme } of providers) acme.lifetime = 3600;
    const answer = await later(seconds, () => client.get("/all"));
    assertEquals(answer.json(), ids.map(() => "access-2"));
    assertEquals(providers.map(({ acme }) => acme.refreshes), ids.map(() => 1));
    // All of them reached the browser.
    assertEquals((await client.get("/all")).json(), answer.json());
    assertEquals(providers.map(({ acme }) => acme.refreshes), ids.map(() => 1));
  });
}

Deno.test("under load a call waits for its turn among the reads of other requests", async () => {
  let send: (() => Promise<unknown>) | undefined = undefined;
  let others = 10;
  const waiting: (() => void)[] = [];
  const replies: Promise<unknown>[] = [];
  await using opened = await signedInApp({
    lifetime: 5,
    config: {
      callbacks: {
        async jwt({ token }) {
          for (const begun of waiting.splice(0)) begun();
          await new Promise((resolve) => setTimeout(resolve));
          return token;
        },
      },
      events: {
        // Whenever a read is done, the next request reads.
        async session() {
          if (send === undefined || others-- <= 0) return;
          const next = new Promise<void>((resolve) => waiting.push(resolve));
          replies.push(send());
          await next;
        },
      },
    },
  });
  const { app, acme, client } = opened;
  const headers = { cookie: client.cookie! };
  send = async () => (await app.inject({ url: "/me", headers })).json();
  const answer = await later(6, () => client.get("/access"));
  // Each of them may have sent another.
  for (const reply of replies) await reply;
  assertEquals([answer.json(), acme.refreshes, others < 1], [{ token: "access-2" }, 1, true]);
});

Deno.test("a late request with a session token that was replaced gets the claims of the newest one", async () => {
  await using opened = await signedInApp({ lifetime: 5 });
  const { app, client } = opened;
  const headers = { cookie: client.cookie! };
  await access(client);
  const { claims } = (await app.inject({ url: "/claims", headers })).json();
  assertEquals(claims.providerTokens.acme.access_token, "access-2");
});

Deno.test("the tokens of providers are never in the session, whatever the callback returns", async () => {
  await using opened = await signedInApp({
    config: {
      callbacks: {
        session: ({ session, token }) => ({ ...session, ...token, token, expires: session.expires }),
      },
    },
  });
  const { client } = opened;
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

/** Adds a route that updates the session, and gives the access token then. */
function addUpdate(app: FastifyInstance, auth: AuthObject): void {
  app.post("/update", async (request, reply) => {
    await auth.updateSession(request, reply, {});
    return { token: await auth.getAccessToken(request, "acme") };
  });
}

Deno.test("the tokens survive updates and renewals of the session", async () => {
  await using opened = await signedInApp({ config: { session: { updateAge: 0 } }, routes: addUpdate });
  const { client } = opened;
  assertEquals((await client.request("POST", "/update")).json(), { token: "access-1" });
  await client.get("/me");
  assertEquals(await access(client), { token: "access-1" });
});

Deno.test("a token that is refreshed after an update in the same request reaches the browser", async () => {
  await using opened = await signedInApp({
    lifetime: 5,
    routes: addUpdate,
  });
  const { acme, client } = opened;
  const answer = await client.request("POST", "/update");
  assertEquals(answer.json(), { token: "access-2" });
  assertEquals(setCookies(answer).filter((line) => line.startsWith("authjs.session-token=")).length, 1);
  assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 1]);
});

Deno.test("getAccessToken() says what is wrong with its use", async () => {
  await using opened = await tokenApp({
    routes: (app, auth) => app.get("/unknown", (request) => auth.getAccessToken(request, "gitlab")),
  });
  assertEquals((await opened.app.inject("/unknown")).json().code, "FST_AUTHJS_NOT_FOUND");
  await using without = await tokenApp({ config: { refreshTokens: false } });
  assertEquals((await without.app.inject("/access")).json().code, "FST_AUTHJS_CONFIG_INVALID");
});

Deno.test("refreshTokens is a boolean", async () => {
  const config: FastifyAuthConfig = {
    providers: [new Acme().provider],
    secret: SECRET,
    trustHost: true,
    refreshTokens: "yes" as unknown as boolean,
  };
  await using app = Fastify() as FastifyInstance;
  const code = await app.register(createAuth(config).plugin, { prefix: "/auth" }).then(
    () => "none",
    (error) => error.code,
  );
  assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
});

Deno.test("while the store fails, getAccessToken() is unavailable: it does not say that there are no tokens", async () => {
  for (const readsBefore of [false, true]) {
    const store = memoryStore();
    let isDown = false;
    const get: typeof store.get = (...args) => isDown ? Promise.reject(new Error("down")) : store.get(...args);
    await using opened = await signedInApp({
      lifetime: 5,
      config: { store: { ...store, get }, revocable: true },
      routes: (app, auth) =>
        app.get("/fails", async (request) => {
          // As a guard does, just before it fails
          if (readsBefore) await auth.getSession(request);
          isDown = true;
          return { token: await auth.getAccessToken(request, "acme") };
        }),
    });
    const answer = await opened.client.get("/fails");
    assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
    isDown = false;
    assertEquals(await access(opened.client), { token: "access-2" });
  }
});

Deno.test("a sign-in that began with the cookie before keeps the refresh token that came meanwhile", async () => {
  await using opened = await signedInApp({ lifetime: 5 });
  const { app, acme, client } = opened;
  const late = new Client(app);
  for (const [name, value] of client.cookies) late.cookies.set(name, value);
  assertEquals(await access(client), { token: "access-2" });
  acme.issuesRefreshTokens = false;
  await signIn(late);
  const { access_token, refresh_token } = (await late.get("/claims")).json().claims.providerTokens.acme;
  assertEquals([access_token, refresh_token], ["access-3", "refresh-2"]);
});

for (const sub of [undefined, null, ""]) {
  Deno.test(`a user gets no access token of the one before in the same browser, also with the sub ${JSON.stringify(sub)}`, async () => {
    const acme = new Acme();
    const other = { ...new Acme().provider, id: "other" } as Provider;
    await using opened = await tokenApp({
      acme,
      config: {
        providers: [acme.provider, other],
        callbacks: {
          jwt: ({ token, account }) =>
            account ? { name: token.name!, ...(sub !== undefined && { sub: sub as string }) } : token,
        },
      },
    });
    const { client } = opened;
    await signIn(client);
    assertEquals(await access(client), { token: "access-1" });
    await signIn(client, "other");
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
    assertEquals(await access(client), { token: null });
  });
}

Deno.test("a user who signs in once more with a password keeps the access tokens, and another gets none", async () => {
  const adapter = memoryAdapter();
  const acme = new Acme();
  let id = "";
  const password = Credentials({ credentials: {}, authorize: () => ({ id }) });
  await using opened = await signedInApp({
    acme,
    config: {
      adapter,
      session: { strategy: "jwt" },
      providers: [acme.provider, password],
      events: { createUser: ({ user }) => void (id = user.id!) },
    },
  });
  const { client } = opened;
  await client.signIn({});
  assertEquals(await access(client), { token: "access-1" });
  id = "eve";
  await client.signIn({});
  assertEquals(await access(client), { token: null });
});

/** An application whose user links an account of another provider, and a second browser with the same session. */
async function linkingApp(meanwhile: (second: Client) => Promise<unknown>, callback: "jwt" | "signIn") {
  const acme = new Acme();
  const other = { ...new Acme().provider, id: "other" } as Provider;
  const act = async (account?: { provider: string } | null) => {
    if (account?.provider === "other") await meanwhile(second);
  };
  const opened = await signedInApp({
    acme,
    lifetime: 5,
    config: {
      adapter: memoryAdapter(),
      session: { strategy: "jwt" },
      providers: [acme.provider, other],
      ...(callback === "jwt"
        ? { callbacks: { jwt: ({ token, account }) => act(account).then(() => token) } }
        : { events: { signIn: ({ account }) => act(account) } }),
    },
    routes: (app, auth) => app.post("/link", (request, reply) => auth.linkAccount(request, reply, "other")),
  });
  const { app, client } = opened;
  const second = new Client(app);
  for (const [name, value] of client.cookies) second.cookies.set(name, value);
  const started = await client.request("POST", "/link");
  const { searchParams } = new URL(String(started.headers.location));
  const finish = () => client.get(`/auth/callback/other?code=code&state=${searchParams.get("state")}`);
  return { ...opened, second, finish };
}

for (const callback of ["jwt", "signIn"] as const) {
  Deno.test(`tokens that are refreshed while an account is linked stay (${callback})`, async () => {
    await using opened = await linkingApp(access, callback);
    const { client, second, finish } = opened;
    await finish();
    const { providerTokens } = (await client.get("/claims")).json().claims;
    assertEquals([providerTokens.acme.refresh_token, providerTokens.other.access_token], ["refresh-2", "access-1"]);
    assertEquals((await second.get("/claims")).json().claims.providerTokens, providerTokens);
  });
}

for (const callback of ["jwt", "signIn"] as const) {
  Deno.test(`a session that ends while an account is linked does not come back (${callback})`, async () => {
    await using opened = await linkingApp((second) => second.signOut(), callback);
    const { app, client, finish } = opened;
    await finish();
    const token = await later(16 * 60, async () => {
      // With the next end those of long ago are forgotten.
      const third = new Client(app);
      await signIn(third);
      await third.signOut();
      return await access(client);
    });
    assertEquals(token, { token: null });
  });
}

Deno.test("getAccessToken() names the mistake of the configuration, and not an option that is there", async () => {
  const auth = createAuth({ providers: [], secret: "short", trustHost: true, refreshTokens: true });
  await using app = Fastify() as FastifyInstance;
  app.get("/api", (request) => auth.getAccessToken(request, "acme"));
  const { statusCode, body } = await app.inject({ url: "/api" });
  assertEquals(statusCode, 500);
  assertStringIncludes(body, "32 characters");
});
