/** Rows R1 to M2: redirects, bodies, paths and methods. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, type FastifyAuthConfig } from "fastify-authjs";
import type { AddressInfo } from "node:net";
import net from "node:net";
import { captureLog, passwordProvider, SECRET, testApp, testConfig } from "../support/app.ts";
import { type Answer, Client, setCookies } from "../support/client.ts";

const ada = { username: "ada", password: "open" };
const FORM = { "content-type": "application/x-www-form-urlencoded" };

/** Addresses that must never be where a user ends up. */
const HOSTILE = [
  "https://evil.example/",
  "//evil.example",
  "///evil.example",
  "/\\evil.example",
  "/..//evil.example",
  "/a/../..//evil.example",
  "/%2e%2e\\evil.example",
  "\\\\evil.example",
  "/\t/evil.example",
  "http:evil.example",
  "http:/evil.example",
  "http://localhost@evil.example/",
  "http://localhost.evil.example/",
  "http://evil.example#localhost",
  "http://localhost:80@evil.example",
  "http://user:pass@localhost/",
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "data:text/html,x",
  "vbscript:x",
  "\u0000/x",
  "/x\r\nSet-Cookie: a=b",
  "/x\nLocation: https://evil.example",
  "java\nscript:alert(1)",
  "::",
  "http://",
  "http://[",
  `/${"x".repeat(9000)}`,
  "",
  " https://evil.example",
];

function assertOwnOrigin(answer: Answer, what: string): void {
  assert(answer.statusCode < 500, `${what}: ${answer.statusCode}`);
  const { location } = answer.headers;
  if (location === undefined) return;
  const { origin } = new URL(String(location), "http://localhost");
  assertEquals(origin, "http://localhost", `${what} -> ${location}`);
}

Deno.test("R1: a hostile callbackUrl in the body never leaves the origin and never fails", async () => {
  await using app = await testApp();
  for (const callbackUrl of HOSTILE) {
    const client = new Client(app);
    assertOwnOrigin(
      await client.signIn({ ...ada, callbackUrl }),
      `body ${JSON.stringify(callbackUrl.slice(0, 40))}`,
    );
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
    const out = await client.post("/auth/signout", { csrfToken: await client.csrfToken(), callbackUrl });
    assertOwnOrigin(out, "sign-out");
    assertEquals((await client.get("/me")).json().session, null);
  }
});

Deno.test("R1: a hostile callbackUrl in the query never leaves the origin and never fails", async () => {
  await using app = await testApp();
  for (const callbackUrl of HOSTILE) {
    const query = new URLSearchParams({ callbackUrl });
    for (const path of ["/auth/signin", "/auth/signout", "/auth/session", "/auth/csrf", "/auth/error"]) {
      const client = new Client(app);
      const answer = await client.get(`${path}?${query}`);
      assertOwnOrigin(answer, `${path}?${query}`.slice(0, 80));
      assertOwnOrigin(await client.signIn(ada), "sign-in afterwards");
    }
  }
});

Deno.test("R1: a hostile callback-url cookie is ignored: session and sign-out go on", async () => {
  await using app = await testApp();
  for (const callbackUrl of HOSTILE) {
    const client = new Client(app);
    await client.signIn(ada);
    const [csrfToken, own] = [await client.csrfToken(), client.cookie];
    const cookie = `authjs.callback-url=${encodeURIComponent(callbackUrl)}; ${
      own?.replace(/authjs\.callback-url=[^;]*;? ?/, "")
    }`;
    const what = `cookie ${JSON.stringify(callbackUrl.slice(0, 40))}`;
    const session = await app.inject({ url: "/auth/session", headers: { cookie } });
    assertEquals([session.statusCode, session.json().user.name], [200, "ada"], what);
    const page = await app.inject({ url: "/auth/signin", headers: { cookie } });
    assertEquals(page.statusCode, 200, what);
    const me = await app.inject({ url: "/me", headers: { cookie } });
    assertEquals(me.json().session.user.name, "ada", what);
    const out = await app.inject({
      method: "POST",
      url: "/auth/signout",
      headers: { cookie, ...FORM },
      payload: `csrfToken=${csrfToken}`,
    });
    assertEquals(out.statusCode, 302, what);
    assertOwnOrigin(out, what);
    assert(setCookies(out).some((line) => line.startsWith("authjs.session-token=;")), what);
  }
});

