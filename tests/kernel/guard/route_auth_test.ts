/** Guards that routes declare in their `config`, and guards of scopes that respect it. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import websocket from "@fastify/websocket";
import {
  FastifyAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  requireSession,
  type RequireSessionOptions,
} from "fastify-authjs";
import { captureLog, type LogLine, SECRET, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { faultyAdapter } from "../../support/faults.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const html = { accept: "text/html" };
const ada = { username: "ada", password: "open" };
const ok = () => "ok";

/** The options of a route with this `config.auth`. */
const auth = (value: unknown) => ({ config: { auth: value } as object });

/** A configuration whose users have this role. */
const withRole = (role: string): Partial<FastifyAuthConfig> => ({
  callbacks: { session: ({ session }) => ({ ...session, user: { ...session.user, role } }) },
});

/** An application with the plugin at `/auth`, and a browser. */
async function authApp(overrides: Partial<FastifyAuthConfig> = {}, options: FastifyServerOptions = {}) {
  const app = Fastify(options) as FastifyInstance;
  const config = testConfig(overrides);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  return { app, client: new Client(app), config };
}

async function statusOf(
  app: FastifyInstance,
  url: string,
  method: "GET" | "HEAD" | "OPTIONS" | "POST" = "GET",
) {
  return (await app.inject({ method, url })).statusCode;
}

/** A second configuration: users who are nobody's customers. */
const staffConfig = () =>
  testConfig({ secret: SECRET + "staff", cookies: { sessionToken: { name: "staff.session-token" } } });

Deno.test("auth: true on a route lets a signed-in user pass and refuses all others", async () => {
  const { app, client } = await authApp();
  await using _app = app;
  app.get("/me", auth(true), ok);
  app.get("/open", ok);
  const refused = await client.get("/me");
  assertEquals([refused.statusCode, refused.json().code], [401, "FST_AUTHJS_UNAUTHENTICATED"]);
  const page = await client.get("/me", { headers: html });
  assertEquals(page.headers.location, "/auth/signin?error=SessionRequired&callbackUrl=%2Fme");
  assertEquals((await client.get("/open")).statusCode, 200);
  await client.signIn(ada);
  assertEquals((await client.get("/me")).body, "ok");
});

Deno.test("roles and authorize on a route decide which users may pass", async () => {
  const { app, client } = await authApp(withRole("editor"));
  await using _app = app;
  app.get("/editors", auth({ roles: ["admin", "editor"] }), ok);
  app.get("/admins", auth({ roles: "admin" }), ok);
  app.get(
    "/ada",
    auth({ authorize: (session: { user?: { name?: string } }) => session.user?.name === "ada" }),
    ok,
  );
  assertEquals((await client.get("/admins")).statusCode, 401);
  await client.signIn(ada);
  assertEquals((await client.get("/editors")).statusCode, 200);
  assertEquals((await client.get("/ada")).statusCode, 200);
  const refused = await client.get("/admins");
  assertEquals([refused.statusCode, refused.json().code], [403, "FST_AUTHJS_FORBIDDEN"]);
});

Deno.test("a declared guard answers 503 while the database is down", async () => {
  const { adapter, faults } = faultyAdapter(memoryAdapter());
  const { app } = await authApp({ adapter, session: { strategy: "database" }, providers: [] });
  await using _app = app;
  app.get("/me", auth(true), ok);
  faults.set("getSessionAndUser", "throws");
  const answer = await app.inject({ url: "/me", cookies: { "authjs.session-token": "token" } });
  assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
});

Deno.test("a declared guard covers a route wherever and whenever it was added", async () => {
  await using app = Fastify() as FastifyInstance;
  let earlier!: FastifyInstance;
  app.get("/before", auth(true), ok);
  app.register((scope, _options, done) => {
    earlier = scope;
    scope.get("/before", auth(true), ok);
    done();
  }, { prefix: "/sibling" });
  app.register(async (scope) => {
    scope.get("/before", auth(true), ok);
    await scope.register(FastifyAuth(testConfig()), { prefix: "/auth" });
    scope.get("/after", auth(true), ok);
    scope.register((inner, _options, done) => {
      inner.get("/inner", auth(true), ok);
      done();
    });
  }, { prefix: "/scope" });
  app.register((scope, _options, done) => {
    scope.get("/", auth(true), ok);
    earlier.get("/late", auth(true), ok);
    done();
  }, { prefix: "/after" });
  app.get("/same-tick", auth(true), ok);
  app.after(() => {
    app.get("/late", auth(true), ok);
    app.get("/open", ok);
  });
  await app.ready();
  for (
    const path of [
      "/before",
      "/sibling/before",
      "/sibling/late",
      "/scope/before",
      "/scope/after",
      "/scope/inner",
      "/after",
      "/after/",
      "/same-tick",
      "/late",
    ]
  ) {
    assertEquals(await statusOf(app, path), 401, path);
    assertEquals(await statusOf(app, path, "HEAD"), 401, `HEAD ${path}`);
  }
  assertEquals(await statusOf(app, "/open"), 200);
});

