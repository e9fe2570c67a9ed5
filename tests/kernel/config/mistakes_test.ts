/** Usual mistakes: each stops the boot or is logged once, with what to change. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import {
  customFetch,
  FastifyAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  memoryStore,
  requireSession,
  type Session,
} from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import Google from "fastify-authjs/providers/google";
import Keycloak from "fastify-authjs/providers/keycloak";
import Resend from "fastify-authjs/providers/resend";
import { once } from "node:events";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { captureLog, type LogLine, passwordProvider, SECRET, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { connectHttp2 } from "../../support/http2_client.ts";
import { withEnvironment } from "../../support/environment.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const ada = { username: "ada", password: "open" };

/** An application with its log. */
async function logged(overrides: Partial<FastifyAuthConfig> = {}, options: { trustProxy?: boolean } = {}) {
  const { logger, lines } = captureLog();
  const app = await testApp(testConfig(overrides), { logger, ...options });
  return { app, lines, client: new Client(app) };
}

/** The one warning with a code. */
function only(lines: readonly LogLine[], code: string): string {
  const found = lines.filter((line) => line.code === code);
  assertEquals(found.map(({ level }) => level), [40], code);
  return found[0]!.msg;
}

function none(lines: readonly LogLine[], code: string): void {
  assertEquals(lines.filter((line) => line.code === code), []);
}

async function refused(overrides: Partial<FastifyAuthConfig>): Promise<FastifyAuthError> {
  return await assertRejects(() => testApp(testConfig(overrides)), FastifyAuthError);
}

const CREDENTIALS = "FST_AUTHJS_WARN_CREDENTIALS";

Deno.test("a provider without client id or secret is named at boot, with its variables", async () => {
  const { app, lines } = await logged({ providers: [GitHub] });
  await using _app = app;
  assertMatch(
    only(lines, CREDENTIALS),
    /"github" has no client id and no client secret.*AUTH_GITHUB_ID.*AUTH_GITHUB_SECRET/,
  );
});

Deno.test("a provider with an id of its own is named with the variables of its module, which core reads", () =>
  withEnvironment({ AUTH_GITHUB_ID: "id" }, async () => {
    const gone = () => Promise.resolve(new Response("not here", { status: 404 }));
    const keycloak = Keycloak({
      id: "staff",
      clientId: "id",
      clientSecret: "secret",
      issuer: "https://idp.example",
      [customFetch]: gone,
    } as never);
    const { app, client, lines } = await logged({ providers: [GitHub({ id: "github-2" }), keycloak] });
    await using _app = app;
    assertMatch(only(lines, CREDENTIALS), /"github-2" has no client secret.*set AUTH_GITHUB_SECRET /);
    await client.post("/auth/signin/staff", { csrfToken: await client.csrfToken() });
    assertMatch(lines.find(({ msg }) => msg.includes("404"))!.msg, /"staff".*AUTH_KEYCLOAK_ISSUER/);
    const { message } = await refused({ providers: [Keycloak({ id: "staff", issuer: "idp.example" })] });
    assertMatch(message, /"staff".*AUTH_KEYCLOAK_ISSUER/);
    const mail = await logged({
      adapter: memoryAdapter(),
      session: { strategy: "jwt" },
      providers: [Resend({ id: "letters", from: "a@b.example" })],
    });
    await using _mail = mail.app;
    assertMatch(only(mail.lines, CREDENTIALS), /"letters" has no API key.*AUTH_RESEND_KEY/);
  }));

Deno.test("a template that became the text undefined is named too, and an API key of an e-mail provider", async () => {
  const { app, lines } = await logged({
    adapter: memoryAdapter(),
    session: { strategy: "jwt" },
    providers: [GitHub({ clientId: "undefined", clientSecret: "x" }), Resend({ from: "a@b.example" })],
  });
  await using _app = app;
  const messages = lines.filter(({ code }) => code === CREDENTIALS).map(({ msg }) => msg);
  assertEquals(messages.length, 2);
  assertMatch(messages[0]!, /"github" has no client id, so.*AUTH_GITHUB_ID/);
  assertMatch(messages[1]!, /"resend" has no API key.*AUTH_RESEND_KEY/);
});

Deno.test("a variable without a value, as files of variables have it, is no client id", () =>
  withEnvironment({ AUTH_GITHUB_ID: "", AUTH_GITHUB_SECRET: "" }, async () => {
    for (const provider of [GitHub, GitHub({ clientId: "", clientSecret: "" })]) {
      const { app, lines } = await logged({ providers: [provider] });
      await using _app = app;
      assertMatch(only(lines, CREDENTIALS), /no client id and no client secret/);
    }
  }));

