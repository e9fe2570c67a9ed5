/** The contract's set-up rules, routes and patterns, as a user would write them. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import {
  AuthError,
  CredentialsSignin,
  customFetch,
  FastifyAuth,
  type FastifyAuthConfig,
  getSession,
  type Session,
} from "fastify-authjs";
import Auth0 from "fastify-authjs/providers/auth0";
import GitHub from "fastify-authjs/providers/github";
import Resend from "fastify-authjs/providers/resend";
import type { AddressInfo } from "node:net";
import { attemptsOf } from "../support/attempts.ts";
import { captureLog, passwordProvider, SECRET, testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { withEnvironment } from "../support/environment.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";

const ada = { username: "ada", password: "open" };

/** A typed application declares the property itself; the package augments nothing. */
type SessionReply = FastifyReply & { session: Session | null };

Deno.test("section 1: the plugin is asynchronous and registered with one call and a prefix", async () => {
  const plugin = FastifyAuth(testConfig());
  assertEquals(plugin.constructor.name, "AsyncFunction");
  await using app = Fastify();
  await app.register(plugin, { prefix: "/auth" });
  assertEquals((await app.inject("/auth/providers")).statusCode, 200);
});

Deno.test("section 1: AuthError, CredentialsSignin and customFetch are core's own", () => {
  assert(new CredentialsSignin() instanceof AuthError);
  assertEquals(typeof customFetch, "symbol");
});

Deno.test("section 4.2: every route of core is served under the prefix", async () => {
  await using app = await testApp(testConfig({
    adapter: memoryAdapter(),
    session: { strategy: "jwt" },
    providers: [
      passwordProvider(),
      GitHub({ clientId: "id", clientSecret: "secret" }),
      Resend({ apiKey: "k" }),
    ],
  }));
  const client = new Client(app);
  const status = async (url: string) => (await client.get(url)).statusCode;
  for (const page of ["signin", "signout", "error", "verify-request"]) {
    const answer = await client.get(`/auth/${page}`);
    assertMatch(String(answer.headers["content-type"]), /^text\/html; charset=utf-8/, page);
  }
  assertEquals(await status("/auth/session"), 200);
  assertEquals((await client.get("/auth/session")).body, "null");
  assertEquals(Object.keys((await client.get("/auth/providers")).json()), [
    "credentials",
    "github",
    "resend",
  ]);
  const csrfToken = await client.csrfToken();
  assertMatch(csrfToken, /^[0-9a-f]{64}$/);

  const toProvider = await client.post("/auth/signin/github", { csrfToken });
  const authorization = new URL(String(toProvider.headers.location));
  assertEquals(authorization.origin + authorization.pathname, "https://github.com/login/oauth/authorize");
  assertEquals(authorization.searchParams.get("redirect_uri"), "http://localhost/auth/callback/github");
  assertEquals(
    (await client.post("/auth/signin", { csrfToken })).headers.location,
    "http://localhost/auth/signin",
  );

  assertEquals((await client.post("/auth/callback/credentials", { ...ada, csrfToken })).statusCode, 302);
  const update = await client.request("POST", "/auth/session", {
    json: { csrfToken, data: { theme: "dark" } },
  });
  assertEquals(update.json().user.name, "ada");
  assertEquals((await client.post("/auth/signout", { csrfToken })).statusCode, 302);
  assertEquals((await client.get("/auth/session")).body, "null");
});

Deno.test("section 5.2: sign-in and sign-out need the CSRF token in the body", async () => {
  await using app = await testApp();
  const client = new Client(app);
  await client.signIn(ada);
  const out = await client.post("/auth/signout", {});
  assertStringIncludes(String(out.headers.location), "error=MissingCSRF");
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
  const other = new Client(app);
  const signIn = await other.post("/auth/callback/credentials", ada);
  assertStringIncludes(String(signIn.headers.location), "error=MissingCSRF");
});

Deno.test("section 4.2: signin?error=SessionRequired says what is the matter", async () => {
  await using app = await testApp();
  const page = await app.inject("/auth/signin?error=SessionRequired");
  assertEquals(page.statusCode, 200);
  assertStringIncludes(page.body, "Please sign in to access this page.");
});

