/** Which origin is used, behind proxies and without (O1 to O11 of docs/security-cases.md). */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, FastifyAuthError, getSession } from "fastify-authjs";
import { readFile } from "node:fs/promises";
import type http2 from "node:http2";
import net from "node:net";
import { captureLog, passwordProvider, SECRET, testApp, testConfig } from "../support/app.ts";
import { Client, setCookies } from "../support/client.ts";
import { connectHttp2 } from "../support/http2_client.ts";
import { withEnvironment } from "../support/environment.ts";

const ada = { username: "ada", password: "open" };

async function sessionOf(client: Client): Promise<{ user: { name: string } } | null> {
  return (await client.get("/me")).json().session;
}

Deno.test("O1: X-Forwarded-Proto of an untrusted peer does not hide the session", async () => {
  await using app = await testApp();
  const client = new Client(app, { "x-forwarded-proto": "https" });
  await client.signIn(ada);
  assert(client.cookies.has("authjs.session-token"), "the plain cookie is used on a plain connection");
  assertEquals((await sessionOf(client))?.user.name, "ada");
});

Deno.test("O2: malformed forwarded headers are ignored where the peer is not trusted", async () => {
  await using app = await testApp();
  for (
    const headers of [
      { "x-forwarded-proto": "javascript" },
      { "x-forwarded-proto": "https,http" },
      { "x-forwarded-host": "a, b" },
      { "x-forwarded-host": "evil.example" },
    ]
  ) {
    const client = new Client(app, headers as unknown as Record<string, string>);
    const providers = await client.get("/auth/providers");
    assertEquals(providers.json().credentials.callbackUrl, "http://localhost/auth/callback/credentials");
    await client.signIn(ada);
    assertEquals((await sessionOf(client))?.user.name, "ada");
  }
});

Deno.test("O2: a trusted proxy that forwards no protocol or host at all gets a 400, never a 500", async () => {
  await using app = await testApp(testConfig(), { trustProxy: true });
  for (
    const headers of [
      { "x-forwarded-proto": "javascript" },
      { "x-forwarded-host": "a b" },
      { "x-forwarded-host": "a.example/path" },
    ]
  ) {
    const answer = await app.inject({
      url: "/auth/providers",
      headers: headers as unknown as Record<string, string>,
    });
    assertEquals(answer.statusCode, 400);
    assertEquals(answer.json().code, "FST_AUTHJS_HOST_INVALID");
    assertEquals(
      (await app.inject({ url: "/me", headers: headers as unknown as Record<string, string> })).json(),
      {
        session: null,
      },
    );
  }
});

Deno.test("O3: forwarded headers count from the trusted peer and from no other", async () => {
  await using app = await testApp(testConfig(), { trustProxy: "10.0.0.1" });
  const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "app.example" };
  const from = (remoteAddress: string) => app.inject({ url: "/auth/csrf", headers, remoteAddress });

  const trusted = setCookies(await from("10.0.0.1")).join("\n");
  assertStringIncludes(trusted, "__Host-authjs.csrf-token=");
  assertStringIncludes(trusted, "__Host-authjs.callback-url=https%3A%2F%2Fapp.example;");
  const untrusted = setCookies(await from("10.0.0.2")).join("\n");
  assert(!untrusted.includes("__Host-") && !untrusted.includes("app.example"));
});

Deno.test("O3: behind a TLS proxy the session cookie is __Secure- and getSession() reads it", async () => {
  await using app = await testApp(testConfig(), { trustProxy: true });
  const client = new Client(app, { "x-forwarded-proto": "https", "x-forwarded-host": "app.example" });
  const answer = await client.signIn(ada);
  assertEquals(answer.headers.location, "https://app.example");
  const cookie = setCookies(answer).find((line) => line.startsWith("__Secure-authjs.session-token="));
  assertMatch(cookie ?? "", /; Secure/);
  assertEquals((await sessionOf(client))?.user.name, "ada");
});

for (
  const [how, environment, overrides] of [
    ["AUTH_URL", { AUTH_URL: "https://app.example" }, {}],
    ["origin", {}, { origin: "https://app.example" }],
  ] as const
) {
  Deno.test(`O4: ${how} pins the origin whatever Host says`, async () => {
    await withEnvironment({ AUTH_SECRET: SECRET, ...environment }, async () => {
      await using app = await testApp({ providers: [passwordProvider()], ...overrides });
      const client = new Client(app, { host: "evil.example" });
      const { callbackUrl } = (await client.get("/auth/providers")).json().credentials;
      assertEquals(callbackUrl, "https://app.example/auth/callback/credentials");
      const answer = await client.signIn(ada);
      assertEquals(answer.headers.location, "https://app.example");
      assert(client.cookies.has("__Secure-authjs.session-token"));
      assertEquals((await sessionOf(client))?.user.name, "ada");
    });
  });
}

