/** Rows S10 to S14: guards, the headers and the log of auth replies, malformed requests. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { captureLog, type LogLine, passwordProvider, testConfig } from "../support/app.ts";
import { Client, setCookies } from "../support/client.ts";
import { seededRandom } from "../support/random.ts";

const HTML = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
const ada = { username: "ada", password: "open" };

async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  return (app.server.address() as AddressInfo).port;
}

/** Sends bytes and gives what came back, either when the server closes or once `enough` says so. */
function exchange(port: number, bytes: string, enough = (_answer: string) => false): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.setEncoding("latin1");
    socket.setTimeout(60_000, () => socket.destroy());
    socket.on("data", (chunk) => {
      answer += chunk;
      if (enough(answer)) socket.destroy();
    });
    // A reset after the answer is the server's way of refusing the rest of a body.
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);

// S10 ----------------------------------------------------------------------------------------------------------------

const HOOKS = ["onRequest", "preHandler"] as const;

/** Routes of every kind, and a guard over all of them. */
async function guardedEverywhere(hook: typeof HOOKS[number], options: FastifyServerOptions = {}) {
  const config = testConfig();
  const app = Fastify({ ...options, routerOptions: { caseSensitive: false, ignoreDuplicateSlashes: true } });
  const handled: string[] = [];
  const handler = (request: { method: string; url: string }) => {
    handled.push(`${request.method} ${request.url}`);
    return "handled";
  };
  app.get("/early", handler);
  await app.register((child, _options, done) => {
    child.get("/early", handler);
    done();
  }, { prefix: "/child" });
  app.addHook(hook as "onRequest", requireSession(config));
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/late", handler);
  app.options("/late", handler);
  app.post("/late", handler);
  app.route({ method: ["PUT", "PATCH", "DELETE"], url: "/late", handler });
  await app.register((child, _options, done) => {
    child.get("/late", handler);
    child.get("/own/:id", handler);
    child.setNotFoundHandler((request, reply) => {
      handled.push(`404 ${request.url}`);
      reply.code(404).send();
    });
    done();
  }, { prefix: "/sub" });
  return { app: app as FastifyInstance, handled };
}

const GUARDED: [method: "GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH" | "DELETE", url: string][] = [
  ["GET", "/early"],
  ["HEAD", "/early"],
  ["OPTIONS", "/early"],
  ["GET", "/child/early"],
  ["HEAD", "/child/early"],
  ["GET", "/late"],
  ["HEAD", "/late"],
  ["OPTIONS", "/late"],
  ["POST", "/late"],
  ["PUT", "/late"],
  ["PATCH", "/late"],
  ["DELETE", "/late"],
  ["GET", "/sub/late"],
  ["GET", "/sub/own/1"],
  ["GET", "/sub/nowhere"],
  ["POST", "/sub/late"],
  ["GET", "/nowhere"],
  ["HEAD", "/nowhere"],
  ["OPTIONS", "/nowhere"],
  ["POST", "/nowhere"],
  ["GET", "/LATE"],
  ["GET", "/Sub/Late"],
  ["GET", "//late"],
  ["GET", "/sub//late"],
  ["GET", "/late/"],
  ["GET", "/%6cate"],
  ["GET", "/late?session=1"],
  ["GET", "/late#/auth/signin"],
  ["GET", "/auth/../late"],
  ["GET", "/auth"],
  ["GET", "/"],
];

for (const hook of HOOKS) {
  Deno.test(`S10: a guard (${hook}) at the root denies every way to every route`, async () => {
    const { app, handled } = await guardedEverywhere(hook);
    await using _app = app;
    for (const [method, url] of GUARDED) {
      const answer = await app.inject({ method, url });
      assertEquals(answer.statusCode, 401, `${method} ${url}`);
      assertEquals(
        method === "HEAD" || answer.json().code,
        method === "HEAD" || "FST_AUTHJS_UNAUTHENTICATED",
      );
    }
    assertEquals(handled, []);

    const client = new Client(app);
    await client.signIn(ada);
    for (const [method, url] of GUARDED) {
      assert((await client.request(method, url)).statusCode !== 401, `${method} ${url} signed in`);
    }
    assert(handled.length >= 20, handled.join());
  });
}

