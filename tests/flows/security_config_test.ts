/** Rows C1 to C10: configurations, instances and prefixes. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import fastifyJwt from "@fastify/jwt";
import secureSession from "@fastify/secure-session";
import fastifySession from "@fastify/session";
import fastifyCookie from "@fastify/cookie";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, FastifyAuthError, getSession } from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import "nodemailer";
import Credentials from "fastify-authjs/providers/credentials";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import "@simplewebauthn/server";
import Passkey from "fastify-authjs/providers/passkey";
import { captureLog, passwordProvider, SECRET, testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { withEnvironment } from "../support/environment.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";

const ada = { username: "ada", password: "open" };

/** A provider that core cannot serve: no issuer, no endpoints. */
const incomplete = { id: "x", name: "X", type: "oauth" } as never;

Deno.test("C1: with a provider that cannot work a guard denies, and says why once", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig({ providers: [incomplete] });
  await using app = Fastify({ logger });
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  for (let i = 0; i < 3; i++) {
    const answer = await app.inject({ url: "/me", headers: { cookie: "authjs.session-token=x" } });
    assertEquals([answer.statusCode, answer.json()], [200, { session: null }]);
  }
  const errors = lines.filter((line) => line.level >= 50);
  assertEquals(errors.length, 1);
  assertMatch(errors[0]!.msg, /No session is read: .*Provider "x" is missing/);
});

Deno.test("C1: the plugin itself does not start with such a provider", async () => {
  const error = await assertRejects(() => testApp(testConfig({ providers: [incomplete] })), FastifyAuthError);
  assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
  assertStringIncludes(error.message, 'Provider "x" is missing');
});

Deno.test("C2: one config object on two prefixes, 200 interleaved requests: no URL crosses", async () => {
  const config = testConfig();
  await using app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/one" });
  await app.register(FastifyAuth(config), { prefix: "/two" });
  const answers = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const prefix = i % 2 === 0 ? "/one" : "/two";
      const { callbackUrl } = (await app.inject(`${prefix}/providers`)).json().credentials;
      return callbackUrl === `http://localhost${prefix}/callback/credentials`;
    }),
  );
  assertEquals(answers.filter((right) => !right).length, 0);
});

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const key of Reflect.ownKeys(value)) deepFreeze((value as Record<PropertyKey, unknown>)[key]);
  }
  return value;
}

Deno.test("C3: a deep-frozen config works, and the caller's object stays as it was", async () => {
  await withEnvironment({ AUTH_GITHUB_ID: "id", AUTH_GITHUB_SECRET: "secret" }, async () => {
    const config = deepFreeze(testConfig({
      providers: [passwordProvider(), GitHub, GitHub({ id: "github-2", checks: ["pkce"] })],
      redirectProxyUrl: "https://proxy.example/auth",
    }));
    await using app = await testApp(config);
    const client = new Client(app);
    await client.signIn(ada);
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
    const { location } = (await client.post("/auth/signin/github", { csrfToken: await client.csrfToken() })).headers;
    assertStringIncludes(String(location), "client_id=id");
  });
});

Deno.test("C3: an unfrozen config is not written to either", async () => {
  const checks = ["pkce" as const];
  const github = GitHub({ clientId: "id", clientSecret: "secret", checks });
  const config = testConfig({
    providers: [passwordProvider(), github],
    redirectProxyUrl: "https://proxy.example/auth",
  });
  const describe = () => [Object.keys(config), Object.keys(github), JSON.stringify(github), checks.length];
  const before = describe();
  await using app = await testApp(config);
  const client = new Client(app);
  await client.signIn(ada);
  await client.post("/auth/signin/github", { csrfToken: await client.csrfToken() });
  await client.get("/me");
  assertEquals(describe(), before);
});

Deno.test("C4: 300 parallel sign-ins of different users do not mix", async () => {
  await using app = await testApp();
  const names = await Promise.all(
    Array.from({ length: 300 }, async (_, i) => {
      const client = new Client(app);
      await client.signIn({ username: `user-${i}`, password: "open" });
      return (await client.get("/me")).json().session?.user.name;
    }),
  );
  assertEquals(names, Array.from({ length: 300 }, (_, i) => `user-${i}`));
});

