/** What a read changes reaches the browser, from whichever route read it (rows S1 and S2). */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { decode, encode, type JWT } from "@auth/core/jwt";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { createAuth, FastifyAuth, type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
import { Buffer } from "node:buffer";
import { captureLog, SECRET, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { testStore } from "../../support/test_store.ts";

const NAME = "authjs.session-token";
const ada = { username: "ada", password: "open" };

/** Counts its reads in the token. */
const counting: Partial<FastifyAuthConfig> = {
  callbacks: {
    jwt: ({ token }) => ({ ...token, count: ((token.count as number) ?? 0) + 1 }),
    session: ({ session, token }) => ({ ...session, count: token.count }),
  },
};

const sealed = (token: JWT, maxAge = 30 * 86_400) => encode({ token, secret: SECRET, salt: NAME, maxAge });
const claimsOf = (client: Client) => decode({ token: client.cookies.get(NAME)!, secret: SECRET, salt: NAME });
const sessionCookies = (answer: Answer) => setCookies(answer).filter((line) => line.startsWith(NAME));
const cacheControl = (answer: Answer) => answer.headers["cache-control"];

/** A signed-in browser of an application. */
async function signedIn(app: FastifyInstance): Promise<Client> {
  const client = new Client(app);
  await client.signIn(ada);
  return client;
}

/** An application with a route that replies as told, having read the session. */
async function replying(
  reply: (reply: FastifyReply) => unknown,
  { overrides = counting, guards = false }: { overrides?: Partial<FastifyAuthConfig>; guards?: boolean } = {},
): Promise<{ app: FastifyInstance; answer: Answer }> {
  const config = testConfig(overrides);
  await using app = await testApp(config);
  app.get("/reply", { onRequest: guards ? requireSession(config) : [] }, async (request, response) => {
    await getSession(request, config);
    return await reply(response) ?? "text";
  });
  const cookie = `${NAME}=${await sealed({ name: "ada" })}`;
  const answer = await app.inject({ url: "/reply", headers: { cookie } });
  return { app, answer };
}

Deno.test("S1: what the jwt callback counts is counted on, request after request", async () => {
  await using app = await testApp(testConfig(counting));
  const client = await signedIn(app);
  for (const count of [2, 3, 4]) {
    const answer = await client.get("/me");
    assertEquals(answer.json().session.count, count);
    assertEquals(sessionCookies(answer).length, 1);
    assertEquals(cacheControl(answer), "no-store");
    assertEquals((await claimsOf(client))!.count, count);
  }
});

Deno.test("a token that is young and unchanged stays: no Set-Cookie, and the route's caching is its own", async () => {
  const reply = (response: FastifyReply) => void response.header("cache-control", "private, max-age=60");
  const { answer } = await replying(reply, { overrides: {} });
  assertEquals(setCookies(answer), []);
  assertEquals(cacheControl(answer), "private, max-age=60");
});

Deno.test("a token is renewed once it is older than updateAge", async () => {
  await using app = await testApp(testConfig({ session: { updateAge: 0 } }));
  const client = await signedIn(app);
  const before = client.cookies.get(NAME);
  const answer = await client.get("/me");
  const [line] = sessionCookies(answer);
  assertStringIncludes(line!, "; Path=/; Expires=");
  assertStringIncludes(line!, "; HttpOnly; SameSite=Lax");
  assert(client.cookies.get(NAME) !== before);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
});

Deno.test("S2: claims that grow into chunks, shrink and come shuffled; stale chunks go", async () => {
  let size = 0;
  const config = testConfig({
    sessionCookieLimit: 0,
    callbacks: {
      jwt: ({ token }) => ({ ...token, big: "x".repeat(size) }),
      session: ({ session }) => session,
    },
  });
  await using app = await testApp(config);
  const client = await signedIn(app);
  const names = () => [...client.cookies.keys()].filter((name) => name.startsWith(NAME)).sort();
  assertEquals(names(), [NAME]);

  size = 9_000;
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
  assertEquals(names(), [0, 1, 2, 3].map((i) => `${NAME}.${i}`));
  assertEquals((await client.get("/me")).json().session.user.name, "ada");

  const shuffled = [...client.cookies].reverse();
  client.cookies.clear();
  for (const [name, value] of shuffled) client.cookies.set(name, value);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");

  size = 10;
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
  assertEquals(names(), [NAME]);

  size = 9_000;
  await client.get("/me");
  client.cookies.delete(`${NAME}.1`);
  assertEquals((await client.get("/me")).json().session, null);
  assertEquals(names(), []);
});

Deno.test("a broken cookie is removed, and the reply is kept from caches", async () => {
  await using app = await testApp();
  const client = new Client(app);
  client.cookies.set(NAME, "broken");
  client.cookies.set(`${NAME}.0`, "stale");
  const answer = await client.get("/me");
  assertEquals(answer.json().session, null);
  assertEquals(client.cookies.size, 0);
  assertEquals(cacheControl(answer), "no-store");
});

Deno.test("Cache-Control: what is public becomes no-store, what is private stays", async () => {
  const cases: [before: string | undefined, after: string][] = [
    [undefined, "no-store"],
    ["public, max-age=600", "no-store"],
    ["max-age=0", "no-store"],
    ["s-maxage=600, private-ish", "no-store"],
    ['private="set-cookie", max-age=600', "no-store"],
    ["private", "private"],
    ["max-age=60, Private", "max-age=60, Private"],
    ["no-store", "no-store"],
  ];
  for (const [before, after] of cases) {
    const { answer } = await replying((reply) => void (before && reply.header("cache-control", before)));
    assertEquals(sessionCookies(answer).length, 1);
    assertEquals(cacheControl(answer), after, before);
  }
});

Deno.test("headers that overrule Cache-Control at a CDN go", async () => {
  const { answer } = await replying((reply) =>
    void reply.header("cdn-cache-control", "max-age=600").header("surrogate-control", "max-age=600")
  );
  assertEquals(answer.headers["cdn-cache-control"], undefined);
  assertEquals(answer.headers["surrogate-control"], undefined);
});

Deno.test("other cookies of the reply stay, each on a line of its own", async () => {
  const { answer } = await replying((reply) => void reply.header("set-cookie", ["a=1", `${NAME}-other=2`]));
  const lines = setCookies(answer);
  assertEquals(lines.slice(0, 2), ["a=1", `${NAME}-other=2`]);
  assertEquals(lines.length, 3);
});

Deno.test("a reply that sets or clears the session cookie itself has the last word", async () => {
  for (const line of [`${NAME}=; Max-Age=0`, `${NAME}=other`, `${NAME}.0=; Max-Age=0`]) {
    const { answer } = await replying((reply) => void reply.header("set-cookie", line));
    assertEquals(setCookies(answer), [line]);
    assertEquals(cacheControl(answer), undefined);
  }
});

Deno.test("signing out wins over a read of the same request", async () => {
  const config = testConfig(counting);
  await using app = Fastify() as unknown as FastifyInstance;
  let reads = 0;
  app.addHook("preHandler", async (request) => {
    if (await getSession(request, config)) reads++;
  });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  const client = await signedIn(app);
  await client.signOut();
  assert(reads > 1);
  assertEquals(client.cookies.get(NAME), undefined);
  assertEquals((await client.get("/me")).json().session, null);
});

Deno.test("signing in wins over a read of the same request", async () => {
  const config = testConfig({ ...counting, session: { updateAge: 0 } });
  await using app = await testApp(config);
  app.addHook("onRequest", async (request) => void await getSession(request, config));
  const client = await signedIn(app);
  await client.signIn({ username: "grace", password: "open" });
  assertEquals((await client.get("/me")).json().session.user.name, "grace");
});

Deno.test("a read after a sign-in of the same request takes the place of its cookie, and of no other", async () => {
  const auth = createAuth(testConfig(counting));
  await using app = Fastify() as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.post("/in", async (request, reply) => {
    reply.header("set-cookie", "a=1");
    await auth.signIn(request, reply, "credentials", { fields: ada, redirect: false });
    return await auth.getSession(request);
  });
  const client = new Client(app);
  const answer = await client.request("POST", "/in");
  assertEquals(setCookies(answer).map((line) => line.split("=")[0]), ["a", "authjs.callback-url", NAME]);
  assertEquals([answer.json().count, (await claimsOf(client))!.count], [2, 2]);
});

Deno.test("every kind of reply carries it: errors, not found, redirects, HEAD, empty ones, GET /auth/session", async () => {
  const config = testConfig(counting);
  await using app = await testApp(config);
  app.addHook("onRequest", async (request) => void await getSession(request, config));
  app.get("/error", () => Promise.reject(new Error("boom")));
  app.get("/redirect", (_request, reply) => reply.redirect("/me"));
  app.get("/empty", (_request, reply) => reply.code(204).send());
  const client = await signedIn(app);
  let count = (await client.get("/me")).json().session.count;
  for (
    const [method, url, status] of [
      ["GET", "/error", 500],
      ["GET", "/nowhere", 404],
      ["GET", "/redirect", 302],
      ["HEAD", "/me", 200],
      ["GET", "/empty", 204],
      ["GET", "/auth/session", 200],
    ] as const
  ) {
    const answer = await client.request(method, url);
    assertEquals(answer.statusCode, status, url);
    assertEquals(sessionCookies(answer).length, 1, url);
    assertEquals((await claimsOf(client))!.count, ++count, url);
  }
});

for (const what of ["a hook", "a validator"]) {
  Deno.test(`${what} may set request.headers: the session is read once, and its cookie comes with the reply`, async () => {
    const config = testConfig(counting);
    await using app = await testApp(config);
    app.setValidatorCompiler(() => (value) => ({ value: { ...value as object } }));
    app.addHook("onRequest", (request, _reply, done) => {
      if (what === "a hook") request.headers = { ...request.headers, "x-version": "1" };
      done();
    });
    const options = what === "a hook" ? {} : { schema: { headers: {} } };
    app.get("/guarded", { onRequest: requireSession(config), ...options }, (request) => getSession(request, config));
    const client = await signedIn(app);
    for (const count of [2, 3]) assertEquals((await client.get("/guarded")).json().count, count);
  });
}

Deno.test("a hook that sets another cookie has the session of that cookie", async () => {
  const config = testConfig();
  await using app = await testApp(config);
  app.get("/as", async (request) => {
    const before = await getSession(request, config);
    request.headers = { ...request.headers, cookie: `${NAME}=${await sealed({ name: "bob" })}` };
    return [before?.user?.name, (await getSession(request, config))?.user?.name];
  });
  assertEquals((await (await signedIn(app)).get("/as")).json(), ["ada", "bob"]);
});

for (const hook of ["onRequest", "preHandler"] as const) {
  Deno.test(`a hook (${hook}) may take other cookies out of the request: sessions are renewed as ever`, async () => {
    const config = testConfig({ session: { updateAge: 0 } });
    await using app = await testApp(config);
    app.addHook(hook as "onRequest", (request, _reply, done) => {
      const cookies = request.headers.cookie?.split("; ").filter((cookie) => !cookie.startsWith("_ga="));
      request.headers = { ...request.headers, cookie: cookies?.join("; ") };
      done();
    });
    app.get("/raw", async (request, reply) => {
      await getSession(request, config);
      reply.hijack();
      reply.raw.end();
    });
    const headers = { cookie: `_ga=1; ${NAME}=${await sealed({ name: "ada" })}` };
    for (const url of ["/me", "/raw"]) {
      assertEquals(sessionCookies(await app.inject({ url, headers })).length, 1, url);
    }
  });
}

Deno.test("a read that the handler did not wait for is waited for by its reply", async () => {
  let finish = () => {};
  const held = new Promise<void>((resolve) => finish = resolve);
  const config = testConfig({
    callbacks: {
      async jwt({ token }) {
        await held;
        return { ...token, refreshed: true };
      },
    },
  });
  await using app = await testApp(config);
  app.get("/hasty", (request) => {
    void getSession(request, config);
    setTimeout(finish, 10);
    return "done";
  });
  const answer = await app.inject({
    url: "/hasty",
    headers: { cookie: `${NAME}=${await sealed({ name: "ada" })}` },
  });
  assertEquals(sessionCookies(answer).length, 1);
});

Deno.test("one configuration under two prefixes, and two configurations in one application, write back once each", async () => {
  const config = testConfig(counting);
  const other = testConfig({ ...counting, cookies: { sessionToken: { name: "other", options: {} } } });
  await using app = await testApp(config);
  await app.register(FastifyAuth(config), { prefix: "/again" });
  await app.register(FastifyAuth(other), { prefix: "/other" });
  app.get("/both", async (request) => [await getSession(request, config), await getSession(request, other)]);
  const theirs = await encode({ token: { name: "grace" }, secret: SECRET, salt: "other" });
  const cookie = `${NAME}=${await sealed({ name: "ada" })}; other=${theirs}`;
  const answer = await app.inject({ url: "/both", headers: { cookie } });
  assertEquals(answer.json().map((session: { user: { name: string } }) => session.user.name), [
    "ada",
    "grace",
  ]);
  assertEquals(setCookies(answer).map((line) => line.split("=")[0]), [NAME, "other"]);
});

Deno.test("scopes within are covered, those made before the plugin was registered too", async () => {
  const config = testConfig(counting);
  await using app = Fastify() as unknown as FastifyInstance;
  const deep = (path: string) => async (scope: FastifyInstance) => {
    await scope.register((inner, _options, done) => {
      inner.get(path, async (request) => ({ session: await getSession(request, config) }));
      done();
    });
  };
  app.get("/beside", async (request) => ({ session: await getSession(request, config) }));
  await app.register(deep("/before"));
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await app.register(deep("/after"));
  const cookie = `${NAME}=${await sealed({ name: "ada" })}`;
  for (const url of ["/beside", "/before", "/after"]) {
    const answer = await app.inject({ url, headers: { cookie } });
    assertEquals(sessionCookies(answer).length, 1, url);
  }
});

Deno.test("a route the plugin cannot reach is told of once, and the session is still read", async () => {
  const config = testConfig(counting);
  const { logger, lines } = captureLog();
  await using app = Fastify({ logger }) as unknown as FastifyInstance;
  await app.register(async (scope) => void await scope.register(FastifyAuth(config), { prefix: "/auth" }));
  app.get("/outside", async (request) => ({ session: await getSession(request, config) }));
  const cookie = `${NAME}=${await sealed({ name: "ada" })}`;
  for (let i = 0; i < 2; i++) {
    const answer = await app.inject({ url: "/outside", headers: { cookie } });
    assertEquals(answer.json().session.user.name, "ada");
    assertEquals(setCookies(answer), []);
  }
  const warnings = lines.filter(({ level }) => level === 40);
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]!.msg, "renewed at /outside");
  assertFalse(JSON.stringify(lines).includes(cookie.slice(-40)));
});

