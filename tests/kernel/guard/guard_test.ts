/** The guard: which requests pass, how it responds to the others, and which types it fits. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from "fastify";
import {
  createAuth,
  FastifyAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  getSession,
  requireSession,
  type RequireSessionOptions,
  type Session,
} from "fastify-authjs";
import type { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { captureLog, SECRET, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { faultyAdapter } from "../../support/faults.ts";
import { identityProvider, signInAs } from "../../support/identity.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const html = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
const ada = { username: "ada", password: "open" };

interface Guarded {
  app: FastifyInstance;
  client: Client;
  config: FastifyAuthConfig;
}

/** An application with a guarded `/page`, and a browser. */
async function guardedApp(
  options?: RequireSessionOptions,
  overrides: Partial<FastifyAuthConfig> = {},
  serverOptions: FastifyServerOptions = {},
): Promise<Guarded> {
  const config = testConfig(overrides);
  const app = Fastify(serverOptions) as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/page", { onRequest: requireSession(config, options) }, (request) => getSession(request, config));
  return { app, client: new Client(app), config };
}

/** Puts claims of a test's choice on the user. */
const withUser = (fields: Record<string, unknown>): Partial<FastifyAuthConfig> => ({
  callbacks: { session: ({ session }) => ({ ...session, user: { ...session.user, ...fields } }) },
});

Deno.test("requireSession() lets a signed-in user pass and refuses all others", async () => {
  const { app, client } = await guardedApp();
  await using _app = app;
  const refused = await client.get("/page");
  assertEquals(refused.statusCode, 401);
  assertEquals(refused.json(), {
    statusCode: 401,
    code: "FST_AUTHJS_UNAUTHENTICATED",
    error: "Unauthorized",
    message: "Sign in to use this route.",
  });
  await client.signIn(ada);
  assertEquals((await client.get("/page")).json().user.name, "ada");
  await client.signOut();
  assertEquals((await client.get("/page")).statusCode, 401);
});

Deno.test("requireSession() works as preHandler too", async () => {
  const { app, client, config } = await guardedApp();
  await using _app = app;
  let handled = 0;
  app.post("/late", { preHandler: [requireSession(config)] }, () => `${++handled}`);
  assertEquals((await client.request("POST", "/late", { json: {} })).statusCode, 401);
  assertEquals(handled, 0);
  await client.signIn(ada);
  assertEquals((await client.request("POST", "/late", { json: {} })).body, "1");
});

Deno.test("a refusal names a challenge, varies by Accept on a GET and is not stored", async () => {
  const { app, client, config } = await guardedApp();
  await using _app = app;
  app.addHook("onRequest", (_request, reply, done) => {
    reply.header("cache-control", "public, max-age=60").header("vary", "Origin");
    done();
  });
  app.post("/post", { onRequest: requireSession(config) }, () => "");
  const refused = await client.get("/page");
  assertEquals(refused.headers["www-authenticate"], "Cookie");
  assertEquals(refused.headers["cache-control"], "no-store");
  assertEquals(refused.headers.vary, "Origin, Accept");
  const redirected = await client.get("/page", { headers: html });
  assertEquals(redirected.headers["cache-control"], "no-store");
  assertEquals(redirected.headers.vary, "Origin, Accept");
  const posted = await client.request("POST", "/post");
  assertEquals([posted.statusCode, posted.headers.vary], [401, "Origin"]);
});

Deno.test("the Vary header of an answer names Accept once", async () => {
  for (
    const [before, after] of [
      ["Accept", "Accept"],
      ["accept-encoding", "accept-encoding, Accept"],
      ["Origin,ACCEPT", "Origin,ACCEPT"],
      ["*", "*"],
    ] as const
  ) {
    const { app, client } = await guardedApp();
    await using _app = app;
    app.addHook("onRequest", (_request, reply, done) => {
      reply.header("vary", before);
      done();
    });
    assertEquals((await client.get("/page")).headers.vary, after);
  }
});

const BROWSERS = [
  html.accept,
  "text/html",
  "TEXT/HTML; charset=utf-8",
  "application/json;q=0.1 , text/html ;q=0.9",
  "text/html;q=0.001",
];

const PROGRAMS = [
  undefined,
  "",
  "*/*",
  "text/*",
  "application/json",
  "application/json, text/plain, */*",
  "text/html;q=0",
  "text/html; q=0.000",
  "text/html-not",
  "x-text/html",
  "application/xhtml+xml",
  'application/json; profile="text/html"',
];

