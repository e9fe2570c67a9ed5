/** Sign-in from forms on pages of the application, whose policy blocks redirects to other origins after a form. */
import { assertEquals, assertMatch } from "@std/assert";
import helmet from "@fastify/helmet";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { createAuth, FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { testApp, testConfig } from "../support/app.ts";
import { browserTest } from "../support/browser.ts";
import { type Answer, Client } from "../support/client.ts";

type Prepare = (app: FastifyInstance) => unknown;

const POLICY = "default-src 'self'; form-action 'self'";

/** What gives every page of an application a policy. */
const POLICIES: Record<string, Prepare> = {
  "helmet": (app) => app.register(helmet),
  "helmet with nonces": (app) => app.register(helmet, { enableCSPNonces: true }),
  "a policy that names the first origin of the provider": (app) =>
    app.register(helmet, {
      contentSecurityPolicy: { directives: { formAction: ["'self'", "http://127.0.0.1:*"] } },
    }),
  "an onSend hook": (app) =>
    app.addHook("onSend", (_request, reply, payload, done) => {
      reply.header("content-security-policy", POLICY);
      done(null, payload);
    }),
};

/** An authorization server whose login is at another origin, which sends everybody back. */
async function authorizationServer() {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, "http://127.0.0.1");
    const { port } = server.address() as AddressInfo;
    if (pathname === "/authorize") {
      return response.writeHead(302, { location: `http://localhost:${port}/login?${searchParams}` }).end();
    }
    if (pathname === "/login") {
      const back = new URL(searchParams.get("redirect_uri")!);
      back.search = new URLSearchParams({ code: "a-code", state: searchParams.get("state")! }).toString();
      return response.writeHead(302, { location: back.href }).end();
    }
    const body = pathname === "/token" ? { access_token: "a", token_type: "bearer" } : { id: "ada", name: "Ada" };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    provider: {
      id: "op",
      name: "OP",
      type: "oauth",
      clientId: "client",
      clientSecret: "secret",
      checks: ["state"],
      authorization: { url: `${origin}/authorize`, params: { scope: "profile" } },
      token: `${origin}/token`,
      userinfo: `${origin}/userinfo`,
      profile: (profile: { id: string; name: string }) => profile,
    } as unknown as FastifyAuthConfig["providers"][number],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An application with a form of its own at `/`. */
async function application(prepare: Prepare, provider: FastifyAuthConfig["providers"][number]) {
  const config = testConfig({ providers: [provider] });
  const app = Fastify({ forceCloseConnections: true }) as unknown as FastifyInstance;
  await prepare(app);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/", async (request, reply: FastifyReply) => {
    const session = await getSession(request, config);
    const csrf = await app.inject({ url: "/auth/csrf", headers: { cookie: request.headers.cookie ?? "" } });
    const hidden = `<input type="hidden" name="csrfToken" value="${csrf.json().csrfToken}">`;
    return reply.header("set-cookie", csrf.headers["set-cookie"] ?? []).type("text/html").send(
      `<!doctype html><title>Own</title><h1>Hello ${session?.user?.name ?? "nobody"}</h1>
<form method="post" action="/auth/signin/op">${hidden}<input type="hidden" name="callbackUrl" value="/"><button>In</button></form>
<form method="post" action="/auth/signout">${hidden}<button>Out</button></form>`,
    );
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return { app, origin, [Symbol.asyncDispose]: () => app.close() };
}

async function signInAndOut(page: Page, policies: string[], starts: string[]): Promise<void> {
  await using server = await authorizationServer();
  for (const name of policies) {
    await using app = await application(POLICIES[name]!, server.provider);
    const greeted = (whom: string) => page.waitForSelector(`h1:text-is("Hello ${whom}")`);
    for (const start of starts) {
      await page.goto(app.origin + start);
      await page.click('form[action$="/auth/signin/op"] button');
      await greeted("Ada").catch(async (error) => {
        throw new Error(`${name}, ${start}: ${page.url()} ${await page.content()}`, { cause: error });
      });
      await page.click('form[action="/auth/signout"] button');
      await page.waitForURL(`${app.origin}/`);
      await greeted("nobody");
    }
  }
}

browserTest(
  "helmet: sign-in from a form of the application works in a browser",
  (page) => signInAndOut(page, ["helmet", "an onSend hook"], ["/"]),
);
browserTest(
  "helmet: sign-in from own and built-in forms works in a browser without JavaScript",
  (page) => signInAndOut(page, ["helmet"], ["/", "/auth/signin?callbackUrl=/"]),
  { javaScriptEnabled: false },
);

const FORM = { accept: "text/html,*/*;q=0.8" };

/** Starts a sign-in from a page of the application. */
async function startFromForm(prepare: Prepare, headers: Record<string, string> = FORM): Promise<Answer> {
  await using server = await authorizationServer();
  await using app = Fastify() as unknown as FastifyInstance;
  await prepare(app);
  await app.register(FastifyAuth(testConfig({ providers: [server.provider] })), { prefix: "/auth" });
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  return await client.post("/auth/signin/op", { csrfToken }, headers);
}

Deno.test("helmet: a blocked redirect becomes a page that goes on, with the cookies of the sign-in", async () => {
  for (const [name, prepare] of Object.entries(POLICIES)) {
    const answer = await startFromForm(prepare);
    assertEquals([answer.statusCode, answer.headers.location], [200, undefined], name);
    const [, refresh = ""] = /<meta http-equiv="refresh" content="0;url=([^"]+)"/.exec(answer.body) ?? [];
    assertMatch(refresh, /^http:\/\/127\.0\.0\.1:\d+\/authorize\?/, name);
    assertMatch(String(answer.headers["set-cookie"]), /authjs\.state\.[\w-]+=/, name);
    assertEquals(answer.headers["cache-control"], "private, no-cache, no-store");
  }
});