/** Ways to write the head of a reply without Fastify. */
const HEADS: Record<string, (reply: FastifyReply) => void> = {
  "an object": ({ raw }) => void raw.writeHead(200, { "content-type": "text/event-stream" }),
  "cookies of its own": ({ raw }) => void raw.writeHead(200, "fine", { "Set-Cookie": ["a=1", "b=2"] }),
  "a list": ({ raw }) => void raw.writeHead(200, ["set-cookie", "a=1", "set-cookie", "b=2"]),
  "a cookie that is set before": ({ raw }) => void raw.setHeader("set-cookie", "a=1"),
  "headers for shared caches": ({ raw }) =>
    void raw.writeHead(200, { "Cache-Control": "public, max-age=60", "x-other": "kept" }),
};

for (const [what, writeHead] of Object.entries(HEADS)) {
  for (const hijacks of [true, false]) {
    Deno.test(`a handler that ${hijacks ? "takes over" : "writes"} its reply sends it, too: ${what}`, async () => {
      for (const guards of [true, false]) {
        const { answer } = await replying((reply) => {
          if (hijacks) reply.hijack();
          writeHead(reply);
          reply.raw.end("raw");
          return reply;
        }, { guards });
        assertEquals([answer.statusCode, answer.body], [200, "raw"]);
        assertEquals(sessionCookies(answer).length, 1);
        const given = { a: what.includes("cookie") || what === "a list", b: /own|list/.test(what) };
        for (const [name, isGiven] of Object.entries(given)) {
          assertEquals(setCookies(answer).some((line) => line.startsWith(`${name}=`)), isGiven, name);
        }
        assertMatch(String(cacheControl(answer)), /^(?:private(?:, no-cache)?|no-store)$/);
        if (what.includes("caches")) assertEquals(answer.headers["x-other"], "kept");
      }
    });
  }
}