/** The names of the hooks that run for each route, as Fastify prints them. */
const hooksOf = (app: FastifyInstance) => app.printRoutes({ includeHooks: true, commonPrefix: false });

Deno.test("an application whose routes come after the plugin has no guard's hook for other routes", async () => {
  await using app = Fastify() as FastifyInstance;
  app.register(async (scope) => {
    await scope.register(FastifyAuth(testConfig()), { prefix: "/auth" });
    scope.get("/open", ok);
  });
  await app.ready();
  const open = hooksOf(app).split("open (GET")[1]!;
  assert(open.includes("onSend"));
  // The hook that keeps the reply is the only one.
  assertMatch(open.split("auth")[0]!, /\(onRequest\) \["\w+\(\)"\]/);
});

Deno.test("a declared guard covers a route of an earlier scope that had no route before", async () => {
  await using app = Fastify() as FastifyInstance;
  let earlier!: FastifyInstance;
  app.register((scope, _options, done) => {
    earlier = scope;
    done();
  });
  app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  app.after(() => void earlier.get("/late", auth(true), ok));
  assertEquals(await statusOf(app, "/late"), 401);
});

Deno.test("a declared guard covers HEAD, OPTIONS and every method of a route", async () => {
  const { app, client } = await authApp();
  await using _app = app;
  app.route({ method: ["GET", "OPTIONS", "POST"], url: "/many", ...auth(true), handler: ok });
  app.route({ method: "GET", url: "/own-head", exposeHeadRoute: false, handler: ok });
  app.route({ method: "HEAD", url: "/own-head", ...auth(true), handler: ok });
  for (const method of ["GET", "HEAD", "OPTIONS", "POST"] as const) {
    assertEquals(await statusOf(app, "/many", method), 401, method);
  }
  assertEquals(await statusOf(app, "/own-head"), 200);
  assertEquals(await statusOf(app, "/own-head", "HEAD"), 401);
  await client.signIn(ada);
  assertEquals((await client.request("OPTIONS", "/many")).statusCode, 200);
});

Deno.test("a declared guard runs after the hooks of the scope and before those of the route", async () => {
  const { app, client } = await authApp();
  await using _app = app;
  const ran: string[] = [];
  const note =
    (name: string) => (_request: unknown, reply: { header(n: string, v: string): unknown }, done: () => void) => {
      ran.push(name);
      reply.header("x-seen", name);
      done();
    };
  const own = [note("route")];
  app.get("/me", { ...auth(true), onRequest: own }, ok);
  app.get("/other", { ...auth(true), onRequest: own }, ok);
  app.addHook("onRequest", note("application"));
  const refused = await client.get("/me");
  assertEquals([refused.statusCode, refused.headers["x-seen"], ran.join()], [
    401,
    "application",
    "application",
  ]);
  await client.signIn(ada);
  ran.length = 0;
  assertEquals((await client.get("/me")).statusCode, 200);
  assertEquals(ran, ["application", "route"]);
  assertEquals(own.length, 1);
});

Deno.test("the upgrade of a guarded WebSocket is refused without a session", async () => {
  await using app = Fastify() as FastifyInstance;
  await app.register(websocket as never);
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  let opened = 0;
  app.route(
    { method: "GET", url: "/socket", websocket: true, ...auth(true), handler: () => ++opened } as never,
  );
  await app.ready();
  const upgrade = (app as unknown as { injectWS(path: string): Promise<unknown> }).injectWS("/socket");
  await assertRejects(() => upgrade, Error, "401");
  assertEquals(opened, 0);
});

Deno.test("a route that copies another one's options is guarded by its own", async () => {
  const { app, client } = await authApp(withRole("editor"));
  await using _app = app;
  app.addHook("onRoute", function (route) {
    if (route.url !== "/editors" || route.method !== "GET") return;
    this.get("/copy", { config: { ...route.config } }, ok);
    this.get("/stricter", { onRequest: route.onRequest!, ...auth({ roles: "admin" }) }, ok);
  });
  app.get("/editors", auth({ roles: "editor" }), ok);
  assertEquals(await statusOf(app, "/copy"), 401);
  await client.signIn(ada);
  assertEquals((await client.get("/copy")).statusCode, 200);
  assertEquals((await client.get("/stricter")).statusCode, 403);
});