Deno.test("O4: a path in AUTH_URL does not move the routes, but says where users see them", async () => {
  await withEnvironment({ AUTH_SECRET: SECRET, AUTH_URL: "https://app.example/other" }, async () => {
    await using app = await testApp({ providers: [passwordProvider()] });
    const { callbackUrl } = (await app.inject("/auth/providers")).json().credentials;
    assertEquals(callbackUrl, "https://app.example/other/callback/credentials");
    assertEquals((await app.inject("/other/providers")).statusCode, 404);
  });
});

Deno.test("O4: an AUTH_URL that is no address is a boot error", async () => {
  for (const AUTH_URL of ["nonsense", "ftp://app.example", "https://user:pass@app.example"]) {
    await withEnvironment({ AUTH_SECRET: SECRET, AUTH_URL }, async () => {
      const error = await assertRejects(
        () => testApp({ providers: [passwordProvider()] }),
        FastifyAuthError,
        "https://app.example",
      );
      assertEquals(error.code, "FST_AUTHJS_ORIGIN_INVALID");
    });
  }
});

Deno.test("O5: an origin that is not configured is a warning that names the setting", async () => {
  await withEnvironment({ AUTH_SECRET: SECRET }, async () => {
    const { logger, lines } = captureLog();
    await using _app = await testApp({ providers: [passwordProvider()] }, { logger });
    const warning = lines.find((line) => line.level === 40);
    assertMatch(warning?.msg ?? "", /AUTH_URL.*trustHost/s);
  });
});

Deno.test("O5: the same in production is a boot error that names the setting", async () => {
  await withEnvironment({ AUTH_SECRET: SECRET, NODE_ENV: "production" }, async () => {
    const error = await assertRejects(() => testApp({ providers: [passwordProvider()] }), FastifyAuthError);
    assertEquals(error.code, "FST_AUTHJS_HOST_NOT_TRUSTED");
    assertMatch(error.message, /AUTH_URL.*AUTH_TRUST_HOST.*trustHost/s);
  });
});

for (
  const [what, environment, config] of [
    ["AUTH_TRUST_HOST", { AUTH_TRUST_HOST: "true" }, {}],
    ["trustHost", {}, { trustHost: true }],
    ["AUTH_URL", { AUTH_URL: "https://app.example" }, {}],
    ["VERCEL", { VERCEL: "1" }, {}],
  ] as const
) {
  Deno.test(`O5: ${what} lets it start in production, without a warning`, async () => {
    await withEnvironment({ AUTH_SECRET: SECRET, NODE_ENV: "production", ...environment }, async () => {
      const { logger, lines } = captureLog();
      await using _app = await testApp({ providers: [passwordProvider()], ...config }, { logger });
      assertEquals(lines.filter((line) => line.level >= 40), []);
    });
  });
}

Deno.test("O5: AUTH_TRUST_HOST=false does not trust, and trustHost: false without an origin is refused", async () => {
  const production = { AUTH_SECRET: SECRET, NODE_ENV: "production" };
  await withEnvironment({ ...production, AUTH_TRUST_HOST: "false" }, async () => {
    await assertRejects(() => testApp({ providers: [passwordProvider()] }), FastifyAuthError, "AUTH_URL");
  });
  await withEnvironment({ AUTH_SECRET: SECRET }, async () => {
    await assertRejects(
      () => testApp({ providers: [passwordProvider()], trustHost: false }),
      FastifyAuthError,
      "`trustHost` is false",
    );
  });
});

/** Speaks HTTP/2 to an application on a real socket. */
async function http2Request(
  session: http2.ClientHttp2Session,
  headers: Record<string, string>,
  body?: string,
): Promise<{ status: number; headers: http2.IncomingHttpHeaders; body: string }> {
  const stream = session.request(headers);
  if (body !== undefined) stream.write(body);
  stream.end();
  let answer: http2.IncomingHttpHeaders = {};
  stream.on("response", (received) => answer = received);
  const chunks: string[] = [];
  stream.setEncoding("utf8");
  for await (const chunk of stream) chunks.push(chunk);
  return { status: Number(answer[":status"]), headers: answer, body: chunks.join("") };
}