Deno.test("a session cookie that visitors of other sites do not bring along is said at boot", async () => {
  const withSameSite = (sameSite: unknown) => logged({ cookies: { sessionToken: { options: { sameSite } } } } as never);
  for (const sameSite of ["strict", "Strict", true]) {
    const { app, lines } = await withSameSite(sameSite);
    await using _app = app;
    await app.ready();
    assertMatch(
      only(lines, "FST_AUTHJS_WARN_COOKIE"),
      /`cookies\.sessionToken`.*strict.*looks signed out.*"lax"/,
    );
  }
  for (const sameSite of ["lax", undefined]) {
    const { app, lines } = await withSameSite(sameSite);
    await using _app = app;
    await app.ready();
    none(lines, "FST_AUTHJS_WARN_COOKIE");
  }
});

Deno.test("a client without a secret that says so is no mistake, nor is one with both", async () => {
  const { app, lines } = await logged({
    providers: [
      GitHub({ clientId: "id", client: { token_endpoint_auth_method: "none" } }),
      Keycloak({ clientId: "id", clientSecret: "s", issuer: "https://idp.example" }),
    ],
  });
  await using _app = app;
  none(lines, CREDENTIALS);
});

for (
  const [what, provider, named] of [
    ["undefined", undefined, "is undefined"],
    ["a name", "github", 'is "github"'],
    ["a module", { default: GitHub }, "is a module, which is no provider"],
  ] as const
) {
  Deno.test(`a provider that is ${what} stops the boot, with how to import one`, async () => {
    const { code, message } = await refused({ providers: [GitHub, provider as never] });
    assertEquals(code, "FST_AUTHJS_PROVIDER_INVALID");
    assertStringIncludes(message, `\`providers[1]\` ${named}`);
    assertStringIncludes(message, "fastify-authjs/providers/github");
  });
}

Deno.test("an issuer without its scheme stops the boot, with the variable that sets it", async () => {
  const environment = { AUTH_KEYCLOAK_ISSUER: "idp.example/realms/staff" };
  await withEnvironment(environment, async () => {
    const { code, message } = await refused({ providers: [Keycloak] });
    assertEquals(code, "FST_AUTHJS_PROVIDER_INVALID");
    assertMatch(message, /"keycloak" is "idp.example\/realms\/staff".*AUTH_KEYCLOAK_ISSUER/);
    assertStringIncludes(message, '"https://idp.example/realms/staff"');
  });
});

Deno.test("an OpenID Provider without an issuer stops the boot, with the variable that sets it", async () => {
  const providers = [Keycloak({ id: "staff", clientId: "id", clientSecret: "s" })];
  assertMatch(
    (await refused({ providers })).message,
    /"keycloak" is missing.*Set AUTH_KEYCLOAK_ISSUER \(or `issuer`\)/,
  );
});

Deno.test("an issuer that is only compared may be any text", async () => {
  const oidc = {
    id: "idp",
    name: "IdP",
    type: "oidc" as const,
    clientId: "id",
    clientSecret: "s",
    issuer: "idp.example",
    authorization: "https://idp.example/authorize",
    token: "https://idp.example/token",
  };
  const { app } = await logged({ providers: [oidc] });
  await app.close();
  const { message } = await refused({ providers: [{ ...oidc, authorization: undefined }] });
  assertStringIncludes(message, '`issuer` of the provider "idp"');
});

Deno.test("an address that was made of an unset option is named at boot", async () => {
  const { app, lines } = await logged({
    providers: [Keycloak({ clientId: "id", clientSecret: "s", issuer: `https://undefined/realms/staff` })],
  });
  await using _app = app;
  assertMatch(only(lines, "FST_AUTHJS_WARN_PROVIDER"), /"undefined" in it.*AUTH_KEYCLOAK_ISSUER/);
});

Deno.test("an issuer that answers 404 is logged with its address and the variable that sets it", async () => {
  const gone = () => Promise.resolve(new Response("not here", { status: 404 }));
  const keycloak = Keycloak({
    clientId: "id",
    clientSecret: "secret",
    issuer: "https://idp.example/realms/stuff",
    [customFetch]: gone,
  } as never);
  const { app, client, lines } = await logged({ providers: [keycloak] });
  await using _app = app;
  await client.post("/auth/signin/keycloak", { csrfToken: await client.csrfToken() });
  const line = lines.find(({ msg }) => msg.includes("404"))!;
  assertStringIncludes(line.msg, "https://idp.example/realms/stuff/.well-known/openid-configuration");
  assertMatch(line.msg, /"keycloak".*AUTH_KEYCLOAK_ISSUER/);
});