Deno.test("a browser's GET for a page is redirected to sign in, with the callback URL", async () => {
  const { app, client } = await guardedApp();
  await using _app = app;
  for (const accept of BROWSERS) {
    const answer = await client.get("/page?tab=1&x=%20y", { headers: { accept } });
    assertEquals(answer.statusCode, 302, accept);
    assertEquals(
      answer.headers.location,
      "/auth/signin?error=SessionRequired&callbackUrl=%2Fpage%3Ftab%3D1%26x%3D%2520y",
    );
    assertEquals(answer.body, "");
  }
});

Deno.test("a request that does not accept text/html gets the 401", async () => {
  const { app } = await guardedApp();
  await using _app = app;
  for (const accept of PROGRAMS) {
    const answer = await app.inject({ url: "/page", headers: accept === undefined ? {} : { accept } });
    assertEquals([answer.statusCode, answer.json().code], [401, "FST_AUTHJS_UNAUTHENTICATED"], accept);
  }
  const upgrade = await app.inject({ url: "/page", headers: { ...html, upgrade: "websocket" } });
  assertEquals(upgrade.statusCode, 401);
});

Deno.test("only a GET is redirected", async () => {
  const { app, config } = await guardedApp();
  await using _app = app;
  const guard = requireSession(config);
  app.route({
    method: ["POST", "PUT", "DELETE", "PATCH"],
    url: "/page",
    onRequest: guard,
    handler: () => "",
  });
  for (const method of ["HEAD", "POST", "PUT", "DELETE", "PATCH"] as const) {
    const answer = await app.inject({ method, url: "/page", headers: html });
    assertEquals([answer.statusCode, answer.headers.location], [401, undefined], method);
  }
});

Deno.test("after the sign-in the callback URL leads to the page that was requested", async () => {
  const { app, client } = await guardedApp();
  await using _app = app;
  const { location } = (await client.get("/page?tab=1", { headers: html })).headers;
  const signIn = await client.get(String(location), { headers: html });
  assertEquals(signIn.statusCode, 200);
  const callbackUrl = new URL(String(location), "http://localhost").searchParams.get("callbackUrl")!;
  const answer = await client.signIn({ ...ada, callbackUrl });
  assertEquals(answer.headers.location, "http://localhost/page?tab=1");
  assertEquals((await client.get("/page?tab=1", { headers: html })).statusCode, 200);
});

Deno.test("the callback URL never leaves the origin", async () => {
  const { app, config } = await guardedApp();
  await using _app = app;
  app.get("/*", { onRequest: requireSession(config) }, () => "");
  for (
    const [asked, back] of [
      ["//evil.example/x", "/evil.example/x"],
      ["/\\evil.example", "/evil.example"],
      ["///evil.example", "/evil.example"],
      ["/..//evil.example", "/evil.example"],
      ["/.//evil.example", "/evil.example"],
      ["/a/..//evil.example", "/evil.example"],
      ["/%2e%2e//evil.example", "/evil.example"],
      ["http://evil.example/page?a=1", "/page?a=1"],
      ["/page?next=//evil.example", "/page?next=//evil.example"],
      ["/page?a=%0d%0aset-cookie:x", "/page?a=%0d%0aset-cookie:x"],
    ] as const
  ) {
    // `inject` would parse the address itself; the router and the guard see the request line as it came.
    const { location, status } = await rawGet(app, asked);
    // Deno's server refuses an absolute request target; Node's passes it on.
    if (asked.startsWith("http:") && status === 400) continue;
    const url = new URL(location ?? "", "http://localhost");
    assertEquals([url.host, url.pathname], ["localhost", "/auth/signin"], asked);
    assertEquals(url.searchParams.get("callbackUrl"), back, asked);
  }
});

Deno.test("a path too long for a callback URL is redirected without one", async () => {
  const { app, client } = await guardedApp();
  await using _app = app;
  const answer = await client.get(`/page?${"x".repeat(9000)}`, { headers: html });
  assertEquals(answer.headers.location, "/auth/signin?error=SessionRequired");
});