for (
  const [name, secret, code] of [
    ["missing", undefined, "FST_AUTHJS_SECRET_MISSING"],
    ["''", "", "FST_AUTHJS_SECRET_MISSING"],
    ["[]", [], "FST_AUTHJS_SECRET_MISSING"],
    ["['', '']", ["", ""], "FST_AUTHJS_SECRET_TOO_SHORT"],
    ["'x'", "x", "FST_AUTHJS_SECRET_TOO_SHORT"],
    ["31 characters", "x".repeat(31), "FST_AUTHJS_SECRET_TOO_SHORT"],
    ["[32, 31 characters]", ["x".repeat(32), "x".repeat(31)], "FST_AUTHJS_SECRET_TOO_SHORT"],
  ] as const
) {
  Deno.test(`C5: a secret that is ${name} is a boot error`, async () => {
    await withEnvironment({}, async () => {
      const config = { providers: [passwordProvider()], trustHost: true, secret } as FastifyAuthConfig;
      const error = await assertRejects(() => testApp(config), FastifyAuthError, "AUTH_SECRET");
      assertEquals(error.code, code);
      assertEquals(error.statusCode, undefined);
    });
  });
}

Deno.test("C5: so is a jwt.secret that is missing or empty, whatever secret is", async () => {
  for (const secret of [undefined, []]) {
    const jwt = { secret } as FastifyAuthConfig["jwt"] & object;
    const error = await assertRejects(() => testApp(testConfig({ jwt })), FastifyAuthError, "`jwt.secret`");
    assertEquals(error.code, "FST_AUTHJS_SECRET_MISSING");
  }
});

Deno.test("C5: 32 characters are enough, also when they come from AUTH_SECRET", async () => {
  await withEnvironment({ AUTH_SECRET: "x".repeat(32), AUTH_TRUST_HOST: "1" }, async () => {
    await using _app = await testApp({ providers: [passwordProvider()] });
  });
});

Deno.test("C6: after a rotation the old sessions live", async () => {
  const [old, fresh] = ["the-old-secret-of-32-characters-or-more", "the-new-secret-of-32-characters-or-more"];
  const before = new Client(await testApp(testConfig({ secret: old })));
  await before.signIn(ada);
  await using app = await testApp(testConfig({ secret: [fresh, old] }));
  const read = (cookie: string) => app.inject({ url: "/me", headers: { cookie } });
  assertEquals((await read(before.cookie!)).json().session.user.name, "ada");
  const retired = await testApp(testConfig({ secret: fresh }));
  const answer = await retired.inject({ url: "/me", headers: { cookie: before.cookie! } });
  assertEquals(answer.json().session, null);
});

Deno.test("C6: AUTH_SECRET_1 to 3 rotate as core documents it", async () => {
  const older = { AUTH_TRUST_HOST: "1", AUTH_SECRET: "the-oldest-secret-of-32-characters-or-more" };
  let cookie = "";
  await withEnvironment(older, async () => {
    const client = new Client(await testApp({ providers: [passwordProvider()] }));
    await client.signIn(ada);
    cookie = client.cookie!;
  });
  await withEnvironment({ ...older, AUTH_SECRET_1: SECRET, AUTH_SECRET_3: `${SECRET}-3` }, async () => {
    const app = await testApp({ providers: [passwordProvider()] });
    const answer = await app.inject({ url: "/me", headers: { cookie } });
    assertEquals(answer.json().session.user.name, "ada");
  });
});

for (
  const [prefix, path] of [
    ["/auth", "/auth"],
    ["/auth/", "/auth"],
    ["/a/b/c", "/a/b/c"],
    ["/ü", "/%C3%BC"],
    ["/a b", "/a%20b"],
    ["/v1.0/auth", "/v1.0/auth"],
    ["/@me", "/@me"],
  ] as const
) {
  Deno.test(`C7: under the prefix ${JSON.stringify(prefix)} every URL is right`, async () => {
    await using app = await testApp(testConfig(), { prefix });
    const client = new Client(app, {}, path);
    const { signinUrl, callbackUrl } = (await client.get(`${path}/providers`)).json().credentials;
    assertEquals(signinUrl, `http://localhost${path}/signin/credentials`);
    assertEquals(callbackUrl, `http://localhost${path}/callback/credentials`);
    const answer = await client.signIn(ada);
    assertEquals(answer.headers.location, "http://localhost");
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
    const wrong = await client.signIn({ ...ada, password: "wrong" });
    assertStringIncludes(
      String(wrong.headers.location),
      `http://localhost${path}/signin?error=CredentialsSignin`,
    );
  });
}

for (
  const prefix of [
    "",
    "/",
    "/t/:x/auth",
    "/a+b",
    "/(a)",
    "/$a",
    "/a*",
    "/a%20b",
    "//auth",
    "/../auth",
    "/a?b",
  ]
) {
  Deno.test(`C7: the prefix ${JSON.stringify(prefix)} is a boot error that says why`, async () => {
    const error = await assertRejects(() => testApp(testConfig(), { prefix }));
    if (!(error instanceof FastifyAuthError)) {
      // The router refuses some before we are asked.
      assert(error instanceof Error && error.message.length > 10);
      return;
    }
    assertEquals(error.code, "FST_AUTHJS_PREFIX_INVALID");
    assertStringIncludes(error.message, JSON.stringify(prefix));
    assertMatch(error.message, /auth\.plugin.*FastifyAuth\(config\)/);
  });
}