const production = { NODE_ENV: "production", AUTH_URL: "https://app.example" };
const http = () => Keycloak({ clientId: "id", clientSecret: "s", issuer: "http://keycloak:8080" });

Deno.test("an http issuer in production is refused, and the message names the option that allows it", () =>
  withEnvironment(production, async () => {
    assertStringIncludes((await refused({ providers: [http()] })).message, 'insecureProviders: ["keycloak"]');
    const { app, lines } = await logged({ providers: [http()], insecureProviders: ["keycloak"] });
    await using _app = app;
    assertStringIncludes(only(lines, "FST_AUTHJS_WARN_TLS"), "http://keycloak:8080");
  }));

Deno.test("insecureProviders allows requests of the provider that it names, and of no other", () =>
  withEnvironment(production, async () => {
    const asked: string[] = [];
    const discover = (input: string | URL | Request) => {
      asked.push(String(input));
      return Promise.resolve(Response.json({
        issuer: "http://keycloak:8080",
        authorization_endpoint: "http://keycloak:8080/authorize",
        token_endpoint: "http://keycloak:8080/token",
      }));
    };
    const keycloak = { ...http(), [customFetch]: discover } as never;
    const { app, client } = await logged({ providers: [keycloak], insecureProviders: ["keycloak"] });
    await using _app = app;
    const answer = await client.post("/auth/signin/keycloak", { csrfToken: await client.csrfToken() });
    assertMatch(String(answer.headers.location), /^http:\/\/keycloak:8080\/authorize\?/);
    assertEquals(asked.length, 1);
    const other = Keycloak(
      { id: "other", clientId: "id", clientSecret: "s", issuer: "http://other.example" } as never,
    );
    const { message } = await refused({ providers: [http(), other], insecureProviders: ["keycloak"] });
    assertStringIncludes(message, '"other" is reached without TLS');
  }));

Deno.test("insecureProviders that is no list of providers stops the boot", async () => {
  for (const insecureProviders of [["keycloack"], "keycloak", true]) {
    const { code, message } = await refused({ insecureProviders: insecureProviders as never });
    assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
    assertStringIncludes(message, "`insecureProviders`");
  }
});

const ORIGIN = "FST_AUTHJS_WARN_ORIGIN";

Deno.test("headers of a proxy that is not trusted are logged once, with what to set", async () => {
  const { app, lines } = await logged();
  await using _app = app;
  for (let i = 0; i < 3; i++) {
    await app.inject({ url: "/auth/signin", headers: { host: "app.example", "x-forwarded-proto": "https" } });
  }
  assertMatch(only(lines, ORIGIN), /https:\/\/app\.example.*http:\/\/app\.example.*AUTH_URL=.*trustProxy/);
});

Deno.test("an origin without TLS is said at boot in production, unless it is this machine", async () => {
  for (const from of ["origin", "AUTH_URL"]) {
    const url = "http://app.example/auth";
    const environment = { NODE_ENV: "production", ...(from === "AUTH_URL" && { AUTH_URL: url }) };
    await withEnvironment(environment, async () => {
      const { app, lines } = await logged(from === "origin" ? { origin: url } : {});
      await using _app = app;
      assertMatch(
        only(lines, ORIGIN),
        new RegExp(`${from}\\W* is http://app\\.example .*https://app\\.example`),
      );
    });
  }
  const fine = ["https://app.example", "http://localhost:3000", "http://127.0.0.1", "http://[::1]:3000"];
  for (
    const [NODE_ENV, origin] of [...fine.map((url) => ["production", url]), ["test", "http://app.example"]]
  ) {
    await withEnvironment({ NODE_ENV: NODE_ENV! }, async () => {
      const { app, lines } = await logged({ origin: origin! });
      await using _app = app;
      none(lines, ORIGIN);
    });
  }
});

const CONTRADICTIONS: [what: string, origin: string, headers: Record<string, string>][] = [
  ["another host", "https://app.example", { host: "www.app.example" }],
  ["a page at a host of its own", "https://app.example", {
    host: "localhost:3000",
    referer: "http://localhost:3000/",
  }],
  ["another port", "http://localhost:3000", { host: "localhost:3001" }],
  ["another port by the proxy", "https://app.example", {
    host: "app.example:8443",
    "x-forwarded-proto": "https",
  }],
  ["a page over http", "https://app.example", {
    host: "app.example",
    referer: "http://app.example/auth/signin",
  }],
  ["https where http is set", "http://app.example", { host: "app.example", "x-forwarded-proto": "https" }],
  ["http at a loopback address", "https://localhost:3000", { host: "localhost:3000" }],
  ["Forwarded", "http://app.example", {
    host: "app.example",
    forwarded: 'for=1.2.3.4;proto=https;host="app.example"',
  }],
  ["a page of another origin", "https://app.example", {
    host: "app.example",
    "sec-fetch-site": "same-origin",
    referer: "https://www.app.example/signin",
  }],
];