Deno.test("R1: a raw, undecodable callback-url cookie is ignored as well", async () => {
  await using app = await testApp();
  for (const value of ["%", "%ZZ", "javascript:alert(1)", "%E0%A4%A", '"', "a b"]) {
    const answer = await app.inject({
      url: "/auth/signin",
      headers: { cookie: `authjs.callback-url=${value}` },
    });
    assertEquals(answer.statusCode, 200, value);
  }
});

Deno.test("R2: a callbackUrl that is not ASCII ends in an encoded redirect and a session", async () => {
  await using app = await testApp();
  for (
    const [callbackUrl, path] of [["/日本", "/%E6%97%A5%E6%9C%AC"], [
      "/a b?q=ü#ö",
      "/a%20b?q=%C3%BC#%C3%B6",
    ]] as const
  ) {
    const client = new Client(app);
    const answer = await client.signIn({ ...ada, callbackUrl });
    assertEquals([answer.statusCode, answer.headers.location], [302, `http://localhost${path}`]);
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
  }
});

Deno.test("R2: so does what a redirect callback returns", async () => {
  await using app = await testApp(
    testConfig({ callbacks: { redirect: ({ baseUrl }) => `${baseUrl}/日本` } }),
  );
  const client = new Client(app);
  const answer = await client.signIn(ada);
  assertEquals(answer.headers.location, "http://localhost/%E6%97%A5%E6%9C%AC");
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
});

/** Signs in with a body made from the CSRF token. */
async function signInWith(
  app: FastifyInstance,
  contentType: string | undefined,
  body: (csrfToken: string) => string,
  headers: Record<string, string> = {},
): Promise<{ answer: Answer; session: { user: { name: string } } | null }> {
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  const answer = await client.request("POST", "/auth/callback/credentials", {
    headers: { ...(contentType && { "content-type": contentType }), ...headers },
    payload: body(csrfToken),
  });
  return { answer, session: (await client.get("/me")).json().session };
}

const asForm = (csrfToken: string) => new URLSearchParams({ ...ada, csrfToken }).toString();
const asJson = (csrfToken: string) => JSON.stringify({ ...ada, csrfToken });

Deno.test("B1: JSON that reaches for a prototype is a 400", async () => {
  await using app = await testApp();
  for (const key of ['"__proto__": {"admin": true}', '"constructor": {"prototype": {"admin": true}}']) {
    const { answer, session } = await signInWith(
      app,
      "application/json",
      (csrfToken) => `{${key}, "csrfToken": "${csrfToken}", "username": "ada", "password": "open"}`,
    );
    assertEquals([answer.statusCode, session], [400, null]);
    assertEquals(({} as { admin?: boolean }).admin, undefined);
  }
});

for (
  const [contentType, body] of [
    ["Application/JSON", asJson],
    ["application/json; charset=UTF-8", asJson],
    ["APPLICATION/X-WWW-FORM-URLENCODED", asForm],
    ["application/x-www-form-urlencoded;charset=utf-8", asForm],
  ] as const
) {
  Deno.test(`B2: sign-in works with the content type ${contentType}`, async () => {
    await using app = await testApp();
    const { session } = await signInWith(app, contentType, body);
    assertEquals(session?.user.name, "ada");
  });
}