Deno.test("S10: a guard in a scope leaves the rest alone, and covers its unknown paths once they are its own", async () => {
  const config = testConfig();
  await using app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/open", () => "open");
  await app.register((scope, _options, done) => {
    scope.get("/before", () => "handled");
    scope.addHook("onRequest", requireSession(config));
    scope.setNotFoundHandler((_request, reply) => reply.code(404).send());
    scope.get("/after", () => "handled");
    done();
  }, { prefix: "/admin" });
  for (const url of ["/admin/before", "/admin/after", "/admin/nowhere", "/admin/", "/admin"]) {
    for (const method of ["GET", "HEAD", "OPTIONS", "POST"] as const) {
      assertEquals((await app.inject({ method, url })).statusCode, 401, `${method} ${url}`);
    }
  }
  assertEquals((await app.inject("/open")).body, "open");
  assertEquals((await app.inject("/nowhere")).statusCode, 404);
  const client = new Client(app as FastifyInstance);
  await client.signIn(ada);
  assertEquals((await client.get("/admin/before")).body, "handled");
  assertEquals((await client.get("/admin/nowhere")).statusCode, 404);
});

Deno.test("S10: an unauthenticated body is refused before it is read", async () => {
  const config = testConfig();
  await using app = Fastify();
  let parsed = 0;
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => {
    parsed += body.length;
    done(null, {});
  });
  app.addHook("preParsing", (_request, _reply, payload, done) => {
    parsed++;
    done(null, payload);
  });
  app.post("/upload", { onRequest: requireSession(config) }, () => "handled");
  const port = await listen(app);
  const head = (length: number, type = "application/json") =>
    `POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n` +
    "Connection: close\r\n\r\n";
  const answered = (answer: string) => answer.includes("FST_AUTHJS_UNAUTHENTICATED");

  const whole = await exchange(port, head(900_000) + "x".repeat(900_000), answered);
  assertEquals(statusOf(whole), 401);
  // The answer does not wait for the rest of it, which never comes.
  const started = await exchange(port, `${head(900_000)}{"half":`, answered);
  assertEquals(statusOf(started), 401);
  const huge = await exchange(port, `${head(1e12)}x`, answered);
  assertEquals(statusOf(huge), 401, "413 would say that there is a route");
  const odd = await exchange(port, `${head(3, "text/x-unknown")}abc`, answered);
  assertEquals(statusOf(odd), 401, "415 would say that there is a route");
  assertEquals(parsed, 0);
});

// S11 ----------------------------------------------------------------------------------------------------------------

Deno.test("S11: a browser's HTML GET is redirected with an encoded return path, everything else gets 401 JSON", async () => {
  const config = testConfig();
  await using app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.all("/p/*", { onRequest: requireSession(config) }, () => "handled");
  const redirected = await app.inject({ url: "/p/a%20b?x=1&y=%26#z", headers: HTML });
  assertEquals(redirected.statusCode, 302);
  assertEquals(
    redirected.headers.location,
    "/auth/signin?error=SessionRequired&callbackUrl=%2Fp%2Fa%2520b%3Fx%3D1%26y%3D%2526",
  );
  for (const method of ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const) {
    const answer = await app.inject({ method, url: "/p/a", headers: HTML });
    assertEquals([answer.statusCode, answer.headers.location], [401, undefined], method);
    if (method === "HEAD") continue;
    assertEquals(Object.keys(answer.json()).sort(), ["code", "error", "message", "statusCode"]);
    assertStringIncludes(String(answer.headers["content-type"]), "application/json");
  }
  for (const accept of ["*/*", "application/json", "text/*", "text/html;q=0", ""]) {
    assertEquals((await app.inject({ url: "/p/a", headers: { accept } })).statusCode, 401, accept);
  }
});