async function checkHttp2(app: FastifyInstance, config: FastifyAuthConfig, scheme: "http" | "https") {
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request, reply) => {
    const session = await getSession(request, config);
    return session?.user ? session.user : reply.code(401).send({ error: "no session" });
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as net.AddressInfo;
  using client = connectHttp2(`${scheme}://localhost:${port}`, { rejectUnauthorized: false });
  const get = (path: string, cookie = "") => http2Request(client, { ":path": path, ...(cookie && { cookie }) });
  const providers = JSON.parse((await get("/auth/providers")).body);
  assertEquals(
    providers.credentials.callbackUrl,
    `${scheme}://localhost:${port}/auth/callback/credentials`,
  );
  assertEquals((await get("/me")).status, 401);

  const csrf = await get("/auth/csrf");
  const jar = (csrf.headers["set-cookie"] ?? []).map((line) => line.split(";")[0]).join("; ");
  const signedIn = await http2Request(client, {
    ":path": "/auth/callback/credentials",
    ":method": "POST",
    "content-type": "application/x-www-form-urlencoded",
    cookie: jar,
  }, new URLSearchParams({ ...ada, csrfToken: JSON.parse(csrf.body).csrfToken }).toString());
  assertEquals(signedIn.status, 302);
  const cookies = signedIn.headers["set-cookie"] ?? [];
  const session = cookies.map((line) => line.split(";")[0] ?? "").find((pair) => pair.includes("session-token="));
  assertEquals(session?.startsWith("__Secure-"), scheme === "https");
  const me = await get("/me", session);
  assertEquals([me.status, JSON.parse(me.body).name], [200, "ada"]);
}

Deno.test("O6: HTTP/2 over TLS works as HTTP/1.1 does", async () => {
  const [key, cert] = await Promise.all(
    ["key", "cert"].map((name) => readFile(new URL(`../support/tls/${name}.pem`, import.meta.url))),
  );
  await using app = Fastify({ http2: true, https: { key: key!, cert: cert! } });
  await checkHttp2(app as unknown as FastifyInstance, testConfig(), "https");
});

Deno.test("O6: h2c works as HTTP/1.1 does", async () => {
  await using app = Fastify({ http2: true });
  await checkHttp2(app as unknown as FastifyInstance, testConfig(), "http");
});

/** Sends bytes as they are and gives the status line's code. */
function rawStatus(port: number, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(request));
    let answer = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => answer += chunk);
    socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])));
    socket.on("error", reject);
  });
}

Deno.test("O7: a malformed, empty, missing or path-carrying Host is a 400 before anything runs", async () => {
  let authorized = 0;
  await using app = await testApp(testConfig({ providers: [passwordProvider(() => authorized++)] }));
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as net.AddressInfo;
  const hosts = [
    "a b",
    "",
    "x/auth/y?",
    "user@app.example",
    "app.example:99999",
    "a,b",
    "[::1",
    "a\\b",
    "a%2fb",
    "?",
    "#",
  ];
  for (const path of ["/auth/providers", "/auth/session", "/auth/signin"]) {
    for (const host of hosts) {
      const status = await rawStatus(
        port,
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      assertEquals(status, 400, `Host: ${JSON.stringify(host)} on ${path}`);
    }
    assertEquals(await rawStatus(port, `GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`), 400);
    assertEquals(await rawStatus(port, `GET ${path} HTTP/1.0\r\n\r\n`), 400);
  }
  for (const host of ["localhost", "127.0.0.1:1", "[::1]:80", "my_service:3000", "xn--bcher-kva.example"]) {
    const request = `GET /auth/providers HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    assertEquals(await rawStatus(port, request), 200, host);
  }
  assertEquals(authorized, 0);
});

Deno.test("O7: with a malformed Host there is no session, and nothing throws", async () => {
  await using app = await testApp();
  const client = new Client(app);
  await client.signIn(ada);
  const answer = await client.get("/me", { headers: { host: "a b" } });
  assertEquals([answer.statusCode, answer.json().session], [200, null]);
});

Deno.test("O9: a trusted proxy may name the scheme in either case, or as that of a WebSocket", async () => {
  await using app = await testApp(testConfig(), { trustProxy: true });
  const schemes = {
    HTTPS: "https",
    Https: "https",
    wss: "https",
    WSS: "https",
    "http, wss": "https",
    ws: "http",
    WS: "http",
    HTTP: "http",
  };
  for (const [proto, scheme] of Object.entries(schemes)) {
    const client = new Client(app, { host: "app.example", "x-forwarded-proto": proto });
    const providers = await client.get("/auth/providers");
    assertEquals(
      providers.json().credentials.callbackUrl,
      `${scheme}://app.example/auth/callback/credentials`,
      proto,
    );
    await client.signIn(ada);
    assertEquals(client.cookies.has("__Secure-authjs.session-token"), scheme === "https", proto);
    assertEquals((await sessionOf(client))?.user.name, "ada", proto);
  }
  for (const proto of ["ftp", "httpss", "constructor", "wss:", "on"]) {
    const answer = await app.inject({ url: "/auth/csrf", headers: { "x-forwarded-proto": proto } as never });
    assertEquals(answer.statusCode, 400, proto);
    assertStringIncludes(answer.json().message, "X-Forwarded-Proto", "not the host, which is right");
  }
});