Deno.test("the sign-in page is where the plugin is mounted, below every prefix", async () => {
  const config = testConfig();
  await using app = Fastify();
  await app.register(async (scope) => {
    await scope.register(FastifyAuth(config), { prefix: "/ü b" });
    scope.get("/page", { onRequest: requireSession(config) }, () => "");
  }, { prefix: "/v1" });
  const answer = await app.inject({ url: "/v1/page", headers: html });
  assertEquals(
    answer.headers.location,
    "/v1/%C3%BC%20b/signin?error=SessionRequired&callbackUrl=%2Fv1%2Fpage",
  );
});

Deno.test("pages.signIn takes the place of the plugin's page", async () => {
  for (
    const [signIn, location] of [
      ["/login", "/login?error=SessionRequired&callbackUrl=%2Fpage"],
      ["/login?theme=dark", "/login?theme=dark&error=SessionRequired&callbackUrl=%2Fpage"],
      ["/login#form", "/login?error=SessionRequired&callbackUrl=%2Fpage#form"],
      ["http://localhost/login", "/login?error=SessionRequired&callbackUrl=%2Fpage"],
      [
        "https://accounts.example/login",
        "https://accounts.example/login?error=SessionRequired&callbackUrl=http%3A%2F%2Flocalhost%2Fpage",
      ],
    ] as const
  ) {
    const { app, client } = await guardedApp({}, { pages: { signIn } });
    await using _app = app;
    assertEquals((await client.get("/page", { headers: html })).headers.location, location);
  }
});

Deno.test("a guard at the root does not redirect the application's own sign-in page to itself", async () => {
  const config = testConfig({ pages: { signIn: "/login" } });
  await using app = Fastify();
  app.addHook("onRequest", requireSession(config));
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/login", (request) => `sign in, ${request.id.length > 0}`);
  app.post("/login", () => "");
  app.get("/login/inner", () => "");
  assertEquals((await app.inject({ url: "/login?error=SessionRequired", headers: html })).statusCode, 200);
  assertEquals((await app.inject({ method: "HEAD", url: "/login" })).statusCode, 200);
  assertEquals((await app.inject({ method: "POST", url: "/login" })).statusCode, 401);
  for (const url of ["/login/inner", "/other?/login", "/LOGIN", "//login"]) {
    assertEquals((await app.inject({ url })).statusCode, 401, url);
  }
});

/** An application that is guarded at its root, with its sign-in page among its own pages. */
async function guardedRoot(signIn: string) {
  const config = testConfig({ pages: { signIn } });
  const app = Fastify();
  app.addHook("onRequest", requireSession(config));
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/*", (request) => request.query);
  return app;
}

Deno.test("a sign-in page with a query opens that page only", async () => {
  const SIGN_IN_PAGES: [signIn: string, open: string[], closed: string[]][] = [
    [
      "/?page=login",
      [
        "/?page=login",
        "/?page=login&error=SessionRequired&callbackUrl=%2Fsecret",
        "/?error=CredentialsSignin&code=credentials&page=login",
        "/?callbackUrl=/a&callbackUrl=/b&page=login",
        "/?p%61ge=log%69n",
        "/?page=login&",
      ],
      [
        "/",
        "/?",
        "/?page=admin",
        "/?page=loginx",
        "/?page=",
        "/?page",
        "/?Page=login",
        "/?error=SessionRequired",
        "/?page=login&page=admin",
        "/?page=admin&page=login",
        "/?page=login&page=login",
        "/?page=login&page[]=admin",
        "/?page=login&view=admin",
        "/?page=login&__proto__=x",
        "/?page=login;view=admin",
        "/??page=login",
        "/?x?page=login",
        "/?page=login%26view=admin",
        "/other?page=login",
        "//?page=login",
      ],
    ],
    [
      "/login?tab=1&lang=de",
      ["/login?tab=1&lang=de", "/login?lang=de&tab=1", "/login?lang=de&error=x&tab=%31"],
      ["/login", "/login?tab=1", "/login?lang=de", "/login?tab=1&lang=en", "/login?tab=1&tab=1&lang=de"],
    ],
    ["/app?next=a%20b#form", ["/app?next=a+b", "/app?next=a%20b"], [
      "/app",
      "/app?next=a",
      "/app?next=a%2Bb",
    ]],
    ["/?/login", ["/?/login", "/?%2Flogin=", "/?/login&error=x"], ["/", "/?/other", "/?login"]],
    ["/login?error=0", ["/login", "/login?error=1", "/login?any=1"], ["/", "/other?error=0"]],
    ["http://localhost?page=login", ["/?page=login"], ["/", "/?page=admin"]],
    ["/anmelden-für", ["/anmelden-f%C3%BCr", "/anmelden-f%C3%BCr?a=1"], ["/", "/anmelden"]],
  ];
  for (const [signIn, open, closed] of SIGN_IN_PAGES) {
    await using app = await guardedRoot(signIn);
    for (const url of open) assertEquals((await rawGet(app, url)).status, 200, `${signIn}: ${url}`);
    for (const url of closed) {
      const { status, location = "" } = await rawGet(app, url);
      assertEquals(status, 302, `${signIn}: ${url}`);
      // The page that it leads to is open, or users could not sign in.
      assertEquals((await rawGet(app, location.replace(/#.*/, ""))).status, 200, `${signIn}: ${location}`);
    }
  }
});