for (const [what, origin, headers] of CONTRADICTIONS) {
  Deno.test(`an origin that requests contradict is logged once: ${what}`, async () => {
    const { app, lines } = await logged({ origin });
    await using _app = app;
    for (let i = 0; i < 2; i++) await app.inject({ url: "/auth/signin", headers });
    assertStringIncludes(only(lines, ORIGIN), `are made for ${origin}, by \`origin\``);
  });
}

const OF_PROXIES: [what: string, headers: Record<string, string>][] = [
  ["the name of an upstream", { host: "backend:3000" }],
  ["a name of a private network", { host: "app.prod.svc.cluster.local" }],
  ["the public name that a CDN has for its origin", {
    host: "abc.execute-api.example.com",
    via: "2.0 cdn.example",
  }],
  ["another name, and the address of the client", { host: "origin.example", "x-forwarded-for": "1.2.3.4" }],
  ["what a client made up", { host: "127.0.0.1:3001", "x-forwarded-host": "evil.example" }],
  ["http behind a proxy with TLS", { host: "app.example", "x-forwarded-proto": "http" }],
];

for (const [what, headers] of OF_PROXIES) {
  Deno.test(`a difference that a working proxy makes is no warning: ${what}`, async () => {
    const { app, lines } = await logged({ origin: "https://app.example" });
    await using _app = app;
    for (let i = 0; i < 2; i++) await app.inject({ url: "/auth/signin", headers });
    assertEquals(lines.filter(({ code }) => code === ORIGIN).map(({ level }) => level), [30]);
  });
}

Deno.test("a Host header that may be the proxy's own is an info, which the browser then settles", async () => {
  const { app, lines } = await logged({ origin: "https://app.example" });
  await using _app = app;
  for (let i = 0; i < 2; i++) await app.inject({ url: "/auth/signin", headers: { host: "127.0.0.1:3001" } });
  assertEquals(lines.filter(({ code }) => code === ORIGIN).map(({ level }) => level), [30]);
  const headers = {
    host: "127.0.0.1:3001",
    "sec-fetch-site": "same-origin",
    referer: "http://127.0.0.1:3001/",
  };
  await app.inject({ url: "/auth/signin", headers });
  assertEquals(lines.filter(({ code }) => code === ORIGIN).map(({ level }) => level), [30, 40]);
});

const AGREEMENTS: [what: string, origin: string | undefined, headers: Record<string, string>][] = [
  ["a proxy with TLS that passes the host on", "https://app.example", { host: "app.example" }],
  ["a proxy that says https", "https://app.example", { host: "app.example", "x-forwarded-proto": "https" }],
  ["a port that goes without saying", "https://app.example", {
    host: "app.example:443",
    "x-forwarded-proto": "https",
  }],
  ["a host of the proxy's own, and a browser that knows", "https://app.example", {
    host: "backend",
    "sec-fetch-site": "same-origin",
    origin: "https://app.example",
  }],
  ["no proxy", undefined, { host: "localhost:3000" }],
  ["a page of another site", undefined, {
    host: "app.example",
    "sec-fetch-site": "cross-site",
    referer: "https://other.example/",
  }],
];

for (const [what, origin, headers] of AGREEMENTS) {
  Deno.test(`an origin that requests agree with is not logged: ${what}`, async () => {
    const { app, lines } = await logged(origin === undefined ? {} : { origin });
    await using _app = app;
    await app.inject({ url: "/auth/signin", headers });
    none(lines, ORIGIN);
  });
}

Deno.test("over HTTP/2 `:authority` is compared", async () => {
  const { logger, lines } = captureLog();
  const app = Fastify({ http2: true, logger } as FastifyServerOptions) as FastifyInstance;
  await app.register(FastifyAuth(testConfig({ origin: "https://app.example" })), { prefix: "/auth" });
  try {
    using client = connectHttp2(await app.listen({ port: 0, host: "127.0.0.1" }));
    const visit = async (authority: string) => {
      const stream = client.request({ ":path": "/auth/signin", ":authority": authority });
      stream.resume();
      await once(stream, "end");
    };
    await visit("app.example");
    none(lines, ORIGIN);
    await visit("www.app.example");
    assertStringIncludes(only(lines, ORIGIN), "http");
  } finally {
    await app.close();
  }
});