for (const hook of HOOKS) {
  Deno.test(`S11: under a guard (${hook}) at the root one can still sign in and out`, async () => {
    const config = testConfig();
    await using app = Fastify();
    app.addHook(
      hook as "onRequest",
      requireSession(config, { authorize: ({ user }) => user?.name !== "eve" }),
    );
    await app.register(FastifyAuth(config), { prefix: "/auth" });
    app.get("/", (request) => getSession(request, config));
    const client = new Client(app as FastifyInstance);

    const first = await client.get("/", { headers: HTML });
    assertEquals(first.statusCode, 302);
    const page = await client.get(String(first.headers.location), { headers: HTML });
    assertEquals(page.statusCode, 200, "the sign-in page, not another redirect to it");
    for (const action of ["providers", "csrf", "session", "error", "verify-request", "signout"]) {
      assertEquals((await client.get(`/auth/${action}`)).statusCode < 400, true, action);
    }
    for (const name of ["ada", "eve"]) {
      await client.signIn({ ...ada, username: name });
      assertEquals((await client.get("/")).statusCode, name === "eve" ? 403 : 200);
      assertEquals((await client.get("/auth/session")).json().user.name, name);
      await client.signOut();
      assertEquals((await client.get("/")).statusCode, 401);
    }
  });
}

// S12 ----------------------------------------------------------------------------------------------------------------

const PROTECTED = {
  "cache-control": "private, no-cache, no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** What a careless application sets on each reply. */
const CARELESS = {
  "cache-control": "public, max-age=31536000",
  "referrer-policy": "unsafe-url",
  "x-content-type-options": "",
  "x-frame-options": "ALLOWALL",
};

function githubLike() {
  return GitHub({ clientId: "id", clientSecret: "client-secret", token: "http://127.0.0.1:9/token" });
}

type Sent = { method?: string; url: string; headers?: Record<string, string>; payload?: string };

/** A reply of every kind that the auth routes give. */
const AUTH_REQUESTS: [status: number, request: Sent][] = [
  [200, { url: "/auth/signin" }],
  [200, { url: "/auth/signin?error=CredentialsSignin" }],
  [302, { url: "/auth/signin/github" }],
  [200, { url: "/auth/signout" }],
  [200, { url: "/auth/session" }],
  [200, { url: "/auth/csrf" }],
  [200, { url: "/auth/providers" }],
  [200, { url: "/auth/verify-request" }],
  [302, { url: "/auth/callback/github?code=abc&state=def" }],
  [302, { url: "/auth/callback/github?error=access_denied" }],
  [302, { method: "POST", url: "/auth/signin/github" }],
  [302, { method: "POST", url: "/auth/callback/credentials" }],
  [302, { method: "POST", url: "/auth/signout" }],
  [404, { url: "/auth/signin/unknown" }],
  [404, { url: "/auth/callback/unknown?code=abc" }],
  [404, { url: "/auth/callback?code=abc" }],
  [302, { url: "/auth/callback/github/?code=abc" }],
  [404, { url: "/auth/nowhere" }],
  [404, { url: "/auth/" }],
  [404, { url: "/auth" }],
  [404, { method: "PROPFIND", url: "/auth/callback/github?code=abc" }],
  [404, { method: "POST", url: "/auth/nowhere" }],
  [405, { method: "HEAD", url: "/auth/signin" }],
  [405, { method: "OPTIONS", url: "/auth/session" }],
  [405, { method: "DELETE", url: "/auth/session" }],
  [405, { method: "PUT", url: "/auth/callback/credentials" }],
  [400, { url: "/auth/signin", headers: { host: "a b" } }],
  [400, {
    method: "POST",
    url: "/auth/signout",
    headers: { "content-type": "application/json" },
    payload: "{",
  }],
  [413, {
    method: "POST",
    url: "/auth/signout",
    headers: { "content-type": "application/json" },
    payload: JSON.stringify({ a: "x".repeat(200_000) }),
  }],
  [415, { method: "POST", url: "/auth/signout", headers: { "content-type": "text/plain" }, payload: "x" }],
  [415, {
    method: "POST",
    url: "/auth/signout",
    headers: { "content-type": "application/json", "content-encoding": "gzip" },
    payload: "{}",
  }],
];

/** An application that sets its own headers everywhere, as early and as late as it can. */
async function carelessApp(): Promise<FastifyInstance> {
  const config = testConfig({ providers: [passwordProvider(), githubLike()] });
  const app = Fastify();
  app.addHook("onRequest", (_request, reply, done) => {
    reply.headers(CARELESS);
    done();
  });
  app.addHook("onSend", (_request, reply, payload, done) => {
    reply.headers(CARELESS);
    done(null, payload);
  });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.addHook("onSend", (_request, reply, payload, done) => {
    reply.headers(CARELESS);
    done(null, payload);
  });
  app.get("/page", () => "page");
  return app as FastifyInstance;
}

Deno.test("S12: every auth reply has its headers, whatever the application sets", async () => {
  await using app = await carelessApp();
  for (const [status, request] of AUTH_REQUESTS) {
    const answer = await app.inject(request as Sent & { method: "GET" });
    const what = `${request.method ?? "GET"} ${request.url} (${answer.statusCode})`;
    assertEquals(answer.statusCode, status, what);
    for (const [name, value] of Object.entries(PROTECTED)) {
      assertEquals(answer.headers[name], value, `${what} ${name}`);
    }
  }
});

Deno.test("S12: the same with the application's own error and not-found handlers, and signed in", async () => {
  await using app = await carelessApp();
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) =>
    reply.code(error.statusCode ?? 500).headers(CARELESS).send({ own: true })
  );
  app.setNotFoundHandler((_request, reply) => reply.code(404).headers(CARELESS).send({ own: true }));
  const client = new Client(app);
  const signedIn = await client.signIn(ada);
  assertEquals(signedIn.statusCode, 302);
  assert(setCookies(signedIn).some((cookie) => cookie.startsWith("authjs.session-token=")));
  const answers = [signedIn, await client.get("/auth/session"), await client.get("/auth/callback/unknown")];
  for (const answer of [...answers, await client.signOut()]) {
    for (const [name, value] of Object.entries(PROTECTED)) assertEquals(answer.headers[name], value);
  }
});