Deno.test("a request line with an absolute address opens the sign-in page, and no page that another origin has", async () => {
  const PAGES: [signIn: string, open: string[], closed: string[]][] = [
    ["https://login.example/", [], ["https://login.example/", "http://login.example/", "/"]],
    ["https://login.example/admin?a=1", [], ["https://login.example/admin?a=1", "/admin?a=1"]],
    ["/login", ["http://localhost/login", "HTTP://x/login?error=a"], [
      "http://localhost/admin",
      "http://login",
    ]],
    ["http://localhost/login", ["http://localhost/login", "/login"], ["http://localhost/", "/admin"]],
    // find-my-way, which Fastify routes with, took what follows the first slash for the path until 9.9.
    ["/", ["http://localhost/", "/?a"], ["http://localhost?/admin", "http://localhost#/admin", "/admin"]],
  ];
  for (const [signIn, open, closed] of PAGES) {
    const config = testConfig({ pages: { signIn } });
    await using app = Fastify();
    app.addHook("onRequest", (request, _reply, done) => {
      // As Node's server has it; `inject` and Deno's server resolve it.
      (request.raw as { originalUrl?: unknown }).originalUrl = request.headers["x-request-target"];
      done();
    });
    app.addHook("onRequest", requireSession(config));
    app.get("/*", () => "");
    const statusOf = async (target: string) =>
      (await app.inject({ url: "/any", headers: { "x-request-target": target, host: "localhost" } }))
        .statusCode;
    for (const target of open) assertEquals(await statusOf(target), 200, `${signIn}: ${target}`);
    for (const target of closed) assertEquals(await statusOf(target), 401, `${signIn}: ${target}`);
  }
});

Deno.test("the query of the sign-in page stays as it is written, without what redirects add themselves", async () => {
  for (
    const [signIn, location] of [
      ["/?/login&a=b%20c", "/?/login&a=b%20c&error=SessionRequired&callbackUrl=%2Fpage"],
      ["/login?error=0&tab=1&callbackUrl=/", "/login?tab=1&error=SessionRequired&callbackUrl=%2Fpage"],
      ["/login?", "/login?error=SessionRequired&callbackUrl=%2Fpage"],
      ["http://localhost", "/?error=SessionRequired&callbackUrl=%2Fpage"],
    ] as const
  ) {
    const { app, client } = await guardedApp({}, { pages: { signIn } });
    await using _app = app;
    assertEquals((await client.get("/page", { headers: html })).headers.location, location);
  }
});

/** An application with sessions in a database, and a browser that is signed in. */
async function guardedDatabase(options?: RequireSessionOptions, pages: FastifyAuthConfig["pages"] = {}) {
  const { adapter, faults } = faultyAdapter(memoryAdapter());
  const { logger, lines } = captureLog();
  const config = testConfig({
    adapter,
    pages,
    providers: [identityProvider("idp")],
    adapterTimeout: 50,
  });
  const app = Fastify({ logger } as object) as FastifyInstance;
  app.decorateReply("session", null);
  app.addHook("onRequest", requireSession(config, options));
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/page", () => "page");
  app.get("/login", () => "sign in");
  const client = new Client(app);
  await signInAs(client, "idp", { id: "1", name: "ada", email: "ada@example.com" });
  return { app, client, faults, lines };
}