Deno.test("an onRoute hook may declare guards before the plugin, and stops the boot after it", async () => {
  const declare = (app: FastifyInstance, value: unknown) =>
    app.addHook("onRoute", (route) => {
      if (route.url === "/page") route.config = { ...route.config, ...auth(value).config };
    });
  await using before = Fastify() as FastifyInstance;
  declare(before, true);
  await before.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  before.get("/page", ok);
  assertEquals(await statusOf(before, "/page"), 401);

  for (const own of [{}, auth(true), auth(false)]) {
    const { app } = await authApp();
    await using _app = app;
    declare(app, { roles: "admin" });
    app.get("/page", own, ok);
    await assertRejects(
      async () => void await app.ready(),
      FastifyAuthError,
      "`config.auth` of GET /page: an `onRoute` hook set it after FastifyAuth had seen the route.",
    );
  }
  const { app } = await authApp();
  await using _app = app;
  declare(app, false);
  app.get("/page", ok);
  assertEquals(await statusOf(app, "/page"), 200);
});

const NONSENSE: [value: unknown, message: string][] = [
  [undefined, "must be true, false or an object"],
  [null, "must be true, false or an object"],
  ["admin", "must be true, false or an object"],
  [["admin"], "must be true, false or an object"],
  [1, "must be true, false or an object"],
  [() => false, "must be true, false or an object"],
  [Promise.resolve({ roles: "admin" }), "must be true, false or an object"],
  [{ role: "admin" }, "there is no option `role`"],
  [{ roles: [] }, "`roles` must name a role"],
  [{ roles: undefined }, "`roles` must name a role"],
  [{ authorize: true }, "`authorize` must be a function"],
  [{ mountPath: "auth" }, "`mountPath` is the path of a FastifyAuth"],
  [{ mountPath: undefined }, "`mountPath` is the path of a FastifyAuth"],
];

Deno.test("a declaration that cannot be meant is refused where the route is added, with its name", async () => {
  const { app } = await authApp();
  await using _app = app;
  for (const [value, message] of NONSENSE) {
    const error = assertThrows(() => app.get("/users", auth(value), ok), FastifyAuthError);
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
    assertStringIncludes(error.message, "`config.auth` of GET /users: ");
    assertStringIncludes(error.message, message);
  }
});

Deno.test("a declaration that cannot be meant lets nobody pass on a route that was added before", async () => {
  for (const [value] of NONSENSE) {
    const { logger } = captureLog();
    await using app = Fastify({ logger }) as FastifyInstance;
    app.get("/users", auth(value), ok);
    await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
    assertEquals(await statusOf(app, "/users"), 500);
  }
});

Deno.test("of two configurations the one in the scope of the route guards it, else the next around it", async () => {
  await using app = Fastify() as FastifyInstance;
  app.register(async (staff) => {
    await staff.register(FastifyAuth(staffConfig()), { prefix: "/auth" });
    staff.get("/", auth(true), ok);
    staff.register((inner, _options, done) => {
      inner.get("/inner", auth(true), ok);
      done();
    });
  }, { prefix: "/staff" });
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  app.get("/shop", auth(true), ok);
  const customer = new Client(app);
  await customer.signIn(ada);
  const employee = new Client(app, {}, "/staff/auth");
  await employee.signIn(ada);
  const reach = async (client: Client) => {
    const paths = ["/staff", "/staff/inner", "/shop"];
    return (await Promise.all(paths.map((path) => client.get(path)))).map(({ statusCode }) => statusCode);
  };
  assertEquals(await reach(customer), [401, 401, 200]);
  assertEquals(await reach(employee), [200, 200, 401]);
});

Deno.test("two configurations that fit a route stop the boot, and mountPath says which", async () => {
  const build = async (value: unknown) => {
    const app = Fastify() as FastifyInstance;
    await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
    await app.register(FastifyAuth(staffConfig()), { prefix: "/ü staff" });
    app.get("/page", auth(value), ok);
    return app;
  };
  await using ambiguous = await build(true);
  const error = await assertRejects(async () => void await ambiguous.ready(), FastifyAuthError);
  assertEquals(
    error.message,
    '`config.auth` of GET /page: whose sessions count: those of the FastifyAuth at "/auth" or "/%C3%BC%20staff"? ' +
      'Name one, such as `mountPath: "/auth"`.',
  );
  await using unknown = await build({ mountPath: "/staff" });
  await assertRejects(
    async () => void await unknown.ready(),
    FastifyAuthError,
    'no FastifyAuth is mounted at "/staff", but at "/auth" and "/%C3%BC%20staff".',
  );
  for (const [mountPath, mount] of [["/auth", "/auth"], ["/ü staff/", "/ü staff"]] as const) {
    await using app = await build({ mountPath });
    const client = new Client(app, {}, encodeURI(mount));
    await client.signIn(ada);
    assertEquals((await client.get("/page")).statusCode, 200, mountPath);
  }
});