Deno.test("a trusted proxy is not logged", async () => {
  const { app, lines } = await logged({}, { trustProxy: true });
  await using _app = app;
  await app.inject({ url: "/auth/signin", headers: { host: "app.example", "x-forwarded-proto": "https" } });
  none(lines, ORIGIN);
});

Deno.test("a form of the server's own page under another scheme gets a 403 that names AUTH_URL", async () => {
  const { app, client } = await logged({ origin: "https://app.example" });
  await using _app = app;
  const csrfToken = await client.csrfToken();
  const answer = await client.post("/auth/callback/credentials", { ...ada, csrfToken }, {
    origin: "http://app.example",
  });
  assertEquals(answer.json().code, "FST_AUTHJS_CROSS_SITE");
  assertStringIncludes(answer.json().message, "AUTH_URL=http://app.example");
});

Deno.test("a proxy that sends nothing is told by what browsers send", async () => {
  const { app, client, lines } = await logged();
  await using _app = app;
  const csrfToken = await client.csrfToken();
  const host = "127.0.0.1:3000";
  const post = (headers: Record<string, string>) =>
    client.post("/auth/callback/credentials", { ...ada, csrfToken }, { host, ...headers });
  // Over http browsers do not say whether a page is of the same origin.
  const refused = await post({ origin: "http://app.example:8080" });
  assertEquals(refused.statusCode, 403);
  assertStringIncludes(refused.json().message, "AUTH_URL=http://app.example:8080");
  await post({ origin: "https://app.example", "sec-fetch-site": "same-origin" });
  assertMatch(only(lines, ORIGIN), /A browser has a page of this server at https:\/\/app\.example/);
});

Deno.test("a page without a leading slash stops the boot", async () => {
  const { code, message } = await refused({ pages: { signIn: "signin" } });
  assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
  assertMatch(message, /`pages\.signIn` is "signin".*begins with "\/"/);
  const computed = await refused({ pages: { signIn: (() => "/login") as never } });
  assertMatch(computed.message, /`pages\.signIn` is a function, which leads nowhere/);
});

Deno.test("a plugin that is registered twice stops the boot", async () => {
  const config = testConfig();
  await using app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  const error = await assertRejects(
    async () => await app.register(FastifyAuth(config), { prefix: "/auth" }),
    FastifyAuthError,
  );
  assertEquals(error.code, "FST_AUTHJS_PREFIX_INVALID");
  assertStringIncludes(error.message, "registered there twice");
});

const OTHER = "FST_AUTHJS_WARN_CONFIG_OBJECT";

for (
  const [what, secret, says] of [
    ["of the same secret", SECRET, "by its own callbacks"],
    ["of another secret", "another-secret-of-at-least-32-characters", "have no session here"],
  ] as const
) {
  Deno.test(`a guard with another configuration object ${what} is logged once`, async () => {
    const { app, lines } = await logged();
    await using _app = app;
    app.get("/guarded", { onRequest: requireSession(testConfig({ secret })) }, () => "in");
    for (let i = 0; i < 2; i++) await app.inject("/guarded");
    assertStringIncludes(only(lines, OTHER), says);
  });
}

Deno.test("the mounted configuration is not logged, and neither is an application that mounts none", async () => {
  const { logger, lines } = captureLog();
  await using reader = Fastify({ logger });
  const config = testConfig();
  reader.get("/guarded", { onRequest: requireSession(config) }, () => "in");
  await reader.inject("/guarded");
  const mounted = await logged();
  await using app = mounted.app;
  await app.inject("/me");
  none([...lines, ...mounted.lines], OTHER);
});

const ROLES = "FST_AUTHJS_WARN_ROLES";

Deno.test("a guard with roles whose sessions carry none is logged once, with where it looks", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig();
  await using app = await testApp(config, { logger });
  app.get("/admin", { onRequest: requireSession(config, { roles: "admin" }) }, () => "in");
  const client = new Client(app);
  await client.get("/admin");
  none(lines, ROLES);
  await client.signIn(ada);
  for (let i = 0; i < 2; i++) assertEquals((await client.get("/admin")).statusCode, 403);
  assertMatch(only(lines, ROLES), /requireSession\(\).*session\.user\.role.*callbacks\.session/);
});