Deno.test("the error page tells of a server error without being one", async () => {
  await using app = await testApp();
  for (
    const [error, status] of [["Configuration", 200], ["AccessDenied", 403], ["Verification", 403], [
      "x",
      200,
    ]]
  ) {
    const page = await app.inject(`/auth/error?error=${error}`);
    assertEquals([error, page.statusCode], [error, status]);
    assertMatch(String(page.headers["content-type"]), /^text\/html/);
  }
});

/** The pattern of section 5.6, to the letter. */
function authenticateBy(config: FastifyAuthConfig) {
  return async (request: FastifyRequest, reply: SessionReply) => {
    reply.session ??= await getSession(request, config);
    if (!reply.session?.user) {
      return reply.redirect("/auth/signin?error=SessionRequired");
    }
  };
}

Deno.test("section 5.6 and 5.7: the pattern protects a route and a whole instance", async () => {
  const config = testConfig();
  const authenticate = authenticateBy(config);
  await using app = Fastify();
  app.decorateReply("session", null);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/open", () => "open");
  app.get(
    "/one",
    { preHandler: [authenticate as never] },
    (_request, reply) => (reply as SessionReply).session?.user,
  );
  await app.register((instance, _options, done) => {
    instance.addHook("preHandler", authenticate as never);
    instance.get("/", (_request, reply) => (reply as SessionReply).session?.user);
    done();
  }, { prefix: "/all" });

  const client = new Client(app as FastifyInstance);
  for (const path of ["/one", "/all"]) {
    const answer = await client.get(path);
    assertEquals([answer.statusCode, answer.headers.location], [302, "/auth/signin?error=SessionRequired"]);
  }
  assertEquals((await client.get("/open")).body, "open");
  await client.signIn(ada);
  for (const path of ["/one", "/all"]) assertEquals((await client.get(path)).json().name, "ada");
});

Deno.test("section 5.8: a global hook exposes the session to every route", async () => {
  const config = testConfig();
  await using app = Fastify();
  app.decorateReply("session", null);
  app.addHook("preHandler", async (request, reply) => {
    (reply as SessionReply).session = await getSession(request, config);
  });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/who", (_request, reply) => ({ name: (reply as SessionReply).session?.user?.name ?? null }));
  const client = new Client(app as FastifyInstance);
  assertEquals((await client.get("/who")).json(), { name: null });
  await client.signIn(ada);
  const [own, other] = await Promise.all([client.get("/who"), app.inject("/who")]);
  assertEquals([own.json(), other.json()], [{ name: "ada" }, { name: null }]);
});

Deno.test("section 1.4: it works over a real HTTP/1.1 socket", async () => {
  await using app = await testApp();
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  const csrf = await fetch(`${origin}/auth/csrf`);
  const { csrfToken } = await csrf.json();
  const jar = (response: Response) => response.headers.getSetCookie().map((line) => line.split(";")[0]).join("; ");
  const signedIn = await fetch(`${origin}/auth/callback/credentials`, {
    method: "POST",
    redirect: "manual",
    headers: { cookie: jar(csrf) },
    body: new URLSearchParams({ ...ada, csrfToken }),
  });
  await signedIn.body?.cancel();
  assertEquals([signedIn.status, signedIn.headers.get("location")], [302, `http://127.0.0.1:${port}`]);
  const me = await fetch(`${origin}/me`, { headers: { cookie: jar(signedIn) } });
  assertEquals((await me.json()).session.user.name, "ada");
});