Deno.test("B3: csrfToken is one string however it is repeated", async () => {
  await using app = await testApp();
  const rest = "username=ada&password=open";
  const array = await signInWith(app, FORM["content-type"], (token) => `csrfToken[]=${token}&${rest}`);
  assertStringIncludes(String(array.answer.headers.location), "error=MissingCSRF");
  const repeated = await signInWith(
    app,
    FORM["content-type"],
    (token) => `csrfToken=x&csrfToken=${token}&${rest}`,
  );
  assertEquals(repeated.session?.user.name, "ada");
  const wrongLast = await signInWith(
    app,
    FORM["content-type"],
    (token) => `csrfToken=${token}&csrfToken=x&${rest}`,
  );
  assertStringIncludes(String(wrongLast.answer.headers.location), "error=MissingCSRF");
  const json = await signInWith(
    app,
    "application/json",
    (token) => JSON.stringify({ ...ada, csrfToken: [token] }),
  );
  assertEquals(json.answer.statusCode, 400);
});

Deno.test("B4: credentials are strings, or the request is a 400 and authorize() never runs", async () => {
  let authorized = 0;
  await using app = await testApp(testConfig({ providers: [passwordProvider(() => authorized++)] }));
  for (const password of [{ $gt: "" }, ["open"], null, 2 ** 53, -1e300]) {
    const { answer, session } = await signInWith(
      app,
      "application/json",
      (csrfToken) => JSON.stringify({ username: "ada", password, csrfToken }),
    );
    assertEquals([answer.statusCode, answer.json().code, session], [400, "FST_AUTHJS_BODY_INVALID", null]);
    assertStringIncludes(answer.json().message, '"password"');
  }
  assertEquals(authorized, 0);
});

Deno.test("B4: a number or a boolean in JSON is the text that a form would send", async () => {
  const seen: unknown[] = [];
  await using app = await testApp(
    testConfig({ providers: [passwordProvider((fields) => seen.push(fields))] }),
  );
  const sent = { pin: 4711, none: 0, half: -0.5, yes: true, no: false, safe: Number.MAX_SAFE_INTEGER };
  const { session } = await signInWith(
    app,
    "application/json",
    (csrfToken) => JSON.stringify({ ...ada, ...sent, csrfToken }),
  );
  assertEquals(session?.user.name, "ada");
  const { csrfToken: _token, ...fields } = seen[0] as Record<string, unknown>;
  assertEquals(fields, {
    ...ada,
    pin: "4711",
    none: "0",
    half: "-0.5",
    yes: "true",
    no: "false",
    safe: "9007199254740991",
  });
});

Deno.test("B5: bodies that are too large, of another type or malformed are refused before authorize()", async () => {
  let authorized = 0;
  await using app = await testApp(testConfig({ providers: [passwordProvider(() => authorized++)] }));
  const cases: [status: number, contentType: string | undefined, body: (csrfToken: string) => string][] = [
    [413, FORM["content-type"], (token) => `${asForm(token)}&x=${"x".repeat(101 * 1024)}`],
    [
      413,
      "application/json",
      (token) => JSON.stringify({ ...ada, csrfToken: token, x: "x".repeat(101 * 1024) }),
    ],
    [400, "multipart/form-data", () => "--x--"],
    [415, "multipart/mixed; boundary=x", () => "--x--"],
    [415, "text/plain", asForm],
    [415, "application/xml", asForm],
    [415, undefined, asForm],
    [400, "application/json", () => '{"username": "ada", '],
    [400, "application/json", () => "[]"],
    [400, "application/json", () => '"text"'],
    [400, "application/json", () => "5"],
  ];
  for (const [status, contentType, body] of cases) {
    const { answer, session } = await signInWith(app, contentType, body);
    assertEquals([answer.statusCode, session], [status, null], `${contentType}`);
  }
  for (const body of ["", "{}", "null"]) {
    const { answer } = await signInWith(app, "application/json", () => body);
    assertStringIncludes(String(answer.headers.location), "error=MissingCSRF", body);
  }
  assertEquals(authorized, 0);
});

Deno.test("B5: a body of 100 KB is still read", async () => {
  await using app = await testApp();
  const { session } = await signInWith(
    app,
    FORM["content-type"],
    (token) => `${asForm(token)}&x=${"x".repeat(99_000)}`,
  );
  assertEquals(session?.user.name, "ada");
});