Deno.test("C7: a nested prefix counts whole, also before the first request", async () => {
  await using app = Fastify();
  const config = testConfig();
  await app.register(async (api) => {
    await api.register(FastifyAuth(config), { prefix: "/auth" });
  }, { prefix: "/api" });
  await app.register(async (scope) => {
    await scope.register(FastifyAuth(config));
  }, { prefix: "/scoped" });
  const callbackUrl = async (path: string) => (await app.inject(`${path}/providers`)).json().credentials.callbackUrl;
  assertEquals(await callbackUrl("/api/auth"), "http://localhost/api/auth/callback/credentials");
  assertEquals(await callbackUrl("/scoped"), "http://localhost/scoped/callback/credentials");
});

Deno.test("C8: getSession() before the first auth request does not change the mount path", async () => {
  const config = testConfig();
  await using app = await testApp(config, { prefix: "/api/auth" });
  await app.inject({ url: "/me", headers: { cookie: "authjs.session-token=x" } });
  const { callbackUrl } = (await app.inject("/api/auth/providers")).json().credentials;
  assertEquals(callbackUrl, "http://localhost/api/auth/callback/credentials");
  assertEquals(Object.hasOwn(config, "basePath"), false);
});

Deno.test("C10: it lives beside @fastify/secure-session", async () => {
  await using app = Fastify();
  await app.register(secureSession, { secret: SECRET, salt: "mq9hDxBVDbspDR6n", cookieName: "other" });
  await checkCoexistence(app);
});

Deno.test("C10: it lives beside @fastify/session and @fastify/cookie", async () => {
  await using app = Fastify();
  await app.register(fastifyCookie);
  await app.register(fastifySession, { secret: SECRET, cookie: { secure: false } });
  await checkCoexistence(app);
});

Deno.test("C10: it lives beside @fastify/jwt", async () => {
  await using app = Fastify();
  await app.register(fastifyJwt, { secret: SECRET });
  await checkCoexistence(app);
});

async function checkCoexistence(app: FastifyInstance): Promise<void> {
  const config = testConfig();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  const client = new Client(app);
  await client.signIn(ada);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
}

Deno.test("C10: two instances with their own secrets and cookies do not see each other's users", async () => {
  const users = testConfig();
  const staff = testConfig({
    secret: "another-secret-of-at-least-32-characters",
    cookies: { sessionToken: { name: "staff.session" }, csrfToken: { name: "staff.csrf" } },
  });
  await using app = Fastify();
  await app.register(FastifyAuth(users), { prefix: "/auth" });
  await app.register(FastifyAuth(staff), { prefix: "/staff/auth" });
  app.get("/me", async (request) => ({
    user: (await getSession(request, users))?.user?.name ?? null,
    staff: (await getSession(request, staff))?.user?.name ?? null,
  }));
  const client = new Client(app);
  await client.signIn(ada);
  assertEquals((await client.get("/me")).json(), { user: "ada", staff: null });
  const other = new Client(app, {}, "/staff/auth");
  await other.signIn({ username: "grace", password: "open" });
  assertEquals((await other.get("/me")).json(), { user: null, staff: "grace" });
});

Deno.test("an e-mail or passkey instance does not make core refuse another one in the process", async () => {
  await using withMail = await testApp(testConfig({
    adapter: memoryAdapter(),
    session: { strategy: "jwt" },
    experimental: { enableWebAuthn: true },
    providers: [
      passwordProvider(),
      Nodemailer({ server: "smtp://localhost:1", from: "a@b.example" }),
      Passkey({}),
    ],
  }));
  assertEquals((await withMail.inject("/auth/providers")).statusCode, 200);
  await using plain = await testApp();
  const client = new Client(plain);
  await client.signIn(ada);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
  assertEquals((await client.get("/auth/session")).json().user.name, "ada");
  await using empty = await testApp(testConfig({ providers: [], adapter: memoryAdapter() }));
  assertEquals((await empty.inject("/auth/csrf")).statusCode, 200);
});