for (const hijacks of [true, false]) {
  Deno.test(`a handler that ${hijacks ? "takes over" : "writes"} its reply sends the cookies of an action`, async () => {
    const auth = createAuth(testConfig(counting));
    await using app = Fastify() as unknown as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    const write = (reply: FastifyReply, own: string[]) => {
      if (hijacks) reply.hijack();
      reply.raw.writeHead(200, own.length > 0 ? { "set-cookie": own } : {}).end();
      return reply;
    };
    app.post("/update", async (request, reply) => {
      await auth.getSession(request);
      await auth.updateSession(request, reply, {});
      return write(reply, ["a=1"]);
    });
    app.post("/own", async (request, reply) => {
      await auth.updateSession(request, reply, {});
      return write(reply, [`${NAME}=own`]);
    });
    app.post("/sign-out", async (request, reply) => {
      await auth.getSession(request);
      await auth.signOut(request, reply, { redirect: false });
      return write(reply, []);
    });
    const client = await signedIn(app);
    const updated = await client.request("POST", "/update");
    assertEquals([sessionCookies(updated).length, setCookies(updated)[0]], [1, "a=1"]);
    assertEquals(cacheControl(updated), "no-store");
    assertEquals((await claimsOf(client))!.count, 3);
    const { cookie } = client;
    const own = await app.inject({ method: "POST", url: "/own", headers: { cookie: cookie! } });
    assertEquals(sessionCookies(own), [`${NAME}=own`]);
    await client.request("POST", "/sign-out");
    assertEquals(client.cookies.get(NAME), undefined);
  });
}