Deno.test("many guards with roles say it once", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig();
  await using app = await testApp(config, { logger });
  for (const url of ["/a", "/b"]) {
    app.get(url, { onRequest: requireSession(config, { roles: "admin" }) }, () => "in");
  }
  const client = new Client(app);
  await client.signIn(ada);
  for (const url of ["/a", "/b"]) assertEquals((await client.get(url)).statusCode, 403);
  only(lines, ROLES);
});

for (
  const [what, user, warned] of [
    ["an empty list", { roles: [] }, false],
    ["null", { role: null }, false],
    ["a number", { role: 7 }, true],
    ["objects", { roles: [{ name: "admin" }] }, true],
  ] as const
) {
  Deno.test(`a session whose roles are ${what} is ${warned ? "" : "not "}reported`, async () => {
    const { logger, lines } = captureLog();
    const session = ({ session }: { session: Session }) => ({
      ...session,
      user: { ...session.user, ...user },
    });
    const config = testConfig({ callbacks: { session: session as never } });
    await using app = await testApp(config, { logger });
    app.get("/admin", { onRequest: requireSession(config, { roles: "admin" }) }, () => "in");
    const client = new Client(app);
    await client.signIn(ada);
    assertEquals((await client.get("/admin")).statusCode, 403);
    assertEquals(lines.filter(({ code }) => code === ROLES).length, warned ? 1 : 0);
  });
}

Deno.test("a guard with roles does not complain of users without one, once it has seen a role", async () => {
  const { logger, lines } = captureLog();
  const session = ({ session }: { session: Session }) =>
    session.user?.name === "ada" ? { ...session, user: { ...session.user, role: "admin" } } : session;
  const config = testConfig({ callbacks: { session: session as never } });
  await using app = await testApp(config, { logger });
  app.get("/admin", { onRequest: requireSession(config, { roles: "admin" }) }, () => "in");
  for (const [username, status] of [["ada", 200], ["bob", 403]] as const) {
    const client = new Client(app);
    await client.signIn({ username, password: "open" });
    assertEquals((await client.get("/admin")).statusCode, status);
  }
  none(lines, ROLES);
});

const CALLBACK = "FST_AUTHJS_WARN_CALLBACK";

for (const name of ["session", "jwt", "signIn", "redirect"] as const) {
  for (const kind of ["at once", "later"]) {
    Deno.test(`callbacks.${name} that returns nothing ${kind} is logged once`, async () => {
      const callback = kind === "later" ? () => Promise.resolve(undefined) : () => undefined;
      const { app, client, lines } = await logged({ callbacks: { [name]: callback } as never });
      await using _app = app;
      await client.signIn(ada).catch(() => {});
      for (let i = 0; i < 2; i++) await client.get("/me");
      const message = only(lines, CALLBACK);
      assertStringIncludes(message, `\`callbacks.${name}\` returned undefined`);
      assertStringIncludes(message, "Return");
    });
  }
}

Deno.test("a redirect callback that returns no address leads to the origin, and is logged once", async () => {
  for (
    const [returned, what] of [[undefined, "undefined"], ["", "an empty text"], [null, "null"], [5, "number"]]
  ) {
    const { app, client, lines } = await logged({ callbacks: { redirect: () => returned as never } });
    await using _app = app;
    for (const answer of [await client.signIn(ada), await client.signOut()]) {
      assertEquals([answer.statusCode, answer.headers.location], [302, "http://localhost"]);
    }
    assertStringIncludes(
      only(lines, CALLBACK),
      `\`callbacks.redirect\` returned ${what}, so users are led to`,
    );
  }
  const redirect = ({ baseUrl }: { baseUrl: string }) => new URL("/home?a=ü", baseUrl) as never;
  const { app, client, lines } = await logged({ callbacks: { redirect } });
  await using _app = app;
  assertEquals((await client.signIn(ada)).headers.location, "http://localhost/home?a=%C3%BC");
  none(lines, CALLBACK);
});

Deno.test("a signIn callback that returns a URL object leads there, and lets nobody in", async () => {
  const { app, client, lines } = await logged({
    callbacks: { signIn: () => new URL("http://localhost/banned") as never },
  });
  await using _app = app;
  assertEquals((await client.signIn(ada)).headers.location, "http://localhost/banned");
  assertEquals((await client.get("/me")).json(), { session: null });
  none(lines, CALLBACK);
});

Deno.test("a session callback that leaves the user out is logged once", async () => {
  const { app, client, lines } = await logged({ callbacks: { session: () => ({ role: "admin" }) as never } });
  await using _app = app;
  await client.signIn(ada);
  for (let i = 0; i < 2; i++) assertEquals((await client.get("/me")).json(), { session: null });
  assertStringIncludes(only(lines, CALLBACK), "without `user`");
});