Deno.test("AUTH_<PROVIDER>_ID, _SECRET, _ISSUER and _KEY complete the providers, and are read once", async () => {
  const environment = {
    AUTH_SECRET: SECRET,
    AUTH_TRUST_HOST: "true",
    AUTH_GITHUB_ID: "github-id",
    AUTH_GITHUB_SECRET: "github-secret",
    AUTH_AUTH0_ID: "auth0-id",
    AUTH_AUTH0_SECRET: "auth0-secret",
    AUTH_AUTH0_ISSUER: "https://issuer.example",
    AUTH_RESEND_KEY: "resend-key",
  };
  const asked: string[] = [];
  const discover = (input: RequestInfo | URL) => {
    asked.push(String(input));
    return Promise.resolve(Response.json({
      issuer: "https://issuer.example/",
      authorization_endpoint: "https://issuer.example/authorize",
    }));
  };
  const config: FastifyAuthConfig = {
    adapter: memoryAdapter(),
    session: { strategy: "jwt" },
    providers: [GitHub, Auth0({ [customFetch]: discover } as never), Resend],
  };
  await using app = await withEnvironment(environment, () => testApp(config));
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  const authorization = async (id: string) =>
    new URL(String((await client.post(`/auth/signin/${id}`, { csrfToken })).headers.location)).searchParams;
  assertEquals((await authorization("github")).get("client_id"), "github-id");
  await authorization("auth0");
  assertEquals(asked, ["https://issuer.example/.well-known/openid-configuration"]);
});

Deno.test("AUTH_REDIRECT_PROXY_URL adds `state` and sends the proxy's callback URL", async () => {
  const AUTH_REDIRECT_PROXY_URL = "https://proxy.example/auth";
  await withEnvironment({ AUTH_SECRET: SECRET, AUTH_TRUST_HOST: "1", AUTH_REDIRECT_PROXY_URL }, async () => {
    const github = GitHub({ clientId: "id", clientSecret: "secret", checks: ["pkce"] });
    await using app = await testApp({ providers: [github] });
    const client = new Client(app);
    const answer = await client.post("/auth/signin/github", { csrfToken: await client.csrfToken() });
    const { searchParams } = new URL(String(answer.headers.location));
    assertEquals(searchParams.get("redirect_uri"), "https://proxy.example/auth/callback/github");
    assert(searchParams.get("state"), "state is added to the checks");
    assertEquals(attemptsOf(client).length, 1);
  });
});

Deno.test("a wrong password is a line in the log, without a stack and without the password", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ debug: true }), { logger });
  const client = new Client(app);
  const answer = await client.signIn({ username: "ada", password: "hunter2-wrong" });
  assertStringIncludes(String(answer.headers.location), "error=CredentialsSignin&code=credentials");
  assertEquals(lines.filter((line) => line.level >= 40), []);
  const line = lines.find((each) => each.level === 30 && JSON.stringify(each).includes("CredentialsSignin"));
  assert(line, "it is logged");
  assert(!JSON.stringify(lines).includes("hunter2-wrong") && !JSON.stringify(line).includes("at "));
});

Deno.test("a real fault is an error in the log, with its stack", async () => {
  const { logger, lines } = captureLog();
  const failing = passwordProvider(() => {
    throw new Error("the directory is down");
  });
  await using app = await testApp(testConfig({ providers: [failing] }), { logger });
  const answer = await new Client(app).signIn(ada);
  assertStringIncludes(String(answer.headers.location), "error=Configuration");
  const error = lines.find((line) => line.level === 50);
  assertStringIncludes(JSON.stringify(error), "the directory is down");
  assertStringIncludes(JSON.stringify(error), "contract_test");
});

Deno.test("an error that is the cause of its own cause is logged a few causes deep", async () => {
  const { logger, lines } = captureLog();
  const failing = passwordProvider(() => {
    const error = new Error("the directory is down");
    error.cause = new Error("its cable was cut", { cause: error });
    throw error;
  });
  await using app = await testApp(testConfig({ providers: [failing] }), { logger });
  const answer = await new Client(app).signIn(ada);
  assertStringIncludes(String(answer.headers.location), "error=Configuration");
  const error = lines.find((line) => line.level === 50)!;
  let depth = 0;
  for (let cause = error.authjs as { cause?: unknown } | undefined; cause; cause = cause.cause as object) {
    depth++;
  }
  assertEquals(depth, 5, JSON.stringify(error));
});

Deno.test("the caller's own logger replaces Fastify's", async () => {
  const errors: Error[] = [];
  await using app = await testApp(testConfig({ logger: { error: (error) => errors.push(error) } }));
  await new Client(app).signIn({ username: "ada", password: "wrong" });
  assertEquals(errors.map((error) => (error as AuthError).type), ["CredentialsSignin"]);
});