Deno.test("a guard answers 503 while the database is down, never signed out", async () => {
  for (const fault of ["throws", "hangs"] as const) {
    for (const options of [{}, { roles: "admin" }]) {
      const { app, client, faults } = await guardedDatabase(options);
      await using _app = app;
      const before = options.roles ? 403 : 200;
      assertEquals((await client.get("/page")).statusCode, before);
      faults.set("getSessionAndUser", fault);
      for (const headers of [html, { accept: "application/json" }]) {
        const answer = await client.get("/page", { headers });
        assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
        assertEquals(answer.headers["cache-control"], "no-store");
        assertEquals([answer.headers.location, answer.headers["set-cookie"]], [undefined, undefined]);
      }
      // Who brings no session needs no database to be told so.
      assertEquals((await app.inject("/page")).statusCode, 401);
      faults.clear();
      assertEquals((await client.get("/page")).statusCode, before, "the session is still there");
    }
  }
});

Deno.test("the sign-in page stays open while the database is down", async () => {
  const { app, client, faults } = await guardedDatabase({}, { signIn: "/login" });
  await using _app = app;
  faults.set("getSessionAndUser", "throws");
  assertEquals((await client.get("/login", { headers: html })).statusCode, 200);
  assertEquals((await client.get("/page", { headers: html })).statusCode, 503);
});

Deno.test("without a mounted plugin a browser gets a 401, and the log says why, once", async () => {
  const config = testConfig();
  const { logger, lines } = captureLog();
  await using app = Fastify({ logger } as object) as FastifyInstance;
  app.get("/page", { onRequest: requireSession(config) }, () => "");
  for (let i = 0; i < 3; i++) {
    assertEquals((await app.inject({ url: "/page", headers: html })).statusCode, 401);
  }
  const warnings = lines.filter(({ level }) => level === 40);
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]!.msg, "register `auth.plugin`, or FastifyAuth(config)");
});

Deno.test("a configuration that cannot be used lets no request pass", async () => {
  await using app = Fastify();
  const config = { providers: [], secret: "short", trustHost: true };
  app.get("/page", { onRequest: requireSession(config) }, () => "");
  // What it needs of the configuration is there.
  app.get("/fresh", { onRequest: requireSession({ ...config, stepUp: true }, { maxAge: 60 }) }, () => "");
  for (const url of ["/page", "/fresh"]) assertEquals((await app.inject({ url })).statusCode, 401);
});

const ROLES: [roles: string | string[], user: Record<string, unknown>, passes: boolean][] = [
  ["admin", { role: "admin" }, true],
  ["admin", { roles: ["user", "admin"] }, true],
  ["admin", { role: ["admin"] }, true],
  ["admin", { roles: "admin" }, true],
  [["owner", "admin"], { role: "admin" }, true],
  [["owner", "admin"], { role: "user", roles: ["owner"] }, true],
  ["admin", {}, false],
  ["admin", { role: "user" }, false],
  ["admin", { role: "Admin" }, false],
  ["admin", { role: "administrator" }, false],
  ["admin", { roles: [] }, false],
  ["admin", { roles: { admin: true } }, false],
  ["admin", { roles: [["admin"]] }, false],
  ["true", { role: true }, false],
  ["admin", { role: null, roles: null }, false],
];

Deno.test("roles: a user passes who has one of them", async () => {
  for (const [roles, user, passes] of ROLES) {
    const { app, client } = await guardedApp({ roles }, withUser(user));
    await using _app = app;
    assertEquals((await client.get("/page")).statusCode, 401);
    await client.signIn(ada);
    const answer = await client.get("/page");
    assertEquals(answer.statusCode, passes ? 200 : 403, JSON.stringify([roles, user]));
  }
});

Deno.test("a signed-in user who may not pass gets a 403, browser or not", async () => {
  const { app, client } = await guardedApp({ roles: "admin" });
  await using _app = app;
  await client.signIn(ada);
  for (const headers of [html, { accept: "*/*" }]) {
    const answer = await client.get("/page", { headers });
    assertEquals(answer.json(), {
      statusCode: 403,
      code: "FST_AUTHJS_FORBIDDEN",
      error: "Forbidden",
      message: "The signed-in user may not use this route.",
    });
    assertEquals(answer.headers["cache-control"], "no-store");
    assertEquals(answer.headers["www-authenticate"], undefined);
  }
});