Deno.test("S12: the application's own replies keep their headers", async () => {
  await using app = await carelessApp();
  for (const url of ["/page", "/nowhere", "/authors"]) {
    const { headers } = await app.inject(url);
    for (const [name, value] of Object.entries(CARELESS)) {
      assertEquals(headers[name], value, `${url} ${name}`);
    }
  }
});

// S13 ----------------------------------------------------------------------------------------------------------------

const SECRETS = ["c0de-of-the-provider", "t0ken-of-the-link", "st4te-of-the-flow", "ada@private.example"];
const QUERY = `code=${SECRETS[0]}&token=${SECRETS[1]}&state=${SECRETS[2]}&email=${encodeURIComponent(SECRETS[3]!)}`;

const LOGGED: Sent[] = [
  { url: `/auth/callback?${QUERY}` },
  { url: `/auth/callback/?${QUERY}` },
  { url: `/auth/callback/github?${QUERY}` },
  { url: `/auth/callback/github/?${QUERY}` },
  { url: `/auth/callback/github?${QUERY}&error=access_denied&error_description=${SECRETS[0]}` },
  { url: `/auth/callback/unknown?${QUERY}` },
  { url: `/auth/callback/github/extra?${QUERY}` },
  { url: `/auth/callback/%2e%2e?${QUERY}` },
  { url: `/auth/callback/%zz?${QUERY}` },
  { url: `/auth/nowhere?${QUERY}` },
  { url: `/auth/?${QUERY}` },
  { url: `/auth?${QUERY}` },
  { method: "POST", url: `/auth?${QUERY}` },
  { method: "PROPFIND", url: `/auth/callback/github?${QUERY}` },
  { method: "PROPFIND", url: `/auth/nowhere?${QUERY}` },
  { method: "MKCOL", url: `/auth?${QUERY}` },
  { url: `/auth/callback/${"x".repeat(101)}?${QUERY}` },
  { url: `/auth/callback/github?a?${QUERY}` },
  { url: `/auth/callback/github%3F${QUERY}` },
  { url: `/auth/callback/github%3f${encodeURIComponent(QUERY)}` },
  { url: `/auth/callback/github%23${QUERY}` },
  { url: `/auth/callback/github%253F${encodeURIComponent(encodeURIComponent(QUERY))}` },
  { url: `/auth/callback/github&${QUERY}` },
  { url: `/auth/callback/github;${QUERY}` },
  { url: `/auth/callback/${QUERY}` },
  { url: `/auth/callback/code=${SECRETS[0]}/${SECRETS[1]}?${QUERY}` },
  { url: `/auth/callback/github?${QUERY.replaceAll("&", ";")}` },
  { url: `/auth/callback/github?${SECRETS[0]}` },
  { url: `/auth/callback/github?code=${SECRETS[0]}#${SECRETS[1]}` },
  { url: `/auth/callback/github?${QUERY}`, headers: { host: "a b" } },
  {
    url: `/auth/callback/github?${QUERY}`,
    headers: { referer: `http://localhost/auth/callback/github?${QUERY}` },
  },
  {
    url: `/auth/callback/github?${QUERY}`,
    headers: { cookie: `authjs.state=${SECRETS[2]}`, authorization: `Bearer ${SECRETS[1]}` },
  },
  {
    url: `/auth/callback/github?${QUERY}`,
    headers: Object.fromEntries(
      ["x-forwarded-uri", "x-original-uri", "x-original-url", "x-rewrite-url"].map((name) => [
        name,
        `/auth/callback/github?${QUERY}`,
      ]),
    ),
  },
  { method: "HEAD", url: `/auth/callback/github?${QUERY}` },
  { method: "PUT", url: `/auth/callback/github?${QUERY}` },
  { method: "POST", url: `/auth/callback/credentials?${QUERY}` },
  {
    method: "POST",
    url: `/auth/callback?${QUERY}`,
    headers: { "content-type": "application/json" },
    payload: "{",
  },
  {
    method: "POST",
    url: "/auth/callback/github",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    payload: QUERY,
  },
];