const policy = (value: string): Prepare => (app) =>
  app.addHook("onRequest", (_request, reply, done) => {
    reply.header("content-security-policy", value);
    done();
  });

Deno.test("helmet: what is not blocked stays a redirect", async () => {
  const free: Prepare[] = [
    () => {},
    policy("default-src 'none'"),
    policy("form-action *"),
    policy("form-action 'self' http:; form-action 'none'"),
    (app) => app.register(helmet, { contentSecurityPolicy: false }),
    (app) => app.register(helmet, { contentSecurityPolicy: { reportOnly: true } }),
  ];
  for (const prepare of free) {
    const answer = await startFromForm(prepare);
    assertEquals(answer.statusCode, 302);
    assertMatch(String(answer.headers.location), /\/authorize\?/);
  }
  // Two policies hold both, whichever blocks.
  assertEquals((await startFromForm(policy("form-action *, form-action 'self'"))).statusCode, 200);
});

Deno.test("helmet: a form to a route of the application goes on, whichever hook sets the policy", async () => {
  await using server = await authorizationServer();
  const start = async (prepare: Prepare) => {
    await using app = Fastify() as unknown as FastifyInstance;
    await prepare(app);
    const auth = createAuth(testConfig({ providers: [server.provider] }));
    await app.register(auth.plugin, { prefix: "/auth" });
    app.post("/login", (request, reply) => auth.signIn(request, reply, "op"));
    return await app.inject({ method: "POST", url: "/login", headers: FORM });
  };
  for (const [name, prepare] of Object.entries(POLICIES)) {
    const answer = await start(prepare);
    assertEquals([answer.statusCode, answer.headers.location], [200, undefined], name);
    const [, refresh = ""] = /<meta http-equiv="refresh" content="0;url=([^"]+)"/.exec(answer.body) ?? [];
    assertMatch(refresh, /^http:\/\/127\.0\.0\.1:\d+\/authorize\?/, name);
    assertMatch(String(answer.headers["set-cookie"]), /authjs\.state\.[\w-]+=/, name);
  }
  const free = await start(policy("form-action *"));
  assertEquals(free.statusCode, 302);
  assertMatch(String(free.headers.location), /\/authorize\?/);
});

Deno.test("helmet: a program, a script and a redirect to the same origin are redirected", async () => {
  const prepare = POLICIES.helmet!;
  for (
    const headers of [{ accept: "*/*" }, { ...FORM, "sec-fetch-mode": "cors" }] as Record<string, string>[]
  ) {
    assertEquals((await startFromForm(prepare, headers)).statusCode, 302);
  }
  await using app = await testApp(testConfig());
  app.addHook("onRequest", (_request, reply, done) => {
    reply.header("content-security-policy", POLICY);
    done();
  });
  const client = new Client(app, FORM);
  const answer = await client.signIn({ username: "ada", password: "open" });
  assertEquals([answer.statusCode, answer.headers.location], [302, "http://localhost"]);
});