Deno.test("authorize() decides by the session and the request, at once or later", async () => {
  const answers: [unknown, boolean][] = [
    [true, true],
    [1, true],
    [Promise.resolve(true), true],
    [false, false],
    [undefined, false],
    [null, false],
    [0, false],
    ["", false],
    [Promise.resolve(false), false],
    [Promise.resolve(undefined), false],
  ];
  for (const [answer, passes] of answers) {
    const seen: unknown[] = [];
    const authorize = (session: Session, request: FastifyRequest) => {
      seen.push(session.user?.name, request.url, request.body);
      return answer;
    };
    const { app, client } = await guardedApp({ authorize });
    await using _app = app;
    assertEquals((await client.get("/page")).statusCode, 401);
    assertEquals(seen, [], "`authorize` does not run without a session");
    await client.signIn(ada);
    assertEquals((await client.get("/page?a=1")).statusCode, passes ? 200 : 403);
    assertEquals(seen, ["ada", "/page?a=1", undefined]);
  }
});

Deno.test("roles and authorize() must both hold", async () => {
  for (const [role, allowed, status] of [["admin", true, 200], ["admin", false, 403], ["user", true, 403]]) {
    const { app, client } = await guardedApp(
      { roles: "admin", authorize: () => allowed },
      withUser({ role }),
    );
    await using _app = app;
    await client.signIn(ada);
    assertEquals((await client.get("/page")).statusCode, status);
  }
});

Deno.test("an authorize() that throws means no, and is logged", async () => {
  const failures = [
    () => {
      throw new Error("the directory is down");
    },
    () => Promise.reject(new Error("the directory is down")),
    () => Promise.reject("not even an error"),
  ];
  for (const authorize of failures) {
    const { logger, lines } = captureLog();
    const { app, client } = await guardedApp({ authorize }, {}, { logger });
    await using _app = app;
    await client.signIn(ada);
    const answer = await client.get("/page");
    assertEquals([answer.statusCode, answer.json().code], [403, "FST_AUTHJS_FORBIDDEN"]);
    assert(!answer.body.includes("directory"), "the client is not told why");
    const errors = lines.filter(({ level }) => level === 50);
    assertEquals(errors.length, 1);
    assertStringIncludes(errors[0]!.msg, "`authorize` of requireSession() threw");
  }
});

Deno.test("rows, an error or a response of authorize() let nobody pass, and are logged", async () => {
  const results = [
    [[], "an array"],
    [Promise.resolve([{ team: 1 }]), "an array"],
    [new Error("no member"), "an error"],
    [new Response(null, { status: 403 }), "a response"],
  ] as const;
  for (const [result, kind] of results) {
    const { logger, lines } = captureLog();
    const { app, client } = await guardedApp({ authorize: () => result }, {}, { logger });
    await using _app = app;
    await client.signIn(ada);
    assertEquals((await client.get("/page")).statusCode, 403);
    const errors = lines.filter(({ level }) => level === 50);
    assertEquals(errors.length, 1);
    assertStringIncludes(errors[0]!.msg, `It returned ${kind}: return true or false.`);
  }
});

Deno.test("options that cannot be meant are refused when the guard is made", () => {
  const config = testConfig();
  const mistakes: [unknown, unknown, string][] = [
    [undefined, {}, "FastifyAuth()"],
    [null, {}, "FastifyAuth()"],
    [{ roles: "admin" }, {}, "and then the options"],
    [createAuth(config), {}, "`auth.requireSession()`"],
    [config, { roles: [] }, "`roles`"],
    [config, { roles: "" }, "`roles`"],
    [config, { roles: undefined }, "`roles`"],
    [config, { roles: [undefined] }, "`roles`"],
    [config, { authorize: undefined }, "`authorize`"],
    [config, { authorize: true }, "`authorize`"],
    [config, { role: "admin" }, "`role`"],
  ];
  for (const [given, options, message] of mistakes) {
    const error = assertThrows(
      () => requireSession(given as FastifyAuthConfig, options as RequireSessionOptions),
      FastifyAuthError,
      message,
    );
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
  }
});