Deno.test("a handler that writes its reply has the last word about the session cookie", async () => {
  const { answer } = await replying((reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { "set-cookie": `${NAME}=; Max-Age=0` }).end();
  }, { guards: true });
  assertEquals(sessionCookies(answer), [`${NAME}=; Max-Age=0`]);
});

Deno.test("a hook before the plugin's may read the session of a reply that its handler writes", async () => {
  const config = testConfig(counting);
  await using app = Fastify();
  app.addHook("onRequest", async (request) => void await getSession(request, config));
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/raw", (_request, reply) => {
    reply.hijack();
    reply.raw.end();
  });
  const cookie = `${NAME}=${await sealed({ name: "ada" })}`;
  assertEquals(sessionCookies(await app.inject({ url: "/raw", headers: { cookie } })).length, 1);
});

Deno.test("with a store a reply that its handler writes does not bring a session back, and the log says so", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig({ ...counting, store: testStore() });
  await using app = await testApp(config, { logger });
  app.get("/raw", { onRequest: requireSession(config) }, (_request, reply) => {
    reply.hijack();
    reply.raw.end();
  });
  const headers = { cookie: `${NAME}=${await sealed({ name: "ada" })}` };
  const losses = () => lines.filter(({ code }) => code === "FST_AUTHJS_WARN_LOST_COOKIE");
  assertEquals(sessionCookies(await app.inject({ url: "/me", headers })).length, 1);
  assertEquals(losses(), []);
  for (let i = 0; i < 2; i++) assertEquals(sessionCookies(await app.inject({ url: "/raw", headers })), []);
  assertEquals(losses().length, 1);
  assertStringIncludes(losses()[0]!.msg, "With a `store`");
});