/** Texts nested in each way, as deep as a body may be large. */
const DEEP: Record<string, (depth: number) => string> = {
  arrays: (depth) => "[".repeat(depth) + "]".repeat(depth),
  objects: (depth) => '{"a":'.repeat(depth) + "1" + "}".repeat(depth),
  both: (depth) => '[{"a":'.repeat(depth) + "1" + "}]".repeat(depth),
  "strings with brackets before": (depth) => `["${"]".repeat(9_000)}\\"",${"[".repeat(depth)}${"]".repeat(depth)}]`,
  unclosed: (depth) => "[".repeat(depth),
};

Deno.test("B9: JSON nested deep is a 400 on every route, before a CSRF token is looked for", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(), { logger });
  const shapes = [
    (text: string) => text,
    (text: string) => `{"data":${text}}`,
    (text: string) => `{"x":${text}}`,
  ];
  for (
    const url of ["/auth/session", "/auth/signout", "/auth/signin/credentials", "/auth/callback/credentials"]
  ) {
    for (const [name, deep] of Object.entries(DEEP)) {
      for (const depth of [100, 5_000, 10_000]) {
        for (const shape of shapes) {
          const answer = await app.inject({
            method: "POST",
            url,
            headers: { "content-type": "application/json" },
            payload: shape(deep(depth)),
          });
          assertEquals(answer.statusCode, 400, `${url} ${name} ${depth}`);
        }
      }
    }
  }
  assertEquals(lines.filter(({ level }) => level >= 50), []);
});

Deno.test("B9: data of a session update may be nested deeply", async () => {
  const received: unknown[] = [];
  const callbacks: FastifyAuthConfig["callbacks"] = {
    jwt({ token, session, trigger }) {
      if (trigger === "update") received.push(session);
      return token;
    },
  };
  await using app = await testApp(testConfig({ callbacks }));
  const client = new Client(app);
  await client.signIn(ada);
  const data = {
    deep: JSON.parse(DEEP.objects!(40)),
    brackets: "[".repeat(2_000),
    quote: '"[[',
    slash: "\\",
  };
  const json = { csrfToken: await client.csrfToken(), data };
  assertEquals((await client.request("POST", "/auth/session", { json })).statusCode, 200);
  assertEquals(received, [data]);
});

Deno.test("B10: a body with thousands of fields is a 400", async () => {
  let authorized = 0;
  await using app = await testApp(testConfig({ providers: [passwordProvider(() => authorized++)] }));
  const names = Array.from({ length: 3_000 }, (_, i) => `f${i}`);
  for (
    const [contentType, body] of [
      [
        FORM["content-type"],
        (token: string) => `${asForm(token)}&${names.map((name) => `${name}=`).join("&")}`,
      ],
      [FORM["content-type"], (token: string) => `${asForm(token)}${"&a=1".repeat(3_000)}`],
      [
        "application/json",
        (csrfToken: string) =>
          JSON.stringify({ ...ada, csrfToken, ...Object.fromEntries(names.map((name) => [name, ""])) }),
      ],
    ] as const
  ) {
    const { answer, session } = await signInWith(app, contentType, body);
    assertEquals([answer.statusCode, answer.json().code, session], [400, "FST_AUTHJS_BODY_INVALID", null]);
  }
  assertEquals(authorized, 0);
});

Deno.test("B6: a Content-Encoding is a 415", async () => {
  await using app = await testApp();
  for (const encoding of ["gzip", "br", "GZIP", "gzip, identity"]) {
    const { answer, session } = await signInWith(app, FORM["content-type"], asForm, {
      "content-encoding": encoding,
    });
    assertEquals([answer.statusCode, session], [415, null], encoding);
  }
});