Deno.test("requireSession itself as a hook is an error that says so", async () => {
  const hook = requireSession as unknown as () => void;
  const ofObject = createAuth(testConfig()).requireSession as unknown as () => void;
  const register: ((app: FastifyInstance) => void)[] = [
    (app) => app.addHook("onRequest", ofObject),
    (app) => app.addHook("onRequest", hook),
    (app) => app.addHook("preHandler", hook),
    (app) => app.route({ method: "GET", url: "/own", onRequest: hook, handler: () => "own" }),
    (app) => app.route({ method: "GET", url: "/own", preHandler: [hook], handler: () => "own" }),
  ];
  for (const add of register) {
    await using app = Fastify();
    add(app);
    app.get("/page", () => "page");
    const answer = await app.inject(app.hasRoute({ method: "GET", url: "/own" }) ? "/own" : "/page");
    assertEquals([answer.statusCode, answer.json().code], [500, "FST_AUTHJS_CONFIG_INVALID"]);
    assertStringIncludes(answer.json().message, "`onRequest: auth.requireSession()`");
  }
});

Deno.test("getSession() with arguments that cannot be meant is an error that says so", async () => {
  const config = Object.freeze(testConfig());
  const read = getSession as (...args: unknown[]) => Promise<unknown>;
  await using app = Fastify();
  const calls: Record<string, (request: unknown, reply: unknown) => Promise<unknown>> = {
    swapped: (request) => read(config, request),
    alone: (request) => read(request),
    null: (request) => read(request, null),
    reply: (request, reply) => read(request, reply),
    request: (request) => read(request, request),
    nothing: () => read(),
    config: () => read(config, config),
    text: (request) => read(request, "config"),
    raw: (request) => read((request as FastifyRequest).raw, config),
    web: () => read(new Request("http://localhost/"), config),
    "reply-first": (_request, reply) => read(reply, config),
    object: (request) => read(request, createAuth(config)),
    options: (request) => read(request, { roles: "admin" }),
    chosen: (request) => read((request as FastifyRequest).raw, () => config),
  };
  app.get<{ Params: { name: string } }>(
    "/:name",
    (request, reply) => calls[request.params.name]!(request, reply),
  );
  app.addHook("preHandler", async () => {});
  for (const name of Object.keys(calls)) {
    const answer = await app.inject(`/${name}`);
    assertEquals([answer.statusCode, answer.json().code], [500, "FST_AUTHJS_CONFIG_INVALID"], name);
    const second = ["alone", "null", "reply", "request", "text", "object", "options"].includes(name);
    const said = second ? "`await getSession(request, config)`" : "getSession(): its first argument is the request";
    assertStringIncludes(answer.json().message, said, name);
  }

  await using hooked = Fastify();
  hooked.addHook("preHandler", getSession as never);
  hooked.get("/", () => "");
  assertEquals((await hooked.inject("/")).json().code, "FST_AUTHJS_CONFIG_INVALID");
});

Deno.test("reply.session is set where the application declared it", async () => {
  const config = testConfig();
  await using app = Fastify();
  app.decorateReply("session", null);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.addHook("onRequest", requireSession(config));
  const sessionOf = (reply: FastifyReply) => (reply as FastifyReply & { session: Session | null }).session;
  app.get("/page", (_request, reply) => sessionOf(reply));
  const seen: unknown[] = [];
  app.addHook("onResponse", (_request, reply, done) => {
    seen.push(sessionOf(reply));
    done();
  });

  await app.inject("/page");
  assertEquals(seen.splice(0), [null]);
  const client = new Client(app);
  await client.signIn(ada);
  assertEquals((await client.get("/page")).json().user.name, "ada");
  assertEquals((seen.pop() as Session).user?.name, "ada");
  await app.inject("/page");
  assertEquals(seen.pop(), null, "one request's session is never another's");
});

Deno.test("reply.session holds the session that the guard checked, not another configuration's", async () => {
  const users = testConfig({ cookies: { sessionToken: { name: "users" } } });
  const staff = testConfig({ cookies: { sessionToken: { name: "staff" } } });
  await using app = Fastify();
  app.decorateReply("session", null);
  await app.register(FastifyAuth(users), { prefix: "/auth" });
  await app.register(FastifyAuth(staff), { prefix: "/staff/auth" });
  app.addHook("preHandler", requireSession(users));
  app.get("/desk", { preHandler: requireSession(staff) }, (_request, reply) => Reflect.get(reply, "session"));
  const client = new Client(app);
  await client.signIn({ ...ada, username: "user" });
  assertEquals((await client.get("/desk")).statusCode, 401);
  const { cookies } = new Client(app);
  const atTheDesk = new Client(app, {}, "/staff/auth");
  await atTheDesk.signIn({ ...ada, username: "clerk" });
  for (const [name, value] of [...cookies, ...atTheDesk.cookies]) client.cookies.set(name, value);
  assertEquals((await client.get("/desk")).json().user.name, "clerk");
});