Deno.test("a broken cookie is removed without asking the store, also if the handler writes the reply", async () => {
  const { logger, lines } = captureLog();
  const store = testStore();
  const config = testConfig({ store });
  await using app = await testApp(config, { logger });
  app.get("/raw", async (request, reply) => {
    await getSession(request, config);
    reply.hijack();
    reply.raw.end();
  });
  for (const url of ["/me", "/raw"]) {
    const answer = await app.inject({ url, headers: { cookie: `${NAME}=broken` } });
    assertMatch(sessionCookies(answer)[0]!, /Max-Age=0/);
  }
  assertEquals([store.calls, lines.filter(({ level }) => level > 30)], [[], []]);
});

Deno.test("a token that is new after the head was written is lost, and the log says so once", async () => {
  let headWritten = Promise.resolve();
  const config = testConfig({
    callbacks: {
      async jwt({ token }) {
        await headWritten;
        return { ...token, changed: true };
      },
    },
  });
  const { logger, lines } = captureLog();
  await using app = await testApp(config, { logger });
  app.get("/early", async (request, reply) => {
    let finish = () => {};
    headWritten = new Promise((resolve) => finish = resolve);
    const reading = getSession(request, config);
    reply.hijack();
    reply.raw.writeHead(200);
    finish();
    await reading;
    reply.raw.end();
  });
  for (const name of ["ada", "grace"]) {
    const cookie = `${NAME}=${await sealed({ name })}`;
    assertEquals(sessionCookies(await app.inject({ url: "/early", headers: { cookie } })), []);
  }
  const losses = lines.filter(({ code }) => code === "FST_AUTHJS_WARN_LOST_COOKIE");
  assertEquals(losses.length, 1);
  assertStringIncludes(losses[0]!.msg, "before the head is sent");
});