Deno.test("B7: a client that goes away mid body starts nothing, and other requests go on", async () => {
  let authorized = 0;
  await using app = await testApp(testConfig({ providers: [passwordProvider(() => authorized++)] }));
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  const closed = new Promise<void>((resolve) => {
    app.server.once("connection", (socket) => socket.once("close", () => resolve()));
  });
  const socket = net.connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    "POST /auth/callback/credentials HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n" +
      "Content-Type: application/x-www-form-urlencoded\r\n\r\nusername=ada&",
    () => socket.destroy(),
  );
  await closed;
  const answer = await fetch(`http://127.0.0.1:${port}/auth/csrf`);
  await answer.body?.cancel();
  assertEquals([answer.status, authorized], [200, 0]);
});

Deno.test("B8: it does not matter which parsers the application has, and it keeps them", async () => {
  const prepare: Record<string, (app: FastifyInstance) => void> = {
    none: (app) => app.removeAllContentTypeParsers(),
    own: (app) => {
      app.removeAllContentTypeParsers();
      for (const type of ["application/json", "application/x-www-form-urlencoded"]) {
        app.addContentTypeParser(
          type,
          { parseAs: "string" },
          (_request, body, done) => done(null, `own:${body}`),
        );
      }
    },
    catchAll: (app) => app.addContentTypeParser("*", (_request, payload, done) => done(null, payload)),
  };
  for (const [name, addParsers] of Object.entries(prepare)) {
    await using app = Fastify() as FastifyInstance;
    addParsers(app);
    const config = testConfig();
    await app.register(FastifyAuth(config), { prefix: "/auth" });
    app.post("/echo", (request) => ({ body: typeof request.body === "string" ? request.body : null }));
    for (
      const [contentType, body] of [["application/json", asJson], [FORM["content-type"], asForm]] as const
    ) {
      const client = new Client(app);
      const csrfToken = await client.csrfToken();
      await client.request("POST", "/auth/callback/credentials", {
        headers: { "content-type": contentType },
        payload: body(csrfToken),
      });
      assert(client.cookies.has("authjs.session-token"), `${name} ${contentType}`);
    }
    const echo = await app.inject({
      method: "POST",
      url: "/echo",
      headers: { "content-type": "application/json" },
      payload: '"x"',
    });
    if (name === "none") assertEquals(echo.statusCode, 415);
    if (name === "own") assertEquals(echo.json(), { body: 'own:"x"' });
  }
});

const PATHS: Record<string, string> = {
  "/auth/signin": "GET, POST",
  "/auth/signin/credentials": "GET, POST",
  "/auth/callback/credentials": "POST",
  "/auth/signout": "GET, POST",
  "/auth/session": "GET, POST",
  "/auth/csrf": "GET",
  "/auth/providers": "GET",
  "/auth/error": "GET",
  "/auth/verify-request": "GET",
};

Deno.test("M1: other methods are a 405 that names those served", async () => {
  await using app = await testApp();
  for (const [url, allow] of Object.entries(PATHS)) {
    for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"]) {
      const answer = await app.inject({ method: method as "PUT", url });
      assertEquals([answer.statusCode, answer.headers.allow], [405, allow], `${method} ${url}`);
    }
  }
  assertEquals((await app.inject({ method: "POST", url: "/auth/csrf" })).statusCode, 405);
  assertEquals((await app.inject({ method: "GET", url: "/auth/callback/credentials" })).statusCode, 405);
});

Deno.test("M1: other methods are a 405 in any spelling that the router takes for the path", async () => {
  await using app = await testApp(testConfig(), { routerOptions: { caseSensitive: false } });
  const paths = ["/AUTH/SIGNIN", "/auth/Callback/credentials", "/auth/csrf"];
  for (const url of paths) {
    assertEquals((await app.inject({ method: "PUT", url })).statusCode, 405, url);
  }
  assertEquals((await app.inject({ method: "PUT", url: "/auth/callback/CREDENTIALS" })).statusCode, 404);
  await using sensitive = await testApp();
  assertEquals((await sensitive.inject({ method: "PUT", url: "/auth/SIGNIN" })).statusCode, 404);
});

