/** The plugin in applications as they are: their options, their error handlers, their ways to register it. */
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import fastifyCookie from "@fastify/cookie";
import secureSession from "@fastify/secure-session";
import fastifySession from "@fastify/session";
import Fastify, { type FastifyError, type FastifyInstance, type FastifyPluginAsync } from "fastify";
import { createAuth, FastifyAuth, FastifyAuthError, type FastifyAuthErrorCode, requireSession } from "fastify-authjs";
import { captureLog, SECRET, testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";

const ada = { username: "ada", password: "open" };

/** As NestJS 12 decides whether an error may be answered with its own status; it answers all others with 500. */
function isHttpError(error: FastifyError & { expose?: unknown; status?: unknown }): boolean {
  if (error.constructor.name === "FastifyError" && typeof error.statusCode === "number") return true;
  return typeof error.expose === "boolean" && typeof error.statusCode === "number" &&
    error.status === error.statusCode;
}

Deno.test("NestJS answers refusals of guards and auth routes with their own status", async () => {
  const config = testConfig();
  const failing = testConfig({
    secret: `${SECRET}-2`,
    session: { strategy: "database" },
    providers: [],
    adapter: new Proxy({}, {
      has: () => true,
      get: () => () => Promise.reject(new Error("down")),
    }),
  });
  await using app = Fastify() as unknown as FastifyInstance;
  const refused: string[] = [];
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const { statusCode = 500, code } = error;
    refused.push(`${isHttpError(error) ? statusCode : 500} ${code}`);
    return reply.code(500).send();
  });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/user", { onRequest: requireSession(config) }, () => "");
  app.get("/admin", { onRequest: requireSession(config, { roles: "admin" }) }, () => "");
  app.get("/down", { onRequest: requireSession(failing) }, () => "");
  const client = new Client(app);
  await client.signIn(ada);

  const json = { "content-type": "application/json" };
  await app.inject("/user");
  await client.get("/admin");
  await client.get("/down", { headers: { cookie: "authjs.session-token=a" } });
  await app.inject("/auth/signin/nobody");
  await app.inject({ method: "PUT", url: "/auth/session" });
  await app.inject(`/auth/signin?${"x".repeat(20_000)}`);
  await app.inject({ method: "POST", url: "/auth/signout", headers: json, payload: "{" });
  await app.inject({ method: "POST", url: "/auth/signout", headers: json, payload: '{"a":{}}' });
  await app.inject({
    method: "POST",
    url: "/auth/signout",
    headers: { "content-type": "text/plain" },
    payload: "a",
  });
  await app.inject({
    method: "POST",
    url: "/auth/signout",
    headers: { ...json, "content-encoding": "gzip" },
    payload: "a",
  });
  await app.inject({
    method: "POST",
    url: "/auth/signout",
    headers: { ...json, origin: "https://evil.example" },
    payload: "{}",
  });
  await app.inject({ method: "POST", url: "/auth/signout", headers: json, payload: "x".repeat(110_000) });
  assertEquals(refused.map((line) => Number(line.slice(0, 3))), [
    401,
    403,
    503,
    404,
    405,
    414,
    400,
    400,
    415,
    415,
    403,
    413,
  ], refused.join("\n"));
});

Deno.test("an error of a request has the shape of http-errors, a boot error has no status", () => {
  const shapeOf = (code: FastifyAuthErrorCode) => {
    const { statusCode, status, expose } = new FastifyAuthError(code, "Why.");
    return { statusCode, status, expose };
  };
  assertEquals(shapeOf("FST_AUTHJS_FORBIDDEN"), { statusCode: 403, status: 403, expose: true });
  assertEquals(shapeOf("FST_AUTHJS_UNAVAILABLE"), { statusCode: 503, status: 503, expose: true });
  assertEquals(shapeOf("FST_AUTHJS_SECRET_MISSING"), {
    statusCode: undefined,
    status: undefined,
    expose: undefined,
  });
});

for (
  const [where, options] of [
    ["routerOptions", { routerOptions: { maxParamLength: 5 } }],
    ["the options of the server", { maxParamLength: 5 }],
  ] as const
) {
  for (const ignoreTrailingSlash of [false, true]) {
    Deno.test(
      `providers work with a maxParamLength of 5 in ${where}, ignoreTrailingSlash ${ignoreTrailingSlash}`,
      async () => {
        const routerOptions = {
          ...("routerOptions" in options && options.routerOptions),
          ignoreTrailingSlash,
        };
        const config = testConfig();
        await using app = await testApp(config, { ...options, routerOptions });
        const client = new Client(app);
        const answer = await client.signIn({ ...ada, callbackUrl: "/home" });
        assertEquals(answer.headers.location, "http://localhost/home");
        assertEquals((await client.get("/me")).json().session.user.name, "ada");
        const page = await client.get("/auth/signin/credentials/");
        assertEquals(page.headers.location, "/auth/signin");
        assertEquals((await client.get("/auth/signin/nobody")).json().statusCode, 404);
        assertEquals((await client.request("PUT", "/auth/callback/credentials")).statusCode, 405);
      },
    );
  }
}