async function logOf(
  requests: Sent[],
  logger: Record<string, unknown> = {},
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<LogLine[]> {
  const captured = captureLog();
  const config = testConfig({ providers: [passwordProvider(), githubLike()], debug: true, ...overrides });
  await using app = Fastify({ logger: { ...captured.logger as object, level: "trace", ...logger } });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/page", () => "page");
  for (const request of requests) await app.inject(request as Sent & { method: "GET" });
  return captured.lines;
}

function assertNoSecret(lines: LogLine[]): void {
  for (const line of lines) {
    const text = JSON.stringify(line);
    for (const secret of SECRETS) {
      assert(!text.includes(secret) && !text.includes(encodeURIComponent(secret)), text);
    }
  }
}

Deno.test("S13: no code, token, state or address of a callback reaches the log", async () => {
  for (const request of LOGGED) {
    const lines = await logOf([request]);
    assertNoSecret(lines);
    const incoming = lines.find(({ req }) => req !== undefined);
    // A path that is no path, or has too long a part, is answered before there is a request to log.
    if (/%zz|x{101}/.test(request.url)) continue;
    assertStringIncludes(JSON.stringify(incoming), "/auth", "the request is logged all the same");
  }
});

Deno.test("S13: the names of the parameters stay in the log", async () => {
  const [incoming] = (await logOf([{ url: `/auth/callback/github?${QUERY}` }])).filter(({ req }) => req !== undefined);
  assertEquals(
    (incoming?.req as { url: string }).url,
    "/auth/callback/github?code=[redacted]&token=[redacted]&state=[redacted]&email=[redacted]",
  );
});

Deno.test("S13: nor do they through the application's own serializer, whatever it writes", async () => {
  interface Request {
    method: string;
    url: string;
    originalUrl: string;
    query: unknown;
    params: unknown;
    body: unknown;
    raw: { url: string; rawHeaders: string[] };
    headers: Record<string, string>;
  }
  const serializers: ((request: Request) => unknown)[] = [
    ({ url }) => ({ url }),
    ({ originalUrl }) => ({ address: originalUrl }),
    ({ method, url }) => `${method} ${url}`,
    ({ method, url }) => ({ line: `${method} ${url} HTTP/1.1`, method }),
    ({ query }) => ({ query }),
    ({ query, url }) => ({ http: { request: { query, url: [url] } } }),
    ({ raw }) => ({ raw: { url: raw.url, rawHeaders: raw.rawHeaders } }),
    ({ body }) => ({ body }),
    (request) => ({ params: Reflect.get(request, "params"), cookies: Reflect.get(request, "cookies") }),
    (request) =>
      Object.fromEntries(
        ["url", "originalUrl", "query", "body", "headers"].map((key) => [key, Reflect.get(request, key)]),
      ),
    ({ headers, url }) => ({ headers, path: url }),
    ({ url }) => new URL(url, "http://localhost"),
    ({ url }) => ({ url, at: new Date(0), no: null, yes: true, size: 1, list: [] }),
    ({ url }) => {
      const cycle: Record<string, unknown> = { url };
      return { cycle, again: cycle };
    },
  ];
  const requests = LOGGED.filter(({ headers }) => headers?.host === undefined);
  for (const req of serializers) {
    const lines = await logOf(requests, { serializers: { req } });
    assertNoSecret(lines);
    assert(lines.some((line) => line.req !== undefined));
  }
});

Deno.test("S13: nor do they, or cookies, through the application's own serializer of replies", async () => {
  interface Reply {
    statusCode: number;
    request: { url: string };
    raw: { statusCode: number; req: { url: string }; getHeaders(): object; getHeader(name: string): unknown };
    getHeaders(): object;
    getHeader(name: string): unknown;
  }
  const serializers: ((reply: Reply) => unknown)[] = [
    ({ request, statusCode }) => ({ statusCode, url: request.url }),
    ({ raw }) => ({ statusCode: raw.statusCode, url: raw.req.url, headers: raw.getHeaders() }),
    (reply) => ({ statusCode: reply.statusCode, headers: reply.getHeaders() }),
    (reply) => ({
      statusCode: reply.statusCode,
      headers: ["Set-Cookie", "Location"].map((name) => [reply.getHeader(name), reply.raw.getHeader(name)]),
    }),
  ];
  for (const res of serializers) {
    const { logger, lines } = captureLog();
    await using app = Fastify({
      logger: { ...logger as object, level: "trace", serializers: { res: res as never } },
    }) as FastifyInstance;
    await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
    const client = new Client(app);
    await client.get(`/auth/callback/github?${QUERY}`);
    await client.signIn({ ...ada, callbackUrl: `/?token=${SECRETS[1]}` });
    assertNoSecret(lines);
    for (const value of client.cookies.values()) {
      assert(!JSON.stringify(lines).includes(value), `${value} in ${JSON.stringify(lines)}`);
    }
    const told = lines.flatMap(({ res }) => res === undefined ? [] : (res as Reply).statusCode);
    assertEquals([...new Set(told)], [404, 200, 302], "replies are logged all the same");
  }
});

Deno.test("S13: nor do they through loggers that the application makes for its requests", async () => {
  const captured = captureLog();
  const config = testConfig({ providers: [passwordProvider(), githubLike()] });
  const app = Fastify({ logger: { ...captured.logger as object, level: "trace" } });
  app.setChildLoggerFactory((logger, bindings, options) => logger.child({ ...bindings, own: true }, options));
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  for (const request of LOGGED) await app.inject(request as Sent & { method: "GET" });
  await app.close();
  assertNoSecret(captured.lines);
  const incoming = captured.lines.filter(({ req }) => req !== undefined);
  assert(incoming.length > 0 && incoming.every((line) => line.own === true));
});

Deno.test("S13: the application's own log is untouched", async () => {
  const lines = await logOf([{ url: `/page?${QUERY}` }]);
  const incoming = lines.find(({ req }) => req !== undefined);
  assertEquals((incoming?.req as { url: string }).url, `/page?${QUERY}`);
});

Deno.test("S13: passwords, cookies and tokens do not reach the log either", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig({ debug: true });
  await using app = Fastify({ logger: { ...logger as object, level: "trace" } }) as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/page", { onRequest: requireSession(config) }, () => "page");
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "wr0ng-pa55word" });
  await client.signIn(ada);
  const token = client.cookies.get("authjs.session-token")!;
  const csrf = client.cookies.get("authjs.csrf-token")!;
  await client.get("/page");
  client.cookies.set("authjs.session-token", `${token.slice(0, -8)}AAAAAAAA`);
  await client.get("/page");
  await client.signOut();
  const text = JSON.stringify(lines);
  for (const secret of ["wr0ng-pa55word", token.slice(0, 60), token.slice(60, 120), csrf]) {
    assert(!text.includes(secret), secret);
  }
});

