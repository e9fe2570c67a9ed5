/** Hooks of the application change neither what the auth routes parsed nor how a reply with a session is cached. */
import { assert, assertEquals, assertFalse } from "@std/assert";
import { encode } from "@auth/core/jwt";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import type http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { passwordProvider, SECRET, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { connectHttp2 } from "../../support/http2_client.ts";

const NAME = "authjs.session-token";
const ada = { username: "ada", password: "open" };
const eve = { username: "eve", password: "open" };

/** Hooks that run between the parsing of a body and the handler. */
const TAMPERING: Record<string, (request: FastifyRequest) => void> = {
  "replaces the body": (request) => request.body = { ...request.body as object, ...eve },
  "changes the body": (request) => void Object.assign(request.body ?? {}, eve),
  "makes an object of a credential": (request) => request.body = { ...request.body as object, username: { $gt: "" } },
  "drops the body": (request) => request.body = undefined,
  "replaces the query": (request) => request.query = { callbackUrl: "/eve" },
  "replaces the parameters": (request) => request.params = { provider: "other" },
  "changes the parameters": (request) => void Object.assign(request.params as object, { provider: "other" }),
  "replaces the headers": (request) => (request as { headers: object }).headers = { cookie: "", host: "evil.example" },
  "changes the cookie": (request) => request.headers.cookie = "",
  "changes the host": (request) => request.headers.host = "evil.example",
  "changes the address": (request) => request.raw.url = "/auth/callback/other?callbackUrl=/eve",
  "changes the method": (request) => request.raw.method = "GET",
};

for (const hook of ["preValidation", "preHandler"] as const) {
  for (const [what, tamper] of Object.entries(TAMPERING)) {
    Deno.test(`a ${hook} hook that ${what} does not change a sign-in`, async () => {
      const others: unknown[] = [];
      const authorize = (fields: unknown) => (others.push(fields), null);
      const other = Credentials({ id: "other", authorize });
      const seen: unknown[] = [];
      const config = testConfig({ providers: [passwordProvider((fields) => seen.push(fields)), other] });
      await using app = Fastify() as unknown as FastifyInstance;
      let tampering = false;
      app.addHook(hook as "preHandler", (request, _reply, done) => {
        if (tampering) tamper(request);
        done();
      });
      await app.register(FastifyAuth(config), { prefix: "/auth" });
      const client = new Client(app, { host: "app.example" });
      const csrfToken = await client.csrfToken();
      tampering = true;
      const answer = await client.post("/auth/callback/credentials?x=1", {
        ...ada,
        csrfToken,
        callbackUrl: "/ada",
      });
      tampering = false;
      assertEquals([answer.statusCode, answer.headers.location], [302, "http://app.example/ada"]);
      assertEquals((seen as typeof ada[]).map(({ username }) => username), ["ada"]);
      assertEquals(others, []);
      assertEquals((await client.get("/auth/session")).json().user.name, "ada");
    });
  }
}

Deno.test("hooks of the application still see the parsed body", async () => {
  await using app = Fastify() as unknown as FastifyInstance;
  const seen: unknown[] = [];
  app.addHook("preHandler", (request, _reply, done) => {
    if (request.method === "POST") seen.push({ ...request.body as object });
    done();
  });
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  await client.post("/auth/callback/credentials", { ...ada, csrfToken });
  await client.request("POST", "/auth/session", { json: { csrfToken, data: { a: 1 } } });
  assertEquals(seen, [{ ...ada, csrfToken }, { csrfToken, data: { a: 1 } }]);
});

/** What makes a reply public. */
const PUBLIC = {
  "cache-control": "public, max-age=3600",
  "cdn-cache-control": "max-age=3600",
  "surrogate-control": "max-age=3600",
  "cloudflare-cdn-cache-control": "max-age=3600",
  "edge-control": "max-age=1h",
  "x-accel-expires": "3600",
};

/** Renews its cookie with every read. */
const renewing: Partial<FastifyAuthConfig> = {
  callbacks: { jwt: ({ token }) => ({ ...token, at: Math.random() }) },
};

type Prepare = (
  app: FastifyInstance,
  read: (request: FastifyRequest) => Promise<unknown>,
) => void | Promise<void>;

const makePublic = (
  _request: unknown,
  reply: FastifyReply,
  payload: unknown,
  done: (e: null, p: unknown) => void,
) => {
  reply.headers(PUBLIC);
  done(null, payload);
};

/** Ways to make the reply of `/read` public after the plugin's own hook. */
const PUBLISHING: Record<string, Prepare> = {
  "a hook that was added after the plugin": (app, read) => {
    app.addHook("onSend", makePublic);
    app.get("/read", read);
  },
  "an asynchronous hook": (app, read) => {
    app.addHook("onSend", async (_request, reply) => {
      await Promise.resolve();
      reply.headers(PUBLIC);
    });
    app.get("/read", read);
  },
  "a hook of the route": (app, read) => {
    app.get("/read", { onSend: makePublic as never }, read);
  },
  "a hook of an inner scope": async (app, read) => {
    await app.register((scope, _options, done) => {
      scope.addHook("onSend", makePublic);
      scope.get("/read", read);
      done();
    });
  },
  "a hook of a route with a stream": (app, read) => {
    app.get("/read", { onSend: makePublic as never }, async (request, reply) => {
      await read(request);
      return reply.send(Readable.from(["te", "xt"]));
    });
  },
  "a hook that writes to Node's response": (app, read) => {
    app.addHook("onSend", (_request, reply, payload, done) => {
      for (const [name, value] of Object.entries(PUBLIC)) reply.raw.setHeader(name, value);
      done(null, payload);
    });
    app.get("/read", read);
  },
  "the headers of a Response": (app, read) => {
    app.get("/read", async (request, reply) => {
      await read(request);
      return reply.send(new Response("text", { headers: PUBLIC }));
    });
  },
};

const CDN_HEADERS = Object.keys(PUBLIC).filter((name) => name !== "cache-control");

const PRIVATE_REPLY = /(?:^|[\s,])(?:private|no-store)/;

function assertPrivate(headers: Record<string, unknown>, what: string): void {
  assert(PRIVATE_REPLY.test(String(headers["cache-control"])), `${what}: ${headers["cache-control"]}`);
  assertFalse(/public/.test(String(headers["cache-control"])), what);
  for (const name of CDN_HEADERS) assertEquals(headers[name], undefined, `${what}: ${name}`);
}

async function publishingApp(prepare: Prepare, options: object = {}): Promise<FastifyInstance> {
  const config = testConfig(renewing);
  const app = Fastify(options) as unknown as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await prepare(app, async (request) => {
    await getSession(request, config);
    return "text";
  });
  return app;
}

for (const [what, prepare] of Object.entries(PUBLISHING)) {
  Deno.test(`a reply with a session cookie is private, whatever ${what} sets`, async () => {
    await using app = await publishingApp(prepare);
    const cookie = `${NAME}=${await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME })}`;
    const injected = await app.inject({ url: "/read", headers: { cookie } });
    assertEquals([injected.statusCode, injected.body], [200, "text"]);
    assert(setCookies(injected).some((line) => line.startsWith(NAME)));
    assertPrivate(injected.headers, "injected");
    const anonymous = await app.inject("/read");
    assertEquals(anonymous.headers["cache-control"], PUBLIC["cache-control"], "the application's own");

    await app.listen({ port: 0, host: "127.0.0.1" });
    const { port } = app.server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/read`, { headers: { cookie } });
    assertEquals([response.status, await response.text()], [200, "text"]);
    assert(response.headers.getSetCookie().some((line) => line.startsWith(NAME)));
    assertPrivate(Object.fromEntries(response.headers), "sent");
  });

  Deno.test(`over HTTP/2 a reply with a session cookie is private, whatever ${what} sets`, async () => {
    await using app = await publishingApp(prepare, { http2: true });
    await app.listen({ port: 0, host: "127.0.0.1" });
    const { port } = app.server.address() as AddressInfo;
    const cookie = `${NAME}=${await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME })}`;
    using client = connectHttp2(`http://127.0.0.1:${port}`);
    const stream = client.request({ ":path": "/read", cookie });
    const headers = await new Promise<http2.IncomingHttpHeaders>((resolve) => stream.on("response", resolve));
    let body = "";
    for await (const chunk of stream.setEncoding("utf8")) body += chunk;
    assertEquals([headers[":status"], body], [200, "text"]);
    assert(headers["set-cookie"]?.some((line) => line.startsWith(NAME)));
    assertPrivate(headers, "sent");
  });
}

