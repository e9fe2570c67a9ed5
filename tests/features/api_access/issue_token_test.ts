/** Access tokens that an application issues, and another one accepts. */
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, memoryStore } from "fastify-authjs";
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, jwtVerify } from "jose";
import type { AddressInfo } from "node:net";
import { testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { withEnvironment } from "../../support/environment.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const API = "https://api.example";

/** An application whose signed-in users get tokens. */
async function startApp(overrides: Partial<FastifyAuthConfig>, options: object = { audience: API }) {
  const auth = createAuth(testConfig({ apiAccess: {}, ...overrides }));
  const app = Fastify({ forceCloseConnections: true }) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/token", (request) => auth.issueToken(request, options as never));
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  return { app, auth, client, token: async () => (await client.get("/token")).body };
}

async function keys(app: FastifyInstance): Promise<{ kid: string }[]> {
  return (await app.inject("/auth/jwks")).json().keys;
}

Deno.test("another application accepts a token by its issuer alone", async () => {
  const { app, client } = await startApp({ store: memoryStore(), origin: undefined as never }, {
    audience: API,
    ttl: 60,
    scopes: ["orders:read"],
  });
  await using _app = app;
  await app.listen({ port: 0, host: "127.0.0.1" });
  const issuer = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const token = (await client.get("/token", { headers: { host: new URL(issuer).host } })).body;
  assertEquals(decodeProtectedHeader(token).typ, "at+jwt");
  const { iss, sub, aud, exp, iat, scope } = decodeJwt(token);
  assertEquals([iss, sub, aud, exp! - iat!, scope], [`${issuer}/auth`, "id-ada", API, 60, "orders:read"]);

  const api = createAuth(
    testConfig({ apiAccess: { issuers: [{ issuer: `${issuer}/auth`, audience: API }] } }),
  );
  await using other = Fastify() as FastifyInstance;
  await other.register(api.plugin, { prefix: "/auth" });
  const guard = api.requireSession({ tokens: ["access"], scopes: ["orders:read"] });
  other.get("/orders", { onRequest: guard }, async (request) => (await api.getClaims(request))!.sub);
  const answer = await other.inject({ url: "/orders", headers: { authorization: `Bearer ${token}` } });
  assertEquals([answer.statusCode, answer.body], [200, "id-ada"]);
});

Deno.test("keys in the store are sealed, shared, published without their private half, and changed", async () => {
  const kept = new Map<string, string>();
  const memory = memoryStore();
  const store = {
    ...memory,
    set: (key: string, value: string, milliseconds: number) => {
      kept.set(key, value);
      return memory.set(key, value, milliseconds);
    },
  };
  const [one, two] = [await startApp({ store }), await startApp({ store })];
  await using _one = one.app;
  await using _two = two.app;
  assertEquals(await keys(one.app), []);
  const kids = await Promise.all(
    [one, two, one].map(async ({ token }) => decodeProtectedHeader(await token()).kid),
  );
  assertEquals(new Set(kids).size, 1, "they share one");
  const published = await keys(two.app);
  assertEquals([published.length, Object.keys(published[0]!).includes("d")], [1, false]);
  assertEquals([...kept.values()].some((value) => value.includes('"d"')), false);
  await withClock(async (clock) => {
    const later = new Client(two.app);
    await later.signIn({ username: "ada", password: "open" });
    const { kid } = decodeProtectedHeader((await later.get("/token")).body);
    assertEquals(kids.includes(kid), false);
    assertEquals(
      (await keys(two.app)).map((key) => key.kid),
      [kid, kids[0]],
      "the old one is published, too",
    );
    clock.now += 10 * 86_400_000;
    assertEquals((await keys(two.app)).map((key) => key.kid), [kid], "after 40 days it is not");
  }, Date.now() + 31 * 86_400_000);
});

Deno.test("keys that an older secret sealed still sign after the secret changes", async () => {
  const store = memoryStore();
  const [old, fresh] = ["an-older-secret-of-32-characters-xxxx", "a-newer-secret-of-32-characters-xxxxx"];
  const before = await startApp({ store, secret: old! });
  await using _before = before.app;
  const { kid } = decodeProtectedHeader(await before.token());
  const after = await startApp({ store, secret: [fresh!, old!] });
  await using _after = after.app;
  assertEquals(decodeProtectedHeader(await after.token()).kid, kid);
  assertEquals((await keys(after.app)).map((key) => key.kid), [kid]);
  const alone = await startApp({ store, secret: fresh! });
  await using _alone = alone.app;
  assertEquals((await keys(alone.app)).map((key) => key.kid), [kid], "they do not need the older secret any more");
});

Deno.test("while processes learn a new secret, each publishes the keys of all", () =>
  withClock(async (clock) => {
    const store = memoryStore();
    const [old, fresh] = ["an-older-secret-of-32-characters-xxxx", "a-newer-secret-of-32-characters-xxxxx"] as const;
    const kids = [];
    for (const secret of [[old, fresh], [fresh, old], [old, fresh]]) {
      const each = await startApp({ store, secret });
      await using _each = each.app;
      kids.unshift(decodeProtectedHeader(await each.token()).kid!);
      assertEquals((await keys(each.app)).map(({ kid }) => kid), [...new Set(kids)]);
      clock.now += kids.length === 1 ? 31 * 86_400_000 : 1000;
    }
    assertEquals([kids[0], new Set(kids).size], [kids[1], 2]);
  }));

Deno.test("keys of the environment sign, the first one of them", async () => {
  const jwks = [];
  for (const [kid, alg] of [["new", "EdDSA"], ["old", "ES256"]] as const) {
    const { privateKey } = await generateKeyPair(alg, { extractable: true });
    // As WebCrypto exports it.
    jwks.push({ ...await exportJWK(privateKey), kid, alg, key_ops: ["sign"], ext: true });
  }
  await withEnvironment({ AUTH_SIGNING_KEYS: JSON.stringify({ keys: jwks }) }, async () => {
    const { app, token } = await startApp({});
    await using _app = app;
    const issued = await token();
    assertEquals(decodeProtectedHeader(issued).kid, "new");
    const published = await keys(app);
    assertEquals(published.map(({ kid }) => kid), ["new", "old"]);
    await jwtVerify(issued, createLocalJWKSet({ keys: published } as never), { audience: API });
  });
});

Deno.test("an application without the plugin issues nothing, since it publishes no keys", async () => {
  const { app, auth, client } = await startApp({ store: memoryStore() });
  await using _app = app;
  await using other = Fastify() as FastifyInstance;
  other.get("/token", (request) => auth.issueToken(request, { audience: API }));
  const { statusCode, body } = await other.inject({ url: "/token", headers: { cookie: client.cookie! } });
  assertEquals(statusCode, 500);
  assertStringIncludes(body, "register the `plugin` in this application");
});

Deno.test("what cannot be issued is said", async () => {
  const failing = async (overrides: Partial<FastifyAuthConfig>, options?: object) => {
    const { app, client } = await startApp(overrides, options);
    await using _app = app;
    const { statusCode, body } = await client.get("/token");
    assertEquals(statusCode, 500);
    return body;
  };
  const store = memoryStore();
  assertStringIncludes(await failing({}), "AUTH_SIGNING_KEYS");
  assertStringIncludes(await failing({ store, apiAccess: undefined as never }), "set `apiAccess: {}`");
  assertStringIncludes(await failing({ store, apiAccess: false as never }), "set `apiAccess: {}`");
  assertStringIncludes(await failing({ store }, {}), "`audience` is missing");
  assertStringIncludes(await failing({ store }, { audience: API, ttl: 1e9 }), "`ttl` must be");
  assertStringIncludes(await failing({ store }, { audience: API, scopes: ["a b"] }), "`scopes` must be");
  await withEnvironment({ AUTH_SIGNING_KEYS: '{"keys":[{"kty":"EC","d":"secret-part"}]}' }, async () => {
    const body = await failing({});
    assertMatch(body, /write a JWK Set/);
    assertEquals(body.includes("secret-part"), false);
  });
  const wrong = [
    { kty: "RSA" },
    { kty: "EC", crv: "P-384" },
    { kty: "OKP", crv: "X25519" },
    { kty: "EC", crv: "P-256", alg: "EdDSA" },
    { kty: "EC", crv: "P-256", kid: 1 },
  ];
  for (const jwk of wrong) {
    const keys = JSON.stringify({ keys: [{ kid: "1", d: "AQ", ...jwk }] });
    await withEnvironment({ AUTH_SIGNING_KEYS: keys }, async () => {
      assertMatch(await failing({}), /AUTH_SIGNING_KEYS: write a JWK Set/, keys);
    });
  }
  const session = () => {
    throw new Error("boom");
  };
  const unread = await startApp({ store, callbacks: { session } });
  await using _unread = unread.app;
  assertEquals((await unread.client.get("/token")).statusCode, 503);
  const { app } = await startApp({ store });
  await using _app = app;
  assertEquals((await app.inject("/token")).statusCode, 401);
  const auth = createAuth(testConfig());
  await assertRejects(() => auth.getClaims({ headers: {}, raw: {} } as never), Error, "getClaims()");
});

Deno.test("no token is issued for a user without an id, or whose id is that of every user", async () => {
  for (const sub of [undefined, null, "", {}] as string[]) {
    const jwt = () => ({ name: "ada", sub });
    const { app, client } = await startApp({ store: memoryStore(), callbacks: { jwt } });
    await using _app = app;
    assertEquals((await client.get("/token")).statusCode, 401, JSON.stringify(sub));
  }
});

Deno.test("with sessions in a database the token is of the user of the row, without a `session` callback", async () => {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  tables.users.set("id-ada", { id: "id-ada", name: "ada", email: "ada@example.com", emailVerified: null });
  const { app, token } = await startApp({ store: memoryStore(), adapter: memoryAdapter(tables) });
  await using _app = app;
  assertEquals(decodeJwt(await token()).sub, "id-ada");
});