Deno.test("callbacks that return something, also null or false, are not logged", async () => {
  const { app, client, lines } = await logged({
    callbacks: { session: ({ session }) => session, jwt: () => null, signIn: () => false },
  });
  await using _app = app;
  await client.signIn(ada);
  await client.get("/me");
  none(lines, CALLBACK);
});

const CALLBACK_URL = "FST_AUTHJS_WARN_CALLBACK_URL";

Deno.test("a refused callbackUrl is logged once, with the origin and what to change", async () => {
  const { app, lines } = await logged();
  await using _app = app;
  for (let i = 0; i < 2; i++) {
    await app.inject("/auth/signin?callbackUrl=https%3A%2F%2Fspa.example%2Fhome%3Ftoken%3Dsecret");
  }
  const message = only(lines, CALLBACK_URL);
  assertMatch(message, /on https:\/\/spa\.example was refused.*callbacks\.redirect/);
  assert(!message.includes("secret"));
});

Deno.test("a callbackUrl that can be no address is logged; one that is allowed, or decided by a callback, is not", async () => {
  const invalid = await logged();
  await using _invalid = invalid.app;
  await invalid.app.inject("/auth/signin?callbackUrl=javascript%3Aalert(1)");
  assertStringIncludes(only(invalid.lines, CALLBACK_URL), "begins with");

  const own = await logged();
  await using _own = own.app;
  await own.app.inject("/auth/signin?callbackUrl=%2Fhome");
  await own.app.inject({ url: "/auth/signin?callbackUrl=http%3A%2F%2Flocalhost%2Fhome" });
  none(own.lines, CALLBACK_URL);

  const decided = await logged({ callbacks: { redirect: ({ baseUrl }) => baseUrl } });
  await using _decided = decided.app;
  await decided.app.inject("/auth/signin?callbackUrl=https%3A%2F%2Fspa.example");
  none(decided.lines, CALLBACK_URL);
});

/** An adapter whose tables were never created, as a query builder over SQLite tells of it. */
function withoutTables() {
  const query = (): never => {
    const driver = Object.assign(new Error("SQLITE_ERROR: no such table: account"), { code: "SQLITE_ERROR" });
    throw new Error('Failed query: select "id" from "account"', { cause: driver });
  };
  return { ...memoryAdapter(), getSessionAndUser: query, getUserByAccount: query, createUser: query };
}

Deno.test("tables that do not exist are the message of the log, and nobody is told to try again", async () => {
  const { app, client, lines } = await logged({
    adapter: withoutTables() as never,
    providers: [GitHub({ clientId: "id", clientSecret: "s" })],
  });
  await using _app = app;
  const headers = {
    cookie: "authjs.session-token=00000000-0000-4000-8000-000000000000",
    accept: "text/html",
  };
  const answer = await client.get("/auth/session", { headers });
  assertEquals(answer.statusCode, 503);
  assert(!/try again/i.test(answer.body), answer.body);
  const errors = lines.filter(({ level, authjs }) => level >= 50 && authjs !== undefined);
  assert(errors.length > 0);
  for (const { msg } of errors) {
    assertMatch(msg, /getSessionAndUser\(\): SQLITE_ERROR: no such table: account\. Create the tables/);
  }
});

Deno.test("the log has a line at boot with the mount, the origin and why, the strategy and the providers", () =>
  withEnvironment({ AUTH_URL: "https://app.example" }, async () => {
    const { app, lines } = await logged({ trustHost: undefined as never });
    await using _app = app;
    await app.ready();
    const boot = lines.filter(({ msg }) => msg.startsWith("FastifyAuth is mounted"));
    assertEquals(boot.map(({ level }) => level), [30]);
    assertStringIncludes(
      boot[0]!.msg,
      "at /auth; origin: https://app.example, by AUTH_URL; sessions: jwt; providers: credentials.",
    );
  }));

Deno.test("why the origin follows requests is in the line: trustHost, a variable, or neither", async () => {
  const cases: [Record<string, string>, Partial<FastifyAuthConfig>, string][] = [
    [{}, { trustHost: true }, "that of each request, by `trustHost`"],
    [{ AUTH_TRUST_HOST: "1" }, { trustHost: undefined as never }, "by AUTH_TRUST_HOST"],
    [{}, { trustHost: undefined as never }, "since AUTH_URL is not set"],
    [{ AUTH_URL: "https://a.example" }, { origin: "https://b.example" }, "https://b.example, by `origin`"],
  ];
  for (const [environment, config, expected] of cases) {
    await withEnvironment(environment, async () => {
      const { app, lines } = await logged(config);
      await using _app = app;
      await app.ready();
      assertStringIncludes(lines.find(({ msg }) => msg.startsWith("FastifyAuth is mounted"))!.msg, expected);
    });
  }
});