/** The callback URL that a request with these headers is told. */
async function callbackUrlFor(app: FastifyInstance, headers: Record<string, string>): Promise<string> {
  const answer = await app.inject({ url: "/auth/providers", headers });
  return answer.statusCode === 200 ? answer.json().credentials.callbackUrl : answer.json().code;
}

Deno.test("O10: :authority decides over a Host header, and a trusted proxy over both", async () => {
  const both = { ":authority": "front.example", host: "other.example" };
  const forwarded = { ...both, "x-forwarded-host": "app.example" };
  // What the proxy was asked for may be in Host as well.
  const same = { ...forwarded, host: "app.example" };
  const front = "http://front.example/auth/callback/credentials";
  const app = "http://app.example/auth/callback/credentials";
  await using direct = await testApp();
  await using behind = await testApp(testConfig(), { trustProxy: "127.0.0.1" });
  await using beside = await testApp(testConfig(), { trustProxy: "10.0.0.1" });
  for (
    const [instance, headers, expected] of [
      [direct, both, front],
      [direct, forwarded, front],
      [direct, same, front],
      [behind, both, front],
      [behind, forwarded, app],
      [behind, same, app],
      [beside, both, front],
      [beside, forwarded, front],
      [beside, same, front],
      [direct, { ...both, ":authority": "" }, "FST_AUTHJS_HOST_INVALID"],
      [direct, { ...both, ":authority": "user@front.example" }, "FST_AUTHJS_HOST_INVALID"],
    ] as const
  ) {
    assertEquals(await callbackUrlFor(instance, headers), expected, JSON.stringify(headers));
  }
});

Deno.test("O10: the same over HTTP/2, for routes and for sessions", async () => {
  const config = testConfig();
  await using app = Fastify({ http2: true }) as unknown as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as net.AddressInfo;
  using client = connectHttp2(`http://127.0.0.1:${port}`);
  const headers = { ":authority": "front.example", host: "other.example" };
  const providers = await http2Request(client, { ":path": "/auth/providers", ...headers });
  const { callbackUrl } = JSON.parse(providers.body).credentials;
  assertEquals(callbackUrl, "http://front.example/auth/callback/credentials");
  const invalid = { ...headers, host: "not a host" };
  assertEquals((await http2Request(client, { ":path": "/auth/csrf", ...invalid })).status, 200);
  assertEquals((await http2Request(client, { ":path": "/me", ...headers })).body, '{"session":null}');
});

for (
  const [how, settings] of [["from the request", {}], ["pinned", { origin: "http://localhost" }]] as const
) {
  Deno.test(`O11: two Host headers are a 400, with the origin ${how}`, async () => {
    await using app = await testApp(testConfig(settings));
    await app.listen({ port: 0, host: "127.0.0.1" });
    const { port } = app.server.address() as net.AddressInfo;
    for (const path of ["/auth/csrf", "/auth/session", "/auth/signin"]) {
      for (const second of ["b.example", "a.example", ""]) {
        const lines = `Host: a.example\r\nhOsT: ${second}\r\nConnection: close`;
        assertEquals(await rawStatus(port, `GET ${path} HTTP/1.1\r\n${lines}\r\n\r\n`), 400, path);
      }
      const answer = await app.inject({ url: path, headers: { host: ["a.example", "b.example"] } as never });
      assertEquals([answer.statusCode, answer.json().code], [400, "FST_AUTHJS_HOST_INVALID"], path);
    }
  });
}

Deno.test("O11: with two Host headers there is no session", async () => {
  await using app = await testApp();
  const client = new Client(app);
  await client.signIn(ada);
  assertEquals((await sessionOf(client))?.user.name, "ada");
  const answer = await client.get("/me", { headers: { host: ["localhost", "localhost"] as never } });
  assertEquals(answer.json().session, null);
});

Deno.test('O8: AUTH_URL="" is as if unset', async () => {
  await withEnvironment(
    { AUTH_SECRET: SECRET, AUTH_URL: "", AUTH_TRUST_HOST: "true", NODE_ENV: "production" },
    async () => {
      await using app = await testApp({ providers: [passwordProvider()] });
      const { callbackUrl } = (await app.inject("/auth/providers")).json().credentials;
      assertEquals(callbackUrl, "http://localhost/auth/callback/credentials");
    },
  );
});