Deno.test("a reply with a session cookie that is both private and for shared caches is not stored", async () => {
  for (const value of ["private, s-maxage=60", "public, private", "Public,no-store"]) {
    await using app = await publishingApp((app, read) => {
      app.get("/read", async (request, reply) => {
        reply.header("cache-control", value);
        return await read(request);
      });
    });
    const cookie = `${NAME}=${await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME })}`;
    const answer = await app.inject({ url: "/read", headers: { cookie } });
    assertEquals(answer.headers["cache-control"], "no-store", value);
  }
});

Deno.test("a reply whose session cookie a later hook took out may be public", async () => {
  await using app = await publishingApp((app, read) => {
    app.addHook("onSend", (_request, reply, payload, done) => {
      reply.removeHeader("set-cookie").headers(PUBLIC);
      done(null, payload);
    });
    app.get("/read", read);
  });
  const cookie = `${NAME}=${await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME })}`;
  const answer = await app.inject({ url: "/read", headers: { cookie } });
  assertEquals([setCookies(answer), answer.headers["cache-control"]], [[], PUBLIC["cache-control"]]);
});

const PROTECTED = {
  "cache-control": "private, no-cache, no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

const CARELESS = {
  ...PUBLIC,
  "referrer-policy": "unsafe-url",
  "x-content-type-options": "",
  "x-frame-options": "ALLOWALL",
};

function assertProtected(answer: Answer, what: string): void {
  for (const [name, value] of Object.entries(PROTECTED)) {
    assertEquals(answer.headers[name], value, `${what}: ${name}`);
  }
  assertEquals(answer.headers["cdn-cache-control"], undefined, what);
}

Deno.test("replies of the auth routes keep their headers under hooks that an onRoute hook adds to them", async () => {
  await using app = Fastify() as unknown as FastifyInstance;
  app.addHook("onRoute", (route) => {
    const careless = (
      _request: unknown,
      reply: FastifyReply,
      payload: unknown,
      done: (e: null, p: unknown) => void,
    ) => {
      reply.headers(CARELESS);
      done(null, payload);
    };
    route.onSend = [route.onSend ?? [], careless as never].flat() as never;
  });
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  const client = new Client(app);
  const answer = await client.signIn(ada);
  assert(setCookies(answer).some((line) => line.startsWith(NAME)));
  assertProtected(answer, "sign-in");
  for (const path of ["signin", "csrf", "session", "error", "nowhere", "signin/unknown"]) {
    assertProtected(await client.get(`/auth/${path}`), path);
  }
});

Deno.test("a reply that an earlier hook of the application ends in an error is protected, too", async () => {
  await using app = Fastify() as unknown as FastifyInstance;
  app.addHook("onSend", (_request, reply, _payload, done) => {
    reply.headers(CARELESS);
    done(new Error("of the application"));
  });
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  const answer = await app.inject("/auth/csrf");
  assertEquals(answer.statusCode, 500);
  assertProtected(answer, "csrf");
});