Deno.test("the scope of the routes has a name in printPlugins()", async () => {
  await using app = await testApp();
  await app.ready();
  assertMatch(app.printPlugins(), /[─┬] fastify-authjs \d.*[─┬] fastify-authjs-routes \d/s);
});

Deno.test("the routes have a plugin name in hooks, such as those of traces", async () => {
  await using app = Fastify() as unknown as FastifyInstance;
  const names = new Set<string>();
  app.addHook("onRequest", function (request, _reply, done) {
    names.add(request.server.pluginName);
    done();
  });
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  await app.inject("/auth/csrf");
  assertEquals([...names].map((name) => name.split(" ").at(-1)), ["fastify-authjs-routes"]);
});

Deno.test("registering the plugin twice at one prefix is an error that says so", async () => {
  const config = testConfig();
  await using app = Fastify() as unknown as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  const error = await assertRejects(
    async () => await app.register(FastifyAuth(config), { prefix: "/auth" }),
    FastifyAuthError,
    'cannot be mounted at "/auth"',
  );
  assertEquals(error.code, "FST_AUTHJS_PREFIX_INVALID");
  assertMatch(error.message, /"\/auth\/signin".*twice.*prefix/s);
});

Deno.test("a route of the application where an auth route has to be is an error that names it", async () => {
  for (const url of ["/auth/signout", "/auth/*", "/auth/callback/:id"]) {
    await using app = Fastify() as unknown as FastifyInstance;
    app.get(url, () => "");
    await assertRejects(
      async () => await app.register(FastifyAuth(testConfig()), { prefix: "/auth" }),
      FastifyAuthError,
      `"${url.replace(":id", ":provider")}"`,
    );
  }
});

Deno.test("register(FastifyAuth), uncalled, is an error that says what to write", async () => {
  const plugin = FastifyAuth as unknown as FastifyPluginAsync<{ prefix: string }>;
  await using app = Fastify() as unknown as FastifyInstance;
  const error = await assertRejects(
    async () => await app.register(plugin, { prefix: "/auth" }),
    FastifyAuthError,
    "app.register(FastifyAuth(config)",
  );
  assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
});

Deno.test("FastifyAuth() without a configuration is an error that says what to write", async () => {
  for (const config of [undefined, null, "config"]) {
    await using app = Fastify() as unknown as FastifyInstance;
    await assertRejects(
      async () => await app.register(FastifyAuth(config as never), { prefix: "/auth" }),
      FastifyAuthError,
      "app.register(FastifyAuth(config)",
    );
  }
});

const COOKIE = "authjs.session-token";
const PLUGINS: Record<string, ((app: FastifyInstance) => Promise<unknown>) | undefined> = {
  "no other plugin": undefined,
  "@fastify/session": async (app) => {
    const secret = "a-secret-of-the-other-plugin-of-40-chars";
    await app.register(fastifyCookie as never);
    await app.register(fastifySession as never, { secret, cookieName: COOKIE, cookie: { secure: false } } as never);
  },
  "@fastify/secure-session": async (app) => {
    const options = { key: Buffer.alloc(32, 1), cookieName: COOKIE, cookie: { path: "/" } };
    await app.register(secureSession as never, options as never);
  },
};

for (const [plugin, register] of Object.entries(PLUGINS)) {
  const times = register ? "once" : "not at all";
  Deno.test(`a second plugin on the session cookie is warned of ${times}: ${plugin}`, async () => {
    const { logger, lines } = captureLog();
    const auth = createAuth(testConfig());
    await using app = Fastify({ logger }) as FastifyInstance;
    await register?.(app);
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/visit", (request) => {
      (request as { session?: { set?: (key: string, value: number) => void } }).session?.set?.("visits", 1);
      return auth.getSession(request);
    });
    const client = new Client(app);
    for (let i = 0; i < 3; i++) await client.get("/visit");
    await client.signIn({ username: "ada", password: "open" }).catch(() => {});
    await client.get("/visit");
    const told = lines.filter(({ code }) => code === "FST_AUTHJS_WARN_COOKIE").map(({ msg }) => msg);
    assertEquals(told.length, register === undefined ? 0 : 1, told.join("\n"));
    if (register) assertStringIncludes(told[0]!, `something else sets the cookie "${COOKIE}"`);
  });
}