// S14 ----------------------------------------------------------------------------------------------------------------

const ACTIONS = [
  "signin",
  "callback",
  "signout",
  "session",
  "csrf",
  "providers",
  "error",
  "verify-request",
  "nope",
];
const PROVIDERS = [
  "",
  "/",
  "/credentials",
  "/github",
  "/__proto__",
  "/toString",
  "/..%2fx",
  "/%00",
  "/%ff",
  "/a/b",
];
const METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"];
const TYPES = [
  "application/json",
  "application/x-www-form-urlencoded",
  "APPLICATION/JSON; charset=utf-8",
  "multipart/form-data; boundary=x",
  "text/plain",
  'application/json; charset="',
  ";",
  "",
];
const COOKIES = ["authjs.session-token", "authjs.session-token.0", "authjs.csrf-token", "authjs.callback-url"]
  .concat(
    "authjs.pkce.code_verifier",
    "authjs.state",
    "__Secure-authjs.session-token",
    "__Host-authjs.csrf-token",
    "__proto__",
  );

type Random = ReturnType<typeof seededRandom>;

/** Text that a header may carry on a real connection. */
function headerText(random: Random, length = 20): string {
  // deno-lint-ignore no-control-regex -- a socket does not deliver these
  return random.text(length).replace(/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/g, "");
}

