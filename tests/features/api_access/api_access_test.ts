/** Access tokens of authorization servers on guarded routes. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { UnsecuredJWT } from "jose";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, memoryStore, requireSession } from "fastify-authjs";
import type { ApiIssuer } from "fastify-authjs/types";
import { captureLog, testConfig } from "../../support/app.ts";
import { API, type ApiIssuerServer, INTROSPECTION, proofKey, startApiIssuer } from "../../support/api_issuer.ts";
import { type Answer, Client } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const ORIGIN = "http://localhost";
const METADATA = `${ORIGIN}/.well-known/oauth-protected-resource`;

interface Api {
  readonly app: FastifyInstance;
  get(path: string, token?: string, headers?: Record<string, string>, scheme?: string): Promise<Answer>;
}

async function startApi(issuers: ApiIssuer[], overrides: Partial<FastifyAuthConfig> = {}, server = {}): Promise<Api> {
  const auth = createAuth(testConfig({ apiAccess: { issuers, scopes: ["orders:read"] }, ...overrides }));
  const app = Fastify(server as object) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  const claims = async (request: Parameters<typeof auth.getClaims>[0]) => await auth.getClaims(request) ?? {};
  const guard = (path: string, options: Parameters<typeof auth.requireSession>[0]) =>
    app.get(path, { onRequest: auth.requireSession(options) }, claims);
  guard("/api", { tokens: ["access"] });
  guard("/read", { tokens: ["access"], scopes: ["orders:read"] });
  guard("/write", { tokens: ["access"], scopes: ["orders:read", "orders:write"] });
  guard("/other", { tokens: ["access"], audience: "https://other.example" });
  guard("/tool", { tokens: ["access"], audience: `${ORIGIN}/mcp` });
  guard("/both", { tokens: ["session", "access"], scopes: ["orders:read"] });
  app.get("/declared", { config: { auth: { tokens: ["access"] } } as object }, claims);
  app.get("/change", { onRequest: auth.requireSession({ tokens: ["access"] }) }, async (request) => {
    const claims = await auth.getClaims(request) as { scope: string };
    claims.scope = "orders:write";
    return claims;
  });
  app.get("/session", { onRequest: auth.requireSession() }, claims);
  app.get("/session-alone", { onRequest: auth.requireSession({ tokens: ["session"] }) }, () => ({}));
  return {
    app,
    get: async (url, token, headers = {}, scheme = "Bearer") =>
      await app.inject({
        url,
        headers: { ...headers, ...(token && { authorization: `${scheme} ${token}` }) },
      }),
  };
}

async function withApi(
  run: (api: Api, server: ApiIssuerServer) => Promise<void>,
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<void> {
  await using server = await startApiIssuer();
  const issuer = { issuer: server.issuer, audience: API, introspection: INTROSPECTION };
  const api = await startApi([issuer], overrides);
  await using _app = api.app;
  await run(api, server);
}

const challengeOf = (answer: Answer) => String(answer.headers["www-authenticate"]);

for (const format of ["jwt", "opaque"] as const) {
  Deno.test(`a token of the issuer passes, and its claims can be read (${format})`, () =>
    withApi(async ({ get }, server) => {
      const token = await server.token(format);
      for (const path of ["/api", "/read", "/both", "/declared"]) {
        const answer = await get(path, token);
        assertEquals(answer.statusCode, 200, `${path} ${answer.body}`);
        const { iss, client_id, scope } = answer.json();
        assertEquals([iss, client_id, scope], [server.issuer, "service", "orders:read"]);
        assertMatch(String(answer.headers["cache-control"]), /private|no-store/);
      }
      const { length } = server.requests;
      await get("/api", token);
      assertEquals(server.requests.length, length, "a token that was checked is not asked about again");
    }));

  Deno.test(`a token lacks a scope or is for another audience (${format})`, () =>
    withApi(async ({ get }, server) => {
      const token = await server.token(format);
      const lacking = await get("/write", token);
      assertEquals([lacking.statusCode, lacking.json().code], [403, "FST_AUTHJS_FORBIDDEN"]);
      assertStringIncludes(challengeOf(lacking), 'error="insufficient_scope"');
      assertStringIncludes(challengeOf(lacking), 'scope="orders:read orders:write"');
      assertStringIncludes(challengeOf(lacking), `resource_metadata="${METADATA}"`);
      assertEquals(
        (await get("/write", await server.token(format, { scope: "orders:read orders:write" }))).statusCode,
        200,
      );
      const other = await get("/other", token);
      assertEquals([other.statusCode, other.json().code], [401, "FST_AUTHJS_UNAUTHENTICATED"]);
      assertStringIncludes(challengeOf(other), 'error="invalid_token"');
      const own = await server.token(format, { resource: "https://other.example" });
      assertEquals((await get("/other", own)).statusCode, 200);
      assertEquals((await get("/api", own)).statusCode, 401);
    }));

  Deno.test(`a token that is bound to a key needs a new proof each time (${format})`, () =>
    withApi(async ({ get }, server) => {
      const key = await proofKey();
      const token = await server.token(format, { key });
      const dpop = await key.proof("GET", `${ORIGIN}/api`, token);
      assertEquals((await get("/api", token, { dpop }, "DPoP")).statusCode, 200);
      const refused: [why: string, headers: Record<string, string>, scheme?: string][] = [
        ["came before", { dpop }],
        ["as a bearer token", { dpop: await key.proof("GET", `${ORIGIN}/api`, token) }, "Bearer"],
        ["without a proof", {}],
        ["as a bearer token without a proof", {}, "Bearer"],
        ["another method", { dpop: await key.proof("POST", `${ORIGIN}/api`, token) }],
        ["another address", { dpop: await key.proof("GET", `${ORIGIN}/read`, token) }],
        ["another host", { dpop: await key.proof("GET", "http://evil.example/api", token) }],
        ["another token", { dpop: await key.proof("GET", `${ORIGIN}/api`, `${token}x`) }],
        ["no token", { dpop: await key.proof("GET", `${ORIGIN}/api`) }],
        ["another key", { dpop: await (await proofKey()).proof("GET", `${ORIGIN}/api`, token) }],
        ["too old", {
          dpop: await key.proof("GET", `${ORIGIN}/api`, token, { iat: Math.floor(Date.now() / 1000) - 400 }),
        }],
        ["no id", { dpop: await key.proof("GET", `${ORIGIN}/api`, token, { jti: undefined }) }],
      ];
      for (const [why, headers, scheme = "DPoP"] of refused) {
        const answer = await get("/api", token, headers, scheme);
        assertEquals(answer.statusCode, 401, why);
      }
      assertEquals(
        (await get("/api", await server.token(format), { dpop: await key.proof("GET", `${ORIGIN}/api`) }))
          .statusCode,
        401,
      );
    }));
}

for (const store of [false, memoryStore()] as const) {
  Deno.test(`a proof passes all guards of its request, once (${store ? "with" : "without"} a store)`, async () => {
    await using server = await startApiIssuer();
    const auth = createAuth(testConfig({ apiAccess: { issuers: [{ issuer: server.issuer, audience: API }] }, store }));
    await using app = Fastify() as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.addHook("onRequest", auth.requireSession({ tokens: ["access"] }));
    const declared = { config: { auth: { tokens: ["access"], scopes: ["orders:read"] } } as object };
    app.get("/api", declared, async (request) => (await auth.getClaims(request))?.scope);
    const key = await proofKey();
    const token = await server.token("jwt", { key });
    const headers = { authorization: `DPoP ${token}`, dpop: await key.proof("GET", `${ORIGIN}/api`, token) };
    const passed = await app.inject({ url: "/api", headers });
    assertEquals([passed.statusCode, passed.body], [200, "orders:read"]);
    assertEquals((await app.inject({ url: "/api", headers })).statusCode, 401);
  });
}

Deno.test("a proof counts once in all processes that share a store", async () => {
  await using server = await startApiIssuer();
  const store = memoryStore();
  const issuers = [{ issuer: server.issuer, audience: API }];
  const [one, other] = [await startApi(issuers, { store }), await startApi(issuers, { store })];
  await using _one = one.app;
  await using _other = other.app;
  const key = await proofKey();
  const token = await server.token("jwt", { key });
  const dpop = await key.proof("GET", `${ORIGIN}/api`, token);
  assertEquals((await one.get("/api", token, { dpop }, "DPoP")).statusCode, 200);
  assertEquals((await other.get("/api", token, { dpop }, "DPoP")).statusCode, 401);
});

Deno.test("a proof is for the address that clients see, whatever a proxy removes of it", () =>
  withApi(async ({ get }, server) => {
    const key = await proofKey();
    const token = await server.token("jwt", { key });
    for (const [path, status] of [["/api/api", 200], ["/api", 401]] as const) {
      const dpop = await key.proof("GET", `https://app.example${path}`, token);
      assertEquals((await get("/api", token, { dpop }, "DPoP")).statusCode, status, path);
    }
  }, { origin: "https://app.example/api/auth" }));

Deno.test("without a token there is no error in the challenge, and a session passes where it may", () =>
  withApi(async ({ app, get }, server) => {
    const none = await get("/read");
    assertEquals([none.statusCode, none.json().code], [401, "FST_AUTHJS_UNAUTHENTICATED"]);
    assertEquals(challengeOf(none), `Bearer resource_metadata="${METADATA}", scope="orders:read"`);
    assertEquals(challengeOf(await get("/tool")), `Bearer resource_metadata="${METADATA}/mcp"`);
    assertStringIncludes(challengeOf(await get("/both")), `Cookie, Bearer resource_metadata="${METADATA}"`);

    const client = new Client(app);
    await client.signIn({ username: "ada", password: "open" });
    const both = await client.get("/both");
    assertEquals([both.statusCode, both.body], [200, "{}"]);
    assertEquals((await client.get("/read")).statusCode, 401, "a session is no access token");
    const basic = await client.get("/both", { headers: { authorization: "Basic YTpi" } });
    assertEquals(basic.statusCode, 200, "the password of a proxy is no token");
    // The header is judged, not the cookie beside it.
    const wrong = await client.get("/both", { headers: { authorization: "Bearer wrong.wrong.wrong" } });
    assertEquals(wrong.statusCode, 401);
    assertEquals((await client.get("/both", { headers: { authorization: "Bearer two tokens" } })).statusCode, 401);
    assertEquals((await client.get("/session-alone")).statusCode, 200);
    assertEquals(
      (await get("/session", await server.token("jwt"))).statusCode,
      401,
      "by default sessions alone",
    );
  }));

Deno.test("a guard without an audience names the resource that its tokens are for, if all issuers agree", async () => {
  const issuer = (name: string, audience: string) => ({ issuer: `https://${name}.example`, audience });
  const cases: [issuers: ApiIssuer[], path: string][] = [
    [[issuer("a", `${ORIGIN}/mcp`), issuer("b", `${ORIGIN}/mcp`)], "/mcp"],
    [[issuer("a", `${ORIGIN}/mcp`), issuer("b", ORIGIN)], ""],
    [[issuer("a", API)], ""],
  ];
  for (const [issuers, path] of cases) {
    const { app, get } = await startApi(issuers);
    await using _app = app;
    assertEquals(challengeOf(await get("/api")), `Bearer resource_metadata="${METADATA}${path}"`);
    assertEquals((await app.inject(`${METADATA}${path}`)).json().resource, ORIGIN + path);
  }
});

Deno.test("no handler changes the claims of a token that other requests carry", () =>
  withApi(async ({ get }, server) => {
    const token = await server.token("jwt");
    for (let request = 0; request < 2; request++) assertEquals((await get("/change", token)).statusCode, 500);
    assertEquals((await get("/read", token)).json().scope, "orders:read");
  }));

Deno.test("an expired token is refused, also one that was known", () =>
  withApi(async ({ get }, server) => {
    const tokens = [await server.token("jwt"), await server.token("opaque")];
    for (const token of tokens) assertEquals((await get("/api", token)).statusCode, 200);
    await withClock(async () => {
      for (const token of tokens) assertEquals((await get("/api", token)).statusCode, 401);
    }, Date.now() + 700_000);
  }));

Deno.test("an issuer that cannot be asked is a 503, and a guard stays shut", async () => {
  const server = await startApiIssuer();
  const token = await server.token("jwt");
  const { issuer } = server;
  await server[Symbol.asyncDispose]();
  const { logger, lines } = captureLog();
  const api = await startApi([{ issuer, audience: API, introspection: INTROSPECTION }], {}, { logger });
  await using _app = api.app;
  for (const each of [token, "an-opaque-token"]) {
    const answer = await api.get("/api", each);
    assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
    assert(!answer.body.includes(each));
  }
  assertMatch(JSON.stringify(lines), /check `issuer`, and that this server can reach it/);
});

Deno.test("an issuer whose certificate is not trusted is a 503, too, and the log says why", async () => {
  const [key, cert] = await Promise.all(
    ["key", "cert"].map((name) => readFile(new URL(`../../support/tls/${name}.pem`, import.meta.url))),
  );
  const server = createServer({ key, cert } as object, (_request, response) => response.end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const part = (value: object) => btoa(JSON.stringify(value)).replace(/=/g, "");
  const jwt = `${part({ alg: "RS256", typ: "at+jwt" })}.${part({ iss: issuer })}.c2ln`;
  for (const more of [{}, { jwksUri: `${issuer}/keys` }]) {
    const { logger, lines } = captureLog();
    const { app, get } = await startApi([{ issuer, audience: API, ...more }], {}, { logger });
    await using _app = app;
    const answer = await get("/api", jwt);
    assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
    assertMatch(JSON.stringify(lines.filter(({ level }) => level === 50)), /cannot be asked at https:.*certificate/);
  }
  await new Promise((resolve) => server.close(resolve));
});

Deno.test("only a token that was refused is published, not that there was none or that an issuer is away", async () => {
  const server = await startApiIssuer();
  const api = await startApi([{ issuer: server.issuer, audience: API, introspection: INTROSPECTION }]);
  await using _app = api.app;
  const reasons: unknown[] = [];
  const listener = (event: unknown) => reasons.push((event as { reason: unknown }).reason);
  subscribe("fastify-authjs:access-refused", listener);
  try {
    assertEquals((await api.get("/api")).statusCode, 401);
    assertEquals((await api.get("/api", "an-opaque-token")).statusCode, 401);
    await server[Symbol.asyncDispose]();
    assertEquals((await api.get("/api", "another-opaque-token")).statusCode, 503);
  } finally {
    unsubscribe("fastify-authjs:access-refused", listener);
  }
  assertEquals(reasons, ["FST_AUTHJS_UNAUTHENTICATED"]);
});

Deno.test("what an introspection answers is checked, and what is no answer is a 503", async () => {
  let reply: { status: number; body: unknown } = { status: 200, body: {} };
  await using server = Fastify();
  server.addContentTypeParser("application/x-www-form-urlencoded", (_request, _payload, done) => done(null));
  server.get("/.well-known/openid-configuration", () => ({ issuer, introspection_endpoint: `${issuer}/introspect` }));
  server.post("/introspect", (_request, answer) => answer.code(reply.status).send(reply.body));
  const issuer: string = await server.listen({ port: 0, host: "127.0.0.1" });
  const api = await startApi([{ issuer, audience: API, introspection: INTROSPECTION }]);
  await using _app = api.app;
  let tokens = 0;
  const answered = async (status: number, body: unknown) => {
    reply = { status, body };
    return (await api.get("/api", `opaque-${tokens++}`)).statusCode;
  };
  const now = Math.floor(Date.now() / 1000);
  assertEquals(await answered(200, { active: true, aud: API, exp: now + 60 }), 200);
  assertEquals(await answered(200, { active: true, aud: API, exp: now - 1 }), 401);
  assertEquals(await answered(200, { active: true, aud: API, iss: "https://other.example" }), 401);
  assertEquals(await answered(200, "<h1>Welcome</h1>"), 503);
  assertEquals(await answered(500, {}), 503);
});

Deno.test("metadata of an issuer that lack what is needed are a 503, and the log says what", async () => {
  await using server = Fastify();
  server.get("/.well-known/openid-configuration", () => ({ issuer }));
  const issuer: string = await server.listen({ port: 0, host: "127.0.0.1" });
  const jwt = new UnsecuredJWT({ iss: issuer }).encode() + "x";
  const cases: [token: string, said: RegExp][] = [
    [jwt, /issuer http:\S+ have no `jwks_uri`: set `jwksUri`/],
    ["opaque", /issuer http:\S+ have no `introspection_endpoint`/],
  ];
  for (const [token, said] of cases) {
    const { logger, lines } = captureLog();
    const api = await startApi([{ issuer, audience: API, introspection: INTROSPECTION }], {}, { logger });
    await using _app = api.app;
    const answer = await api.get("/api", token);
    assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"], String(said));
    assertMatch(JSON.stringify(lines.filter(({ level }) => level === 50)), said);
  }
});

Deno.test("the metadata of the resource name the issuers, for any site", () =>
  withApi(async ({ app }, { issuer }) => {
    for (const path of ["", "/mcp"]) {
      const answer = await app.inject(`/.well-known/oauth-protected-resource${path}`);
      const { resource, authorization_servers, scopes_supported, bearer_methods_supported } = answer.json();
      assertEquals(resource, ORIGIN + path);
      assertEquals([authorization_servers, scopes_supported], [[issuer], ["orders:read"]]);
      assertEquals(bearer_methods_supported, ["header"]);
      assertEquals(answer.headers["access-control-allow-origin"], "*");
    }
    assertEquals((await app.inject("/.well-known/oauth-authorization-server/other")).statusCode, 404);
  }));

Deno.test("metadata of an origin that a client made up are in no cache for others", async () => {
  for (const origin of [undefined, "https://app.example"]) {
    const auth = createAuth(testConfig({ apiAccess: {}, store: memoryStore(), ...(origin && { origin }) }));
    await using app = Fastify({ trustProxy: true }) as unknown as FastifyInstance & AsyncDisposable;
    await app.register(auth.plugin, { prefix: "/auth" });
    for (const path of ["oauth-protected-resource", "oauth-authorization-server/auth"]) {
      const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "evil.example" };
      const answer = await app.inject({ url: `/.well-known/${path}`, headers });
      const { resource, issuer } = answer.json();
      assertEquals(new URL(resource ?? issuer).origin, origin ?? "https://evil.example");
      assertEquals(answer.headers["cache-control"], origin === undefined ? "no-store" : "public, max-age=300");
    }
  }
});

Deno.test("each configuration of an application has its metadata", async () => {
  const issuerOf = (name: string) => `https://${name}.example`;
  const authOf = (name: string, audience: string, scope: string) =>
    createAuth(testConfig({
      secret: name.padEnd(32, "x"),
      store: memoryStore(),
      apiAccess: { issuers: [{ issuer: issuerOf(name), audience }], scopes: [scope, "profile"] },
    }));
  await using app = Fastify() as FastifyInstance;
  const parts = [["orders", `${ORIGIN}/orders`, "orders:read"], ["admin", `${ORIGIN}/admin`, "admin"]] as const;
  for (const [name, audience, scope] of parts) {
    const auth = authOf(name, audience, scope);
    await app.register(auth.plugin, { prefix: `/${name}/auth` });
    app.get(`/${name}`, { onRequest: auth.requireSession({ tokens: ["access"] }) }, () => "in");
  }
  const described = async (path: string) => {
    const { authorization_servers, scopes_supported } = (await app.inject(`${METADATA}${path}`)).json();
    return [authorization_servers, scopes_supported];
  };
  for (const [name, , scope] of parts) {
    assertEquals(challengeOf(await app.inject(`/${name}`)), `Bearer resource_metadata="${METADATA}/${name}"`);
    assertEquals(await described(`/${name}`), [[issuerOf(name)], [scope, "profile"]]);
    const { issuer, jwks_uri } = (await app.inject(`/.well-known/oauth-authorization-server/${name}/auth`)).json();
    assertEquals([issuer, jwks_uri], [`${ORIGIN}/${name}/auth`, `${ORIGIN}/${name}/auth/jwks`]);
  }
  // Of a resource that is the audience of none.
  for (const path of ["", "/mcp"]) {
    assertEquals(await described(path), [["orders", "admin"].map(issuerOf), ["orders:read", "profile", "admin"]]);
  }
  assertEquals((await app.inject("/.well-known/oauth-authorization-server/auth")).statusCode, 404);
});

Deno.test("an application with metadata of its own gets those that it lacks", async () => {
  const urls = ["oauth-protected-resource", "oauth-protected-resource/*", "oauth-authorization-server/*"];
  for (const own of urls) {
    const auth = createAuth(testConfig({ apiAccess: {}, store: memoryStore() }));
    await using app = Fastify() as FastifyInstance;
    app.get(`/.well-known/${own}`, () => "of the application");
    await app.register(auth.plugin, { prefix: "/auth" });
    for (const url of urls) {
      const { body } = await app.inject(`/.well-known/${url.replace("*", "auth")}`);
      assertMatch(body, url === own ? /^of the application$/ : /^{"(?:resource|issuer)":/, `${own}, ${url}`);
    }
  }
});

Deno.test("a guard at the root leaves the metadata open", async () => {
  const auth = createAuth(testConfig({ apiAccess: {}, store: memoryStore() }));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.addHook("onRequest", auth.requireSession());
  app.setNotFoundHandler(() => "a page for users");
  for (const name of ["oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server/auth"]) {
    assertEquals((await app.inject(`/.well-known/${name}`)).statusCode, 200, name);
  }
  assertEquals((await app.inject("/other")).statusCode, 401);
  assertEquals((await app.inject("/.well-known/oauth-authorization-server/other")).statusCode, 404);
});

Deno.test("options that cannot be right stop the boot", async () => {
  const wrong: [apiAccess: unknown, text: string][] = [
    [true, "must be an object"],
    [{ issuer: "https://a.example" }, "must be an object such as"],
    [{ issuers: [{ issuer: "a.example", audience: API }] }, "issuers[0]`.issuer must be a URL"],
    [{ issuers: "https://a.example" }, "issuers` must be a list"],
    [{ issuers: [null] }, "issuers[0]` must be an object"],
    [{ scopes: ["orders read"] }, "scopes` must be a list of scopes"],
    [{ issuers: [{ issuer: "https://a.example" }] }, "issuers[0]`.audience must say"],
    [{ issuers: [{ issuer: "https://a.example", audience: API, typ: "x" }] }, "no option `typ`"],
    [
      {
        issuers: [{
          issuer: "https://a.example",
          audience: API,
          introspection: { ...INTROSPECTION, endpoint: "https://a.example/introspect" },
        }],
      },
      ".introspection must be `{ clientId, clientSecret }`",
    ],
    [
      { issuers: [{ issuer: "https://a.example", audience: API, introspection: {} }] },
      ".introspection must be",
    ],
    [{ issuers: [1, 1].map(() => ({ issuer: "https://a.example", audience: API })) }, "has an issuer twice"],
    [{
      issuers: ["a", "b"].map((name) => ({
        issuer: `https://${name}.example`,
        audience: API,
        introspection: INTROSPECTION,
      })),
    }, "`introspection` twice"],
  ];
  for (const [apiAccess, text] of wrong) {
    const auth = createAuth(testConfig({ apiAccess: apiAccess as never }));
    const app = Fastify();
    const error = await assertRejects(
      async () => await app.register(auth.plugin, { prefix: "/auth" }),
      Error,
    );
    assertStringIncludes(error.message, text);
  }
});

Deno.test("options of guards that cannot be right are errors", () => {
  const auth = createAuth(testConfig({ apiAccess: {} }));
  const wrong = [
    { tokens: [] },
    { tokens: ["cookie"] },
    { tokens: ["access"], scopes: [] },
    { tokens: ["access"], scopes: ["with space"] },
    { scopes: ["orders:read"] },
    { tokens: ["session"], audience: API },
    { tokens: ["access"], roles: "admin" },
    { tokens: ["access"], scopes: ["orders:read"], authorize: () => true },
    { tokens: ["session", "access"], roles: "admin" },
  ];
  auth.requireSession({ tokens: ["session", "access"], roles: "admin", scopes: ["admin"] });
  for (const options of wrong) {
    let message = "";
    try {
      auth.requireSession(options as never);
    } catch (error) {
      message = (error as Error).message;
    }
    assertMatch(message, /tokens|scopes/, JSON.stringify(options));
  }
});

Deno.test("without the plugin a guard for access tokens alone lets no session pass, from the first request on", async () => {
  await using server = await startApiIssuer();
  const overrides = { apiAccess: { issuers: [{ issuer: server.issuer, audience: API }] } };
  const api = await startApi(overrides.apiAccess.issuers);
  await using _api = api.app;
  const client = new Client(api.app);
  await client.signIn({ username: "ada", password: "open" });
  const { cookie } = client;
  await using app = Fastify() as FastifyInstance;
  app.get("/api", { onRequest: requireSession(testConfig(overrides), { tokens: ["access"] }) }, () => "in");
  assertEquals((await app.inject({ url: "/api", headers: { cookie } })).statusCode, 401);
  const authorization = `Bearer ${await server.token("jwt")}`;
  assertEquals((await app.inject({ url: "/api", headers: { authorization } })).statusCode, 200);
});

Deno.test("a configuration that a function chooses accepts access tokens, and says that it adds no metadata", async () => {
  await using server = await startApiIssuer();
  const issuers = [{ issuer: server.issuer, audience: API }];
  const config = testConfig({ tenant: "acme", apiAccess: { issuers } });
  const auth = createAuth(() => config);
  const { logger, lines } = captureLog();
  await using app = Fastify({ logger } as object) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/api", { onRequest: auth.requireSession({ tokens: ["access"] }) }, () => "in");
  const headers = { authorization: `Bearer ${await server.token("jwt")}` };
  for (let i = 0; i < 2; i++) assertEquals((await app.inject({ url: "/api", headers })).statusCode, 200);
  assertEquals((await app.inject("/api")).statusCode, 401);
  assertEquals((await app.inject("/auth/signin")).statusCode, 200);
  assertEquals(lines.filter(({ msg }) => msg.includes("adds no metadata")).length, 1);
});

Deno.test("once a token lets a request pass, there is no session of a cookie beside it", async () => {
  await using server = await startApiIssuer();
  const issuers = [{ issuer: server.issuer, audience: API }];
  const auth = createAuth(testConfig({ apiAccess: { issuers }, store: memoryStore() }));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  const onRequest = auth.requireSession({ tokens: ["session", "access"] });
  app.get("/who", { onRequest }, async (request) => {
    const session = await auth.getSession(request);
    return [(await auth.getClaims(request))?.sub ?? null, session?.user.name ?? null];
  });
  app.get("/issue", { onRequest }, (request) => auth.issueToken(request, { audience: "https://other.example" }));
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const headers = { authorization: `Bearer ${await server.token("jwt")}` };
  assertEquals((await client.get("/who", { headers })).json(), ["service", null]);
  assertEquals((await client.get("/issue", { headers })).statusCode, 401);
  assertEquals((await client.get("/who")).json(), [null, "ada"]);
  assertEquals((await client.get("/issue")).statusCode, 200);
});

Deno.test("nor is it what request.session and reply.session have", async () => {
  await using server = await startApiIssuer();
  const auth = createAuth(testConfig({ apiAccess: { issuers: [{ issuer: server.issuer, audience: API }] } }));
  const other = createAuth(testConfig({ apiAccess: { issuers: [{ issuer: server.issuer, audience: API }] } }));
  await using app = Fastify() as FastifyInstance;
  const session = "session";
  app.decorateReply(session, null);
  await app.register(auth.plugin, { prefix: "/auth", decorateRequest: true });
  await app.register((scope) => scope.register(other.plugin, { prefix: "/other" }));
  app.addHook("onRequest", async (request, reply) => {
    Reflect.set(reply, session, await auth.getSession(request));
  });
  const shown = (...holders: object[]) => holders.map((holder) => Reflect.get(holder, session)?.user.name ?? null);
  for (const [path, { requireSession }] of Object.entries({ "/own": auth, "/others": other })) {
    const onRequest = requireSession({ tokens: ["session", "access"] });
    app.get(path, { onRequest }, (request, reply) => shown(request, reply));
  }
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const headers = { authorization: `Bearer ${await server.token("jwt")}` };
  assertEquals((await client.get("/own")).json(), ["ada", "ada"]);
  assertEquals((await client.get("/own", { headers })).json(), [null, null]);
  assertEquals((await client.get("/others", { headers })).json(), ["ada", null], "request.session is of the other one");
});

for (const strategy of ["jwt", "database"] as const) {
  Deno.test(`a guard for both kinds takes a bearer token of a session, and asks no issuer about it (${strategy})`, () => {
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    tables.users.set("id-ada", { id: "id-ada", name: "ada", email: "ada@example.com", emailVerified: null });
    const adapter = memoryAdapter(tables);
    return withApi(async ({ app, get }, server) => {
      const client = new Client(app);
      await client.signIn({ username: "ada", password: "open" });
      const json = { csrfToken: await client.csrfToken() };
      const { access_token } = (await client.request("POST", "/auth/token", { json })).json();
      const passed = await get("/both", access_token);
      assertEquals([passed.statusCode, passed.body], [200, "{}"]);
      assertEquals((await get("/api", access_token)).statusCode, 401, "it is no access token");
      assertEquals(server.requests, []);
      for (const format of ["jwt", "opaque"] as const) {
        assertEquals((await get("/both", await server.token(format))).json().client_id, "service");
      }
      assertEquals((await get("/both", "wrong")).statusCode, 401);
      server.requests.length = 0;
      await withClock(async (clock) => {
        clock.now += 90_000;
        assertEquals((await get("/both", access_token)).statusCode, 401);
      });
      assertEquals(server.requests, [], "no issuer is asked about one that has expired");
    }, { bearer: { maxAge: 60 }, adapter, session: { strategy } });
  });
}