for (
  const [what, overrides, code] of [
    [
      "an e-mail provider without an adapter",
      { providers: [Nodemailer({ server: "smtp://localhost:1" })] },
      "FST_AUTHJS_ADAPTER_INVALID",
    ],
    [
      "an e-mail provider whose adapter lacks methods",
      {
        providers: [Nodemailer({ server: "smtp://localhost:1" })],
        adapter: { getUserByEmail: () => null },
        session: { strategy: "jwt" },
      },
      "FST_AUTHJS_ADAPTER_INVALID",
    ],
    [
      "database sessions without an adapter",
      { session: { strategy: "database" } },
      "FST_AUTHJS_ADAPTER_INVALID",
    ],
    [
      "a passkey provider without an adapter",
      { providers: [Passkey({})], experimental: { enableWebAuthn: true } },
      "FST_AUTHJS_ADAPTER_INVALID",
    ],
    [
      "a passkey provider without the experimental flag",
      { providers: [Passkey({})], adapter: memoryAdapter() },
      "FST_AUTHJS_CONFIG_INVALID",
    ],
    [
      "two providers with one id",
      { providers: [passwordProvider(), passwordProvider()] },
      "FST_AUTHJS_PROVIDER_INVALID",
    ],
    [
      "a provider id that cannot be in a URL",
      { providers: [{ ...passwordProvider(), id: "a/b" }] },
      "FST_AUTHJS_PROVIDER_INVALID",
    ],
    ["a basePath that is not the prefix", { basePath: "/api/auth" }, "FST_AUTHJS_CONFIG_INVALID"],
    ["a redirectProxyUrl that is no address", { redirectProxyUrl: "proxy" }, "FST_AUTHJS_CONFIG_INVALID"],
    ["providers that are no array", { providers: GitHub }, "FST_AUTHJS_CONFIG_INVALID"],
    [
      "credentials without authorize()",
      { providers: [{ id: "c", name: "C", type: "credentials", credentials: {} }] },
      "FST_AUTHJS_PROVIDER_INVALID",
    ],
  ] as const
) {
  Deno.test(`boot refuses ${what}`, async () => {
    const error = await assertRejects(() => testApp(testConfig(overrides as never)), FastifyAuthError);
    assertEquals(error.code, code);
  });
}

Deno.test("boot refuses a provider id that is no path segment of its own", async () => {
  const ids = [
    ".",
    "..",
    "",
    " ",
    "a/b",
    "a\\b",
    "a%2Fb",
    "%2e%2e",
    "a b",
    "a?b",
    "a#b",
    "a:b",
    "é",
    "a\n",
    "\0",
  ];
  for (const id of [...ids, "undefined", "__proto__", "x".repeat(101)]) {
    const provider = { ...passwordProvider(), id } as never;
    const byOptions = Credentials({ id, authorize: () => null } as never);
    for (const providers of [[provider], [byOptions]]) {
      const error = await assertRejects(() => testApp(testConfig({ providers })), FastifyAuthError);
      assertEquals(error.code, "FST_AUTHJS_PROVIDER_INVALID", JSON.stringify(id));
    }
  }
  for (const id of ["a", "...", ".a", "a.b", "a-b_c~d", "toString", "x".repeat(100)]) {
    await using app = await testApp(testConfig({ providers: [{ ...passwordProvider(), id } as never] }));
    const client = new Client(app);
    assertEquals(Object.keys((await client.get("/auth/providers")).json()), [id]);
    await client.signIn({ username: "ada", password: "open" }, id);
    assertEquals((await client.get("/me")).json().session.user.name, "ada", id);
  }
});

Deno.test("an adapter for e-mail alone needs no methods for accounts at providers", async () => {
  const mail = Nodemailer({ server: "smtp://localhost:1" });
  const { linkAccount: _link, getUserByAccount: _byAccount, getUser: _get, ...adapter } = memoryAdapter();
  for (const strategy of ["database", "jwt"] as const) {
    await using _app = await testApp(testConfig({ providers: [mail], adapter, session: { strategy } }));
  }
  const withOthers = testConfig({ providers: [mail, GitHub({ clientId: "a", clientSecret: "b" })], adapter });
  const error = await assertRejects(() => testApp(withOthers), FastifyAuthError);
  assertEquals(error.code, "FST_AUTHJS_ADAPTER_INVALID");
  assertStringIncludes(error.message, "getUser, getUserByAccount, linkAccount");
});

Deno.test("boot names each method that a sign-in by e-mail calls and the adapter lacks", async () => {
  const mail = Nodemailer({ server: "smtp://localhost:1" });
  for (
    const method of [
      ...["createVerificationToken", "useVerificationToken", "getUserByEmail", "createUser", "updateUser"],
      ...["createSession", "getSessionAndUser", "updateSession", "deleteSession"],
    ]
  ) {
    const adapter = { ...memoryAdapter(), [method]: undefined } as never;
    const error = await assertRejects(
      () => testApp(testConfig({ providers: [mail], adapter })),
      FastifyAuthError,
    );
    assertEquals(error.code, "FST_AUTHJS_ADAPTER_INVALID", method);
    assertStringIncludes(error.message, method);
  }
});