Deno.test("reply.session is left undeclared where the application did not declare it", async () => {
  const { app, client } = await guardedApp();
  await using _app = app;
  let declared: boolean | undefined;
  app.addHook("onResponse", (_request, reply, done) => {
    declared = "session" in reply;
    done();
  });
  await client.signIn(ada);
  await client.get("/page");
  assertEquals(declared, false);
});

Deno.test("the handler does not run after a redirect, however late the reply is sent", async () => {
  const { app, config } = await guardedApp();
  await using _app = app;
  let handled = 0;
  app.addHook("onSend", async (_request, _reply, payload) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return payload;
  });
  app.get("/slow", { onRequest: requireSession(config) }, () => `${++handled}`);
  assertEquals((await app.inject({ url: "/slow", headers: html })).statusCode, 302);
  assertEquals((await app.inject({ url: "/slow" })).statusCode, 401);
  assertEquals(handled, 0);
});

Deno.test("the application's error handler decides how a refusal looks", async () => {
  const { app, config } = await guardedApp();
  await using _app = app;
  app.setErrorHandler((error: FastifyAuthError, _request, reply) =>
    reply.code(error.statusCode ?? 500).send({ oops: error.code })
  );
  app.get("/own", { onRequest: requireSession(config) }, () => "");
  const answer = await app.inject("/own");
  assertEquals([answer.statusCode, answer.json()], [401, { oops: "FST_AUTHJS_UNAUTHENTICATED" }]);
  assertEquals(answer.headers["www-authenticate"], "Cookie");
});

/** Sends a request line as it is, which `inject` and `fetch` would normalise. */
async function rawGet(app: FastifyInstance, target: string): Promise<{ status: number; location?: string }> {
  const { connect } = await import("node:net");
  if (!app.server.listening) await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as { port: number };
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n`,
      );
    });
    let text = "";
    socket.on("data", (chunk: Buffer) => text += chunk.toString());
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
  });
  const location = /^location: (.*?)\r$/im.exec(answer)?.[1];
  return { status: Number(answer.slice(9, 12)), ...(location !== undefined && { location }) };
}

Deno.test("the hook fits typed instances: HTTP/2, HTTPS, typed routes and type providers", async () => {
  const config = testConfig();
  const guard = requireSession(config);
  const [key, cert] = await Promise.all(
    ["key", "cert"].map((name) => readFile(new URL(`../../support/tls/${name}.pem`, import.meta.url))),
  );
  await using secure = Fastify({ http2: true, https: { key: key!, cert: cert! } });
  secure.addHook("onRequest", guard);
  secure.addHook("preHandler", guard);
  secure.get("/page", { onRequest: guard, preHandler: [guard] }, () => "");
  await using h2c = Fastify({ http2: true });
  h2c.addHook("onRequest", guard);
  await using https = Fastify({ https: { key: key!, cert: cert! } });
  https.addHook("onRequest", guard);
  https.route({ method: "GET", url: "/page", onRequest: guard, handler: () => "" });

  interface AnyProvider {
    validator: unknown;
    serializer: unknown;
    readonly schema: unknown;
  }
  await using typed = Fastify().withTypeProvider<AnyProvider>();
  typed.addHook("preHandler", guard);
  typed.get<{ Params: { id: string }; Querystring: { q?: string }; Reply: string }>(
    "/:id",
    { onRequest: [guard], schema: { params: { type: "object" } }, preHandler: guard },
    (request) => request.params.id,
  );
  assertEquals((await typed.inject("/1")).statusCode, 401);
  assertEquals((await secure.inject("/page")).statusCode, 401);
});

Deno.test("the session of a guarded request is read from this configuration's cookie alone", async () => {
  const { client, app } = await guardedApp();
  await using _app = app;
  const other = await guardedApp({}, { secret: `${SECRET}-another` });
  await using _other = other.app;
  await client.signIn(ada);
  assertEquals(
    (await other.app.inject({ url: "/page", headers: { cookie: client.cookie! } })).statusCode,
    401,
  );
});