function malformedCookies(random: Random, real: readonly string[]): string {
  return Array.from({ length: random.int(5) }, () => {
    const name = random.pick(COOKIES);
    const junk = () =>
      random.pick([headerText(random), "%", "%zz", "{}", `"`, "..", "a.b.c.d.e", "|", "x|y", "http://["]);
    if (random.oneIn(3)) return damaged(random, random.pick(real));
    return random.oneIn(6) ? headerText(random) : `${name}=${junk()}`;
  }).join(random.pick(["; ", ";", ", ", ";;"]));
}

function damaged(random: Random, text: string): string {
  const at = random.int(text.length);
  return random.pick([
    text,
    text.slice(0, at),
    text.slice(at),
    text.slice(0, at) + headerText(random) + text.slice(at),
  ]);
}

function malformedBody(random: Random): string {
  const fields = { csrfToken: "x", username: "a", password: "b", callbackUrl: random.text(9), json: "true" };
  return random.pick([
    "",
    "{",
    "null",
    "[]",
    "1",
    '"text"',
    JSON.stringify(random.json()),
    JSON.stringify({ ...fields, data: random.json(), extra: random.json() }),
    '{"__proto__":{"a":1}}',
    '{"constructor":{"prototype":{"a":1}}}',
    "csrfToken=%zz&csrfToken[]=1&=&&&",
    `csrfToken=a&callbackUrl=${encodeURIComponent(headerText(random))}`,
    random.text(200),
    "&".repeat(2000),
    "a=".repeat(3000),
  ]);
}

interface Malformed {
  method: string;
  url: string;
  headers: Record<string, string>;
  payload?: string;
}