Deno.test("M2: unknown actions and providers are a 404 without an error in the log", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(), { logger });
  const ids = [
    "nope",
    "__proto__",
    "toString",
    "constructor",
    "..%2fx",
    "%2e%2e",
    ".",
    "credentials%00",
    "Credentials",
  ];
  const urls = [
    "/auth",
    "/auth/",
    "/auth/nope",
    "/auth/__proto__",
    "/auth/%2e%2e/session",
    "/auth/x/../session",
    "/auth/signin/credentials/extra",
    "/auth/session/credentials",
    "/auth/callback",
    // No provider of passkeys.
    "/auth/webauthn-options/credentials",
    ...ids.flatMap((id) => ["signin", "callback", "webauthn-options"].map((action) => `/auth/${action}/${id}`)),
  ];
  for (const url of urls) {
    for (const method of ["GET", "POST"] as const) {
      const answer = await new Promise<Answer>((resolve, reject) =>
        app.inject({ method, url }, (error, response) => error ? reject(error) : resolve(response as Answer))
      );
      const normalized = new URL(url, "http://localhost").pathname;
      // An address that the client itself resolves to a route is that route.
      if (["/auth/session", "/session", "/auth/signin/"].includes(normalized)) continue;
      assertEquals(answer.statusCode, 404, `${method} ${url}`);
    }
  }
  assertEquals(lines.filter((line) => line.level >= 50), []);
});

Deno.test("M2: encoded dot segments on a socket never run the action they would resolve to", async () => {
  await using app = await testApp();
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  for (const path of ["/auth/%2e%2e/auth/csrf", "/auth/x/../csrf", "/auth/signin/..%2fcsrf", "//auth/csrf"]) {
    const answer = await rawRequest(
      port,
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    assert(answer.startsWith("HTTP/1.1 404"), `${path}: ${answer.slice(0, 20)}`);
    assert(!answer.includes("csrfToken"), path);
  }
});

function rawRequest(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(request));
    let answer = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => answer += chunk);
    socket.on("close", () => resolve(answer));
    socket.on("error", reject);
  });
}

Deno.test("GET signin/:provider leads to the sign-in page, its query kept", async () => {
  await using app = await testApp();
  const answer = await app.inject("/auth/signin/credentials?callbackUrl=%2Fx");
  assertEquals([answer.statusCode, answer.headers.location], [302, "/auth/signin?callbackUrl=%2Fx"]);
});

Deno.test("not-found handlers of the application stay in charge of what is theirs", async () => {
  const notFound =
    (text: string) => (_request: unknown, reply: { code(status: number): { send(body: string): void } }) =>
      reply.code(404).send(text);
  await using app = Fastify();
  app.setNotFoundHandler(notFound("root"));
  await app.register(async (scope) => {
    scope.setNotFoundHandler(notFound("scope"));
    await scope.register(FastifyAuth(testConfig()));
  }, { prefix: "/own/auth" });
  await app.register(async (scope) => {
    await scope.register(FastifyAuth(testConfig({ secret: `${SECRET}-2` })), { prefix: "/auth" });
    scope.setNotFoundHandler(notFound("around"));
  }, { prefix: "/around" });
  const bodyOf = async (url: string, method = "GET") => (await app.inject({ method: method as "GET", url })).body;
  assertEquals(await bodyOf("/nowhere"), "root");
  assertEquals(await bodyOf("/own/auth"), "scope");
  assertEquals(await bodyOf("/around/nowhere"), "around");
  for (
    const [url, method] of [
      ["/around/auth", "GET"],
      ["/around/auth/nowhere", "GET"],
      ["/around/auth/signin", "PROPFIND"],
      ["/own/auth/nowhere", "GET"],
    ] as const
  ) {
    assertStringIncludes(await bodyOf(url, method), "FST_AUTHJS_NOT_FOUND", `${method} ${url}`);
  }
  for (const mount of ["/own/auth", "/around/auth"]) {
    assertEquals((await app.inject(`${mount}/signin/`)).statusCode, 200);
  }
});

Deno.test("a page of the application at the mount path itself stays", async () => {
  await using app = Fastify();
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  app.get("/auth", () => "own page");
  assertEquals((await app.inject("/auth")).body, "own page");
});