Deno.test("a route that two configurations fit lets nobody pass if it was added before them", async () => {
  await using app = Fastify() as FastifyInstance;
  app.get("/page", auth(true), ok);
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  await app.register(FastifyAuth(staffConfig()), { prefix: "/staff" });
  assertEquals(await statusOf(app, "/page"), 500);
});

Deno.test("one configuration at two mount paths guards a route without being named", async () => {
  const config = testConfig();
  await using app = Fastify() as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await app.register(FastifyAuth(config), { prefix: "/login" });
  app.get("/page", auth(true), ok);
  assertEquals(await statusOf(app, "/page"), 401);
});

/** An application with a scope at `/admin`, which is guarded but for the routes that are open. */
async function adminApp(
  options: RequireSessionOptions = {},
  overrides: Partial<FastifyAuthConfig> = {},
  server: FastifyServerOptions = {},
) {
  const { app, client, config } = await authApp(overrides, server);
  await app.register((admin, _options, done) => {
    admin.get("/before", ok);
    admin.addHook("onRequest", requireSession(config, { ...options, respectRouteConfig: true }));
    admin.get("/", ok);
    admin.get("/health", auth(false), ok);
    admin.get("/everyone", auth(true), ok);
    admin.register((inner, _options, done) => {
      inner.get("/inner", ok);
      inner.get("/inner-health", auth(false), ok);
      done();
    });
    done();
  }, { prefix: "/admin" });
  app.get("/open", ok);
  return { app, client };
}

Deno.test("respectRouteConfig guards the routes of a scope, except those with auth: false", async () => {
  const { app, client } = await adminApp({ roles: "admin" }, withRole("editor"));
  await using _app = app;
  for (const path of ["/admin", "/admin/before", "/admin/inner", "/admin/everyone"]) {
    assertEquals(await statusOf(app, path), 401, path);
    assertEquals(await statusOf(app, path, "HEAD"), 401, path);
  }
  for (const path of ["/admin/health", "/admin/inner-health", "/open"]) {
    assertEquals(await statusOf(app, path), 200, path);
    assertEquals(await statusOf(app, path, "HEAD"), 200, path);
  }
  await client.signIn(ada);
  // What a route declares besides does not open it to users whom the scope refuses.
  for (const path of ["/admin", "/admin/inner", "/admin/everyone"]) {
    assertEquals((await client.get(path)).statusCode, 403, path);
  }
});

Deno.test("respectRouteConfig alone lets every signed-in user pass, and a route may require more", async () => {
  const { app, client, config } = await authApp(withRole("editor"));
  await using _app = app;
  app.addHook("onRequest", requireSession(config, { respectRouteConfig: true }));
  app.get("/", ok);
  app.get("/editors", auth({ roles: "editor" }), ok);
  app.get("/admins", auth({ roles: "admin" }), ok);
  const statuses = async () =>
    (await Promise.all(["/", "/editors", "/admins"].map((path) => client.get(path))))
      .map(({ statusCode }) => statusCode);
  assertEquals(await statuses(), [401, 401, 401]);
  await client.signIn(ada);
  assertEquals(await statuses(), [200, 200, 403]);
});

Deno.test("unknown paths and OPTIONS of a scope with respectRouteConfig are guarded", async () => {
  const { app, client, config } = await authApp(withRole("editor"));
  await using _app = app;
  app.addHook("onRequest", requireSession(config, { respectRouteConfig: true }));
  app.get("/", ok);
  app.get("/health", auth(false), ok);
  app.options("/", ok);
  await app.register((admins, _options, done) => {
    admins.addHook("onRequest", requireSession(config, { roles: "admin", respectRouteConfig: true }));
    admins.get("/", ok);
    admins.setNotFoundHandler((_request, reply) => void reply.code(404).send());
    done();
  }, { prefix: "/admins" });
  for (const path of ["/", "/nowhere", "/health/nowhere", "/admins", "/admins/nowhere"]) {
    assertEquals(await statusOf(app, path), 401, path);
  }
  for (const path of ["/", "/health"]) assertEquals(await statusOf(app, path, "OPTIONS"), 401, path);
  assertEquals(await statusOf(app, "/health", "POST"), 401);
  await client.signIn(ada);
  assertEquals((await client.get("/nowhere")).statusCode, 404);
  assertEquals((await client.get("/admins/nowhere")).statusCode, 403);
});