Deno.test("outside of the scope of the plugin a renewal is lost, and a cookie that is none is not", async () => {
  const { logger, lines } = captureLog();
  let unsealable: unknown;
  const config = testConfig({ callbacks: { jwt: ({ token }) => ({ ...token, changed: true, unsealable }) } });
  await using app = Fastify({ logger }) as FastifyInstance;
  await app.register(async (scope) => await scope.register(FastifyAuth(config), { prefix: "/auth" }));
  app.get("/outside", (request) => getSession(request, config));
  const losses = () => lines.filter(({ code }) => code === "FST_AUTHJS_WARN_LOST_COOKIE").map(({ msg }) => msg);
  await app.inject({ url: "/outside", headers: { cookie: `${NAME}=broken` } });
  const headers = { cookie: `${NAME}=${await sealed({ name: "ada" })}` };
  unsealable = 1n;
  await app.inject({ url: "/outside", headers });
  assertEquals(losses(), []);
  unsealable = undefined;
  await app.inject({ url: "/outside", headers });
  assertEquals(losses().length, 1);
  assertStringIncludes(losses()[0]!, "/outside");
});

Deno.test("a sign-in that replaces a broken cookie, which a hook has read before, is not taken for another plugin", async () => {
  const { logger, lines } = captureLog();
  const jwt: FastifyAuthConfig["jwt"] = {
    encode: ({ token }) => `${Buffer.from(JSON.stringify(token)).toString("base64url")}.signed`,
    decode({ token = "" }) {
      const [text = ""] = token.split(".");
      return text === "gone" ? null : JSON.parse(Buffer.from(text, "base64url").toString());
    },
  };
  const config = testConfig({ jwt });
  await using app = Fastify({ logger }) as FastifyInstance;
  app.addHook("preHandler", async (request) => void await getSession(request, config));
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  client.cookies.set(NAME, "gone.signed");
  await client.post("/auth/callback/credentials", { csrfToken, ...ada });
  assertEquals((await client.get("/auth/session")).json().user.name, "ada");
  assertEquals(lines.filter(({ code }) => code === "FST_AUTHJS_WARN_COOKIE"), []);
});

Deno.test("a reply that is no WebSocket sends it, whatever the request asks for", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig({ callbacks: { jwt: ({ token }) => ({ ...token, changed: true }) } });
  await using app = await testApp(config, { logger });
  app.get("/raw", async (request, reply) => {
    await getSession(request, config);
    reply.hijack();
    reply.raw.end();
  });
  const headers = { cookie: `${NAME}=${await sealed({ name: "ada" })}`, connection: "upgrade", upgrade: "websocket" };
  for (const url of ["/me", "/raw"]) assertEquals(sessionCookies(await app.inject({ url, headers })).length, 1);
  assertEquals(lines.filter(({ code }) => code === "FST_AUTHJS_WARN_LOST_COOKIE"), []);
});

Deno.test("two session cookies of one name are told of once, since the first counts and cannot be removed", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(), { logger });
  const one = await sealed({ name: "ada" });
  const names = async (cookie: string) =>
    (await app.inject({ url: "/me", headers: { cookie } })).json().session?.user.name;
  const told = () => lines.filter(({ code }) => code === "FST_AUTHJS_WARN_COOKIE");
  for (const other of [`${NAME}-other=1`, `x${NAME}=1`, `${NAME}.0=stale`, "a=%20"]) {
    assertEquals(await names(`${other}; ${NAME}=${one}`), "ada", other);
  }
  assertEquals(await names(`${NAME}.0=${one.slice(0, 9)}; ${NAME}.1=${one.slice(9)}`), "ada");
  assertEquals(told(), []);
  assertEquals(await names(`${NAME}=${one}; ${NAME}=${await sealed({ name: "grace" })}`), "ada");
  assertEquals(await names(`${NAME}.0=stale; ${NAME}.0=${one}`), undefined);
  assertEquals(told().length, 1);
  assertStringIncludes(told()[0]!.msg, `named "${NAME}"`);
});