/** What the log has in development when the application is ready. */
const inDevelopment = (config: Partial<FastifyAuthConfig>) =>
  withEnvironment({ NODE_ENV: "development" }, async () => {
    const { app, lines } = await logged(config);
    await using _app = app;
    await app.ready();
    return lines;
  });

const isTable = ({ msg }: LogLine) => msg.startsWith("FastifyAuth, as it is set up:");

Deno.test("in development the log has a table with callback URLs, cookies and warnings, and no secret", async () => {
  const lines = await inDevelopment({
    origin: "https://app.example/api/auth",
    providers: [GitHub({ clientId: "the-id", clientSecret: "the-secret" }), Google, passwordProvider()],
    session: { maxAge: 7200 },
  });
  const [line, ...others] = lines.filter(isTable);
  assertEquals(others, []);
  assertEquals(line!.level, 30);
  for (
    const part of [
      "mount     /api/auth",
      "origin    https://app.example, by `origin`",
      "sessions  jwt: in an encrypted cookie, for 2 hours",
      "cookies   __Secure-authjs.session-token, __Host-authjs.callback-url, __Host-authjs.csrf-token, " +
      "__Host-authjs.state, __Host-authjs.last-used\n",
      "github (oauth), register https://app.example/api/auth/callback/github there, checks: pkce",
      "credentials (credentials)",
      'warning   The provider "google" has no client id',
    ]
  ) assertStringIncludes(line!.msg, part);
  assert(!JSON.stringify(line).includes("the-secret") && !JSON.stringify(line).includes(SECRET));
});

Deno.test("in development the table has the sign-out URLs to register at OpenID Providers, where they are used", async () => {
  const settings = { clientId: "the-id", clientSecret: "the-secret" };
  const oidc = { ...settings, id: "idp", name: "IdP", type: "oidc" as const, issuer: "https://idp.example" };
  const table = async (config: Partial<FastifyAuthConfig>) => {
    const lines = await inDevelopment({
      origin: "https://app.example/api/auth",
      providers: [oidc, GitHub(settings)],
      ...config,
    });
    return lines.find(isTable)!.msg.split("\n")
      .filter((line) => line.startsWith("  sign-out"));
  };
  const returns = "  sign-out  idp, register https://app.example/api/auth/signed-out there as post-logout redirect URI";
  const ends = "  sign-out  idp, register https://app.example/api/auth/backchannel-logout/idp there as " +
    "back-channel logout URI";
  const logout = {
    providerLogout: { signOut: false, backchannel: true },
    store: memoryStore(),
    revocable: true,
  };
  assertEquals(await table({}), []);
  assertEquals(await table({ providerLogout: true }), [returns]);
  assertEquals(await table(logout), [ends]);
  assertEquals(await table({ ...logout, providerLogout: { backchannel: true } }), [
    returns,
    ends,
  ]);
});

Deno.test("in production a provider without client id or secret stops the boot, elsewhere it is a warning", async () => {
  const settings = { origin: "https://app.example", adapter: undefined as never };
  const boot = (given: object, environment: Record<string, string>) =>
    withEnvironment(environment, async () => {
      const { logger, lines } = captureLog();
      const config = testConfig({ providers: [GitHub(given)], ...settings });
      const error = await testApp(config, { logger }).then(
        async (app) => void await app.close(),
        (error) => error,
      );
      return {
        code: error?.code,
        message: error?.message,
        warned: lines.some(({ msg }) => /has no client/.test(msg)),
      };
    });
  for (
    const given of [{}, { clientId: "id" }, { clientSecret: "secret" }, {
      clientId: "undefined",
      clientSecret: "",
    }]
  ) {
    const { code, message } = await boot(given, { NODE_ENV: "production" });
    assertEquals(code, "FST_AUTHJS_PROVIDER_INVALID", JSON.stringify(given));
    assertMatch(message, /has no client (?:id|secret).*AUTH_GITHUB_/);
    assertEquals(await boot(given, { NODE_ENV: "development" }), {
      code: undefined,
      message: undefined,
      warned: true,
    });
  }
  const public_ = { clientId: "id", client: { token_endpoint_auth_method: "none" } };
  assertEquals((await boot(public_, { NODE_ENV: "production" })).code, undefined);
});