function malformedRequest(random: Random, realCookies: readonly string[]): Malformed {
  const mount = random.pick(["/auth/", "/auth/", "/auth/", "/", "/page/", "//auth/", "/auth//"]);
  const query = random.pick([
    "",
    "?",
    `?code=${headerText(random)}`,
    "?callbackUrl=//x&callbackUrl[]=%zz",
    "?%",
    "?error=x",
  ])
    .replace(/[\s#]/g, "");
  const headers: Record<string, string> = {};
  const maybe = (name: string, make: () => string) => random.oneIn(2) && (headers[name] = make());
  maybe("cookie", () => malformedCookies(random, realCookies));
  maybe("content-type", () => random.pick(TYPES));
  maybe("accept", () => random.pick(["text/html", "*/*", ",;q=,", "text/html;q=0;q=1", headerText(random)]));
  maybe(
    "authorization",
    () => random.pick(["Bearer %", "Bearer", "Bearer  a b", "Basic =", headerText(random)]),
  );
  maybe("origin", () => random.pick(["null", "http://[", headerText(random)]));
  maybe("x-forwarded-proto", () => random.pick(["javascript", "https,http", headerText(random)]));
  maybe("x-forwarded-host", () => random.pick(["a, b", "[", headerText(random)]));
  if (random.oneIn(5)) {
    headers.host = random.pick(["a b", "", "[", "localhost:99999", "x/y", headerText(random)]);
  }
  if (random.oneIn(9)) headers["content-encoding"] = random.pick(["gzip", "br", "identity", "x"]);
  const method = random.pick(METHODS);
  const bodyless = ["GET", "HEAD", "TRACE"].includes(method);
  return {
    method,
    url: `${mount}${random.pick(ACTIONS)}${random.pick(PROVIDERS)}${query}`,
    headers,
    ...(!bodyless && { payload: malformedBody(random) }),
  };
}

async function malformedTarget() {
  const captured = captureLog();
  const config = testConfig({ providers: [passwordProvider(), githubLike()] });
  const app = Fastify({ logger: captured.logger as object, trustProxy: true }) as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.all("/page/*", { onRequest: requireSession(config) }, () => "page");
  app.get("/signin", async (request) => ({ session: await getSession(request, config) }));
  const client = new Client(app);
  await client.signIn(ada);
  await client.post("/auth/signin/github", { csrfToken: await client.csrfToken() });
  const cookies = [...client.cookies].map(([name, value]) => `${name}=${value}`);
  return { app, cookies, errors: () => captured.lines.filter(({ level }) => level >= 50) };
}

Deno.test("S14: of 3,000 malformed requests none is answered with a 5xx, and none is logged as an error", async () => {
  const random = seededRandom();
  console.log(`TEST_SEED=${random.seed}`);
  const { app, cookies, errors } = await malformedTarget();
  await using _app = app;
  const counts = new Map<number, number>();
  for (let i = 0; i < 3000; i++) {
    const request = malformedRequest(random, cookies);
    const { statusCode, body } = await app.inject(request as Malformed & { method: "GET" });
    counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1);
    assert(statusCode < 500, `${statusCode} ${JSON.stringify(request)} ${body.slice(0, 300)}`);
    assertEquals(errors(), [], JSON.stringify(request));
  }
  assert(counts.size > 5, `they reach different ends: ${JSON.stringify([...counts])}`);
  assertEquals((await app.inject("/auth/csrf")).statusCode, 200);
});

Deno.test("S14: the same over real connections", async () => {
  const random = seededRandom();
  console.log(`TEST_SEED=${random.seed}`);
  const { app, cookies, errors } = await malformedTarget();
  await using _app = app;
  const port = await listen(app);
  for (let i = 0; i < 300; i++) {
    const { method, url, headers, payload = "" } = malformedRequest(random, cookies);
    const length = random.oneIn(8) ? random.pick(["-1", "x", "99999999999999999999"]) : String(
      new TextEncoder().encode(payload).length,
    );
    const lines = Object.entries({
      host: "localhost",
      "content-length": length,
      ...headers,
      connection: "close",
    });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const answer = await exchange(
      port,
      `${method} ${url} HTTP/1.1\r\n${head}\r\n${payload}`,
      (text) => text.includes("\r\n\r\n"),
    );
    const status = statusOf(answer);
    // Nothing at all is what a connection gets that does not speak HTTP.
    assert(Number.isNaN(status) ? answer === "" : status < 500, `${status} ${method} ${url} ${head}`);
  }
  assertEquals(errors(), []);
  assertEquals((await app.inject("/auth/csrf")).statusCode, 200);
});