Deno.test("respectRouteConfig at the root leaves the auth routes and the sign-in page open", async () => {
  const { app, config } = await authApp({ pages: { signIn: "/login" } });
  await using _app = app;
  app.addHook("onRequest", requireSession(config, { respectRouteConfig: true }));
  app.get("/login", ok);
  assertEquals(await statusOf(app, "/auth/csrf"), 200);
  assertEquals(await statusOf(app, "/login"), 200);
  assertEquals(await statusOf(app, "/other"), 401);
});

Deno.test("the log names the routes that are open in a guarded scope, at boot", async () => {
  const open = (lines: LogLine[]) =>
    lines.filter(({ msg }) => msg.startsWith("Open by")).map(({ level, msg }) => [level, msg]);
  const { logger, lines } = captureLog();
  const { app } = await adminApp({}, { pages: { signIn: "/admin" } }, { logger });
  await using _app = app;
  app.get("/outside", auth(false), ok);
  assertEquals(open(lines), []);
  await app.ready();
  assertEquals(open(lines), [[
    30,
    "Open by `config: { auth: false }` in a guarded scope: GET /admin/health; HEAD /admin/health; " +
    "GET /admin/inner-health; HEAD /admin/inner-health.",
  ]]);

  const plain = captureLog();
  const { app: other, config } = await authApp({}, { logger: plain.logger });
  await using _other = other;
  other.addHook("onRequest", requireSession(config));
  other.get("/guarded", auth(false), ok);
  await other.ready();
  assertEquals(open(plain.lines), []);
});

Deno.test("the log says that open routes which were added before the plugin are not listed", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig();
  await using app = Fastify({ logger }) as unknown as FastifyInstance;
  app.addHook("onRequest", requireSession(config, { respectRouteConfig: true }));
  app.get("/before", auth(false), ok);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/after", auth(false), ok);
  await app.ready();
  const line = lines.find(({ msg }) => msg.startsWith("Open by"))!;
  assertStringIncludes(line.msg, "GET /after");
  assertStringIncludes(line.msg, "Routes that were added before FastifyAuth are not listed.");
  assertEquals([await statusOf(app, "/before"), await statusOf(app, "/after")], [200, 200]);
});

Deno.test("respectRouteConfig is true or false, and for hooks alone", async () => {
  const { app, config } = await authApp();
  await using _app = app;
  for (const options of [{ respectRouteConfig: "yes" }, { respectRouteConfig: undefined }]) {
    const make = () => requireSession(config, options as object);
    assertThrows(make, FastifyAuthError, "`respectRouteConfig` must be true or false");
  }
  const add = () => app.get("/", auth({ respectRouteConfig: true }), ok);
  assertThrows(add, FastifyAuthError, "`respectRouteConfig` is for the hook of a scope");
});

Deno.test("requireSession() refuses options that are no object, and would let every user pass", () => {
  const isAdmin = () => false;
  for (const options of [isAdmin, Promise.resolve({ roles: "admin" }), ["admin"], "admin", true, null]) {
    const make = () => requireSession(testConfig(), options as object);
    assertThrows(make, FastifyAuthError, "requireSession(): its options must be an object with `roles`");
  }
});

Deno.test("a guard with respectRouteConfig may stand before the registration of the plugin", async () => {
  const config = testConfig();
  await using app = Fastify() as FastifyInstance;
  app.addHook("onRequest", requireSession(config, { respectRouteConfig: true }));
  app.get("/", ok);
  app.register(FastifyAuth(config), { prefix: "/auth" });
  assertEquals(await statusOf(app, "/"), 401);
  assertEquals(await statusOf(app, "/auth/csrf"), 200);
});

Deno.test("auth: false does not open a route that a requireSession() hook guards", async () => {
  const config = testConfig();
  await using app = Fastify() as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.addHook("onRequest", requireSession(config));
  app.get("/", auth(false), ok);
  assertEquals(await statusOf(app, "/"), 401);
});

Deno.test("an authorize() of a route that throws means no, and the log names the route", async () => {
  const { logger, lines } = captureLog();
  const { app, client } = await authApp({}, { logger });
  await using _app = app;
  const authorize = () => {
    throw new Error("broken");
  };
  app.get("/page", auth({ authorize }), ok);
  await client.signIn(ada);
  assertEquals((await client.get("/page")).statusCode, 403);
  assert(
    lines.some((line) => JSON.stringify(line).includes("`authorize` of `config.auth` of GET /page threw")),
  );
});
