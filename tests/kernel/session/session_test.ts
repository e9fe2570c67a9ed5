/** Reading the session: once a request, from a token or a database, with tokens that core made, and the reverse (S3 to S6 of docs/security-cases.md). */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { decode, encode, getToken, type JWT } from "@auth/core/jwt";
import { EncryptJWT, SignJWT, UnsecuredJWT } from "jose";
import { createSecretKey, hkdfSync } from "node:crypto";
import { Buffer } from "node:buffer";
import type { FastifyRequest } from "fastify";
import { type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
import { captureLog, SECRET, testApp, testConfig } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const NAME = "authjs.session-token";
const ada = { username: "ada", password: "open" };

const carrying = async (token: JWT = { name: "ada" }, secret = SECRET) => ({
  cookie: `${NAME}=${await encode({ token, secret, salt: NAME })}`,
});

/** A configuration that counts the calls of its callbacks. */
function counted(overrides: Partial<FastifyAuthConfig> = {}) {
  const calls = { jwt: 0, session: 0, event: 0 };
  const config = testConfig({
    callbacks: {
      jwt: ({ token }) => (calls.jwt++, token),
      session: ({ session }) => (calls.session++, session),
    },
    events: { session: () => void calls.event++ },
    ...overrides,
  });
  return { config, calls };
}

Deno.test("a synchronous callback that asks for the session gets the read that it is called for", async () => {
  let asked: Promise<unknown> | undefined;
  let request: FastifyRequest;
  const config = testConfig({
    callbacks: {
      session: ({ session }) => {
        asked ??= getSession(request, config);
        return session;
      },
    },
  });
  await using app = await testApp(config);
  app.get("/asks", async (req) => {
    request = req;
    return { session: await getSession(req, config), asked: await asked };
  });
  const answer = await app.inject({ url: "/asks", headers: await carrying() });
  const { session, asked: nested } = answer.json();
  assertEquals(session.user.name, "ada");
  assertEquals(nested, session);
});

Deno.test("hooks, guards and handlers of one request share one read", async () => {
  const { config, calls } = counted();
  await using app = await testApp(config);
  app.addHook("onRequest", async (request) => void await getSession(request, config));
  app.addHook("preHandler", async (request) => void await getSession(request, config));
  app.get("/many", async (request) => {
    const sessions = await Promise.all(Array.from({ length: 5 }, () => getSession(request, config)));
    return sessions.map((session) => session?.user?.name);
  });
  const answer = await app.inject({ url: "/many", headers: await carrying() });
  assertEquals(answer.json(), ["ada", "ada", "ada", "ada", "ada"]);
  assertEquals(calls, { jwt: 1, session: 1, event: 1 });
  await app.inject({ url: "/many", headers: await carrying() });
  assertEquals(calls, { jwt: 2, session: 2, event: 2 });
});

Deno.test("a request made from another has the session of its own headers, read once", async () => {
  const { config, calls } = counted();
  await using app = await testApp(config);
  const { cookie: bob } = await carrying({ name: "bob" });
  app.get("/derived", async (request) => {
    const { raw } = request;
    const derived: Record<string, FastifyRequest> = {
      original: request,
      alike: Object.create(request),
      headers: Object.create(request, { headers: { value: { ...request.headers, cookie: bob } } }),
      raw: Object.create(request, { raw: { value: { ...raw, headers: { ...raw.headers, cookie: bob } } } }),
      anonymous: Object.create(request, { headers: { value: { host: "localhost" } } }),
    };
    const read: Record<string, unknown> = {};
    const { order } = request.query as { order: string };
    for (const name of order.split(",")) {
      read[name] = (await getSession(derived[name]!, config))?.user?.name ?? null;
      await getSession(derived[name]!, config);
    }
    return read;
  });
  const right = { original: "ada", alike: "ada", headers: "bob", raw: "bob", anonymous: null };
  for (const order of [Object.keys(right), Object.keys(right).reverse()]) {
    const before = calls.session;
    const answer = await app.inject({ url: `/derived?order=${order}`, headers: await carrying() });
    assertEquals(answer.json(), right, `${order}`);
    assertEquals(calls.session - before, 3, "ada once, and bob for each request with his cookie");
  }
});

Deno.test("the reply carries the renewed cookie of its own request, and no other request is renewed", async () => {
  const config = testConfig({ session: { updateAge: 0 } });
  await using app = await testApp(config);
  const carry = (name: string) => encode({ token: { name }, secret: SECRET, salt: NAME, maxAge: 1000 });
  const [ada, bob] = [await carry("ada"), await carry("bob")].map((token) => `${NAME}=${token}`);
  app.get("/derived", async (request) => {
    const derived = Object.create(request, { headers: { value: { ...request.headers, cookie: bob } } });
    const { first } = request.query as { first: string };
    const order = first === "derived" ? [derived, request, derived] : [request, derived, request];
    const expires: Record<string, string> = {};
    for (const each of order) {
      const { user, expires: at } = (await getSession(each, config))!;
      expires[user!.name!] = at;
    }
    return expires;
  });
  for (const first of ["original", "derived"]) {
    const answer = await app.inject({ url: `/derived?first=${first}`, headers: { cookie: ada } });
    const cookies = answer.cookies as { name: string; value: string }[];
    assertEquals(cookies.map(({ name }) => name), [NAME]);
    const token = await decode({ token: cookies[0]!.value, secret: SECRET, salt: NAME });
    assertEquals(token?.name, "ada", first);
    const inSeconds = (at: string) => (Date.parse(at) - Date.now()) / 1000;
    const { ada: renewed, bob: kept } = answer.json();
    assert(inSeconds(renewed) > 2000 && inSeconds(kept) <= 1000, `${renewed}, ${kept}`);
  }
});

Deno.test("two configurations in one request are two reads", async () => {
  const first = counted(), second = counted();
  await using app = await testApp(first.config);
  app.get("/two", async (request) => {
    await getSession(request, first.config);
    return await getSession(request, second.config);
  });
  await app.inject({ url: "/two", headers: await carrying() });
  assertEquals([first.calls.jwt, second.calls.jwt], [1, 1]);
});

Deno.test("requests at the same time with different tokens are read apart", async () => {
  const { config } = counted();
  await using app = await testApp(config);
  const names = Array.from({ length: 100 }, (_, i) => `user ${i}`);
  const answers = await Promise.all(
    names.map(async (name) => await app.inject({ url: "/me", headers: await carrying({ name }) })),
  );
  assertEquals(answers.map((answer) => answer.json().session.user.name), names);
});

Deno.test("a session in a database is one call of the adapter a request", async () => {
  const calls: string[] = [];
  const adapter = memoryAdapter();
  for (const [name, method] of Object.entries(adapter)) {
    Object.assign(adapter, {
      [name]: (...args: never[]) => {
        calls.push(name);
        return (method as (...args: never[]) => unknown)(...args);
      },
    });
  }
  const user = await adapter.createUser({ id: "u1", name: "ada", email: "a@b", emailVerified: null });
  const expires = new Date(Date.now() + 30 * 86_400_000);
  await adapter.createSession({ sessionToken: "token", userId: user.id, expires });
  const config = testConfig({ adapter, providers: [] });
  await using app = await testApp(config);
  app.addHook("onRequest", async (request) => void await getSession(request, config));
  calls.length = 0;
  const answer = await app.inject({ url: "/me", headers: { cookie: `${NAME}=token` } });
  assertEquals(answer.json().session, {
    user: { name: "ada", email: "a@b" },
    expires: expires.toISOString(),
  });
  assertEquals(calls, ["getSessionAndUser"]);
  assertEquals(setCookies(answer), []);

  // A day and more into its life its expiry is moved, in the database and in the browser.
  await adapter.updateSession({ sessionToken: "token", expires: new Date(Date.now() + 28 * 86_400_000) });
  calls.length = 0;
  const later = await app.inject({ url: "/me", headers: { cookie: `${NAME}=token` } });
  assertEquals(calls, ["getSessionAndUser", "updateSession"]);
  assertStringIncludes(setCookies(later)[0]!, `${NAME}=token; Path=/; Expires=`);
  assertEquals(later.headers["cache-control"], "no-store");
  assertEquals(setCookies(await app.inject({ url: "/me", headers: { cookie: `${NAME}=token` } })), []);
});

Deno.test("GET /auth/session is the same read, for a browser", async () => {
  const { config, calls } = counted();
  await using app = await testApp(config);
  app.addHook("onRequest", async (request) => void await getSession(request, config));
  const answer = await app.inject({ url: "/auth/session", headers: await carrying() });
  assertEquals(answer.json().user, { name: "ada" });
  assertEquals(calls, { jwt: 1, session: 1, event: 1 });
  assertStringIncludes(String(answer.headers["content-type"]), "application/json");
  assertStringIncludes(String(answer.headers["cache-control"]), "no-store");
  assertEquals(setCookies(answer), []);
  const signedOut = await app.inject("/auth/session");
  assertEquals([signedOut.statusCode, signedOut.body], [200, "null"]);
});

Deno.test("POST /auth/session updates the session, by core", async () => {
  const config = testConfig({
    callbacks: {
      jwt: ({ token, trigger, session }) => trigger === "update" ? { ...token, name: session.name } : token,
    },
  });
  await using app = await testApp(config);
  const client = new Client(app);
  await client.signIn(ada);
  const csrfToken = await client.csrfToken();
  const answer = await client.request("POST", "/auth/session", {
    json: { csrfToken, data: { name: "countess" } },
  });
  assertEquals(answer.json().user.name, "countess");
  assertEquals((await client.get("/me")).json().session.user.name, "countess");
});

Deno.test("tokens made here are read by core, and by its getToken()", async () => {
  await using app = await testApp();
  const client = new Client(app);
  await client.signIn(ada);
  const token = client.cookies.get(NAME)!;
  const claims = await decode({ token, secret: SECRET, salt: NAME });
  assertEquals([claims!.name, claims!.sub], ["ada", "id-ada"]);
  const req = { headers: { cookie: client.cookie! } };
  assertEquals(await getToken({ req, secret: SECRET }), claims);
});

Deno.test("a request that lasts reads anew: its session may have ended", async () => {
  const { config, calls } = counted();
  await using app = await testApp(config);
  app.get("/stream", async (request) => {
    await getSession(request, config);
    const later = performance.now() + 11_000;
    using _ = stub(performance, "now", () => later);
    return (await getSession(request, config))?.user?.name;
  });
  assertEquals((await app.inject({ url: "/stream", headers: await carrying() })).body, "ada");
  assertEquals(calls.jwt, 2);
});

Deno.test("a session callback's session is the caller's own: nothing it does to it reaches another request", async () => {
  const shared = { user: { name: "ada" }, expires: "2099-01-01T00:00:00.000Z" };
  const config = testConfig({ callbacks: { session: () => shared } });
  await using app = await testApp(config);
  app.get("/write", async (request) => {
    const session = await getSession(request, config);
    session!.user!.name = "changed";
    return session;
  });
  await app.inject({ url: "/write", headers: await carrying() });
  assertEquals(shared.user.name, "ada");
});

Deno.test("what a callback writes to the claims is not in the next read of the same token", async () => {
  const config = testConfig({
    callbacks: {
      session({ session, token }) {
        const seen = token.seen;
        token.seen = true;
        return { ...session, seen };
      },
    },
  });
  await using app = await testApp(config);
  const headers = await carrying();
  for (let i = 0; i < 3; i++) {
    assertEquals((await app.inject({ url: "/me", headers })).json().session.seen, undefined);
  }
});

Deno.test("S3: tokens that are not a session of ours mean no session, and are removed", async () => {
  const derived = (length: number, salt: string) =>
    new Uint8Array(hkdfSync("sha256", SECRET, salt, `Auth.js Generated Encryption Key (${salt})`, length));
  const claims = { name: "ada", exp: Math.floor(Date.now() / 1000) + 60 };
  const jwe = (header: { alg: string; enc: string }, key: Uint8Array, more = {}) =>
    new EncryptJWT({ ...claims, ...more }).setProtectedHeader(header).encrypt(key);
  const dir = { alg: "dir", enc: "A256CBC-HS512" };
  const good = await encode({ token: claims, secret: SECRET, salt: NAME });
  const tokens: Record<string, string> = {
    "expired": await encode({ token: claims, secret: SECRET, salt: NAME, maxAge: -60 }),
    "tampered": good.slice(0, -4) + "AAAA",
    "other salt": await encode({ token: claims, secret: SECRET, salt: `__Secure-${NAME}` }),
    "state": await encode({ token: claims, secret: SECRET, salt: "authjs.state" }),
    "pkce": await encode({ token: claims, secret: SECRET, salt: "authjs.pkce.code_verifier" }),
    "JWS": await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(
      createSecretKey(Buffer.from(SECRET)),
    ),
    "JWS with the derived key": await new SignJWT(claims).setProtectedHeader({ alg: "HS512" }).sign(
      derived(64, NAME),
    ),
    "none": new UnsecuredJWT(claims).encode(),
    "A128GCM": await jwe({ alg: "dir", enc: "A128GCM" }, derived(16, NAME)),
    "A128CBC-HS256": await jwe({ alg: "dir", enc: "A128CBC-HS256" }, derived(32, NAME)),
    "A256KW": await jwe({ alg: "A256KW", enc: "A256GCM" }, derived(32, NAME)),
    "PBES2": await jwe({ alg: "PBES2-HS256+A128KW", enc: "A256GCM" }, derived(32, NAME)),
    "not yet valid": await jwe(dir, derived(64, NAME), { nbf: claims.exp }),
    "exp that is no number": await jwe(dir, derived(64, NAME), { exp: `${claims.exp}` }),
  };
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(), { logger });
  for (const [name, token] of Object.entries(tokens)) {
    const answer = await app.inject({ url: "/me", headers: { cookie: `${NAME}=${token}` } });
    assertEquals([answer.statusCode, answer.json().session], [200, null], name);
    assertEquals(setCookies(answer), [`${NAME}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`], name);
  }
  assertEquals(lines.filter(({ level }) => level >= 50), []);
  for (const token of Object.values(tokens)) assert(!JSON.stringify(lines).includes(token));
});

Deno.test("S3: a token of a key that this process does not know means no session, and stays: a rotation may be under way", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(), { logger });
  const token = await encode({ token: { name: "ada" }, secret: "z".repeat(32), salt: NAME });
  const chunks = `${NAME}.0=${token.slice(0, 200)}; ${NAME}.1=${token.slice(200)}`;
  for (const cookie of [`${NAME}=${token}`, chunks]) {
    for (const url of ["/me", "/auth/session"]) {
      const answer = await app.inject({ url, headers: { cookie } });
      assertEquals([answer.statusCode, setCookies(answer)], [200, []], url);
      assertEquals(url === "/me" ? answer.json().session : answer.json(), null);
    }
  }
  assertEquals(lines.filter(({ authjs }) => authjs).map(({ level }) => level), [30, 30, 30, 30]);
});

Deno.test("a forged token is logged in a line without a stack, and nothing of it", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(), { logger });
  const good = await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME });
  for (const token of [good.slice(0, -6) + "AAAAAA", "x".repeat(5000), `${good}=`]) {
    await app.inject({ url: "/me", headers: { cookie: `${NAME}=${token}` } });
  }
  const told = lines.filter(({ authjs }) => authjs);
  assertEquals(told.map(({ level, authjs, msg }) => [level, msg, (authjs as { cause: unknown }).cause]), [
    [30, "Auth.js: JWTSessionError", { type: "JWEDecryptionFailed", message: "decryption operation failed" }],
    [30, "Auth.js: JWTSessionError", { type: "JWEInvalid", message: "Invalid Compact JWE" }],
    [30, "Auth.js: JWTSessionError", { type: "JWEInvalid", message: "Invalid Compact JWE" }],
  ]);
  assertEquals(told.filter((line) => JSON.stringify(line).includes("stack")), []);
});

Deno.test("however many cookies of a session come, sixteen are removed at most", async () => {
  await using app = await testApp();
  const cookie = Array.from({ length: 300 }, (_, i) => `${NAME}.${i}=${"x".repeat(20)}`).join("; ");
  const answer = await app.inject({ url: "/me", headers: { cookie } });
  assertEquals(answer.json().session, null);
  assertEquals(setCookies(answer).length, 16);
});

Deno.test("a token of more than 16 KB is not looked at, unless sessionCookieLimit allows it", async () => {
  const token = await encode({ token: { name: "ada", big: "x".repeat(14_000) }, secret: SECRET, salt: NAME });
  const chunks = token.match(/.{1,3936}/g)!.map((chunk, i) => `${NAME}.${i}=${chunk}`);
  for (const [sessionCookieLimit, name] of [[undefined, undefined], [32_000, "ada"], [0, "ada"]] as const) {
    await using app = await testApp(
      testConfig({ ...(sessionCookieLimit !== undefined && { sessionCookieLimit }) }),
    );
    const answer = await app.inject({ url: "/me", headers: { cookie: chunks.join("; ") } });
    assertEquals(answer.json().session?.user.name, name);
    assertEquals(setCookies(answer).length, name === undefined ? chunks.length : 0);
  }
});

Deno.test("a token that is remembered ends when it expires", async () => {
  // Core accepts a token for 15 seconds after its end: this one for another four.
  const token = await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME, maxAge: -11 });
  const accepted = (await decode({ token, secret: SECRET, salt: NAME }))!.exp! + 15;
  await using app = await testApp(testConfig({ callbacks: {} }));
  const read = async () => (await app.inject({ url: "/me", headers: { cookie: `${NAME}=${token}` } })).json().session;
  for (let time = 0; time < 3; time++) assertEquals((await read())?.user.name, "ada");
  while (Date.now() / 1000 < accepted) await new Promise((resolve) => setTimeout(resolve, 100));
  assertEquals(await read(), null);
});

Deno.test("S4: what a session callback returns is a session with a user, or there is no session", async () => {
  const cycle: Record<string, unknown> = { user: { name: "ada" } };
  cycle.self = cycle;
  const expires = new Date(Date.now() + 60_000).toISOString();
  const returned = [
    undefined,
    null,
    "x",
    1,
    true,
    [],
    {},
    { expires },
    { user: null },
    { user: "ada", expires },
    {
      user: [],
      expires,
    },
    { user: { id: 1n }, expires },
    cycle,
    () => ({ user: {} }),
  ];
  for (const value of returned) {
    await using app = await testApp(testConfig({ callbacks: { session: () => value as never } }));
    for (const [url, body] of [["/me", '{"session":null}'], ["/auth/session", "null"]] as const) {
      const answer = await app.inject({ url, headers: await carrying() });
      assertEquals([answer.statusCode, answer.body], [200, body], `${typeof value} ${String(value)}`);
    }
  }
});

Deno.test("S4: a jwt callback that returns false ends the session, as one that returns null does", async () => {
  for (const value of [null, false, "", 0]) {
    const bans = { ada: false };
    const config = testConfig({
      bearer: true,
      callbacks: { jwt: ({ token }) => (bans.ada ? value : token) as JWT | null },
    });
    await using app = await testApp(config);
    app.get("/guarded", { onRequest: requireSession(config) }, () => "in");
    const client = new Client(app);
    await client.signIn(ada);
    const { access_token } = (await client.post("/auth/token", { csrfToken: await client.csrfToken() })).json();
    const held = [{ cookie: client.cookie! }, { authorization: `Bearer ${access_token}` }];
    const read = async (url: string) =>
      await Promise.all(held.map(async (headers) => (await app.inject({ url, headers })).statusCode));
    assertEquals(await read("/guarded"), [200, 200]);
    bans.ada = true;
    const removed = setCookies(await app.inject({ url: "/me", headers: held[0]! }));
    assert(removed.some((line) => line.startsWith(`${NAME}=;`)), String(value));
    assertEquals(await read("/guarded"), [401, 401], String(value));
  }
});

Deno.test("S4: a jwt callback that returns what holds no claims is an error, and no session without a user", async () => {
  const results: Record<string, unknown> = {
    "a list": [{ name: "ada" }],
    "a map": new Map([["name", "ada"]]),
    "a response": new Response("{}"),
    "an error": new Error("boom"),
  };
  for (const [what, result] of Object.entries(results)) {
    let returned: { value: unknown } | undefined;
    const config = testConfig({
      bearer: true,
      callbacks: { jwt: ({ token }) => (returned ? returned.value : token) as JWT },
    });
    await using app = await testApp(config);
    app.get("/guarded", { onRequest: requireSession(config) }, () => "in");
    const client = new Client(app);
    await client.signIn(ada);
    const { access_token } = (await client.post("/auth/token", { csrfToken: await client.csrfToken() })).json();
    const bearer = { cookie: "", authorization: `Bearer ${access_token}` };
    const read = async (headers = {}) => (await client.get("/guarded", { headers })).statusCode;
    returned = { value: result };
    assertEquals([await read(), await read(bearer)], [503, 503], what);
    const other = new Client(app);
    assertEquals((await other.signIn(ada)).headers.location, "http://localhost/auth/error?error=Configuration", what);
    assertEquals((await other.get("/me")).json().session, null, what);
    returned = { value: "a text" };
    assertEquals(await read(bearer), 503, "a token for a header");
    returned = undefined;
    assertEquals([await read(), await read(bearer)], [200, 200], what);
  }
});

Deno.test("S5: malformed headers mean no session, and are never a 5xx", async () => {
  await using app = await testApp();
  const cookies = [
    "%",
    "=",
    ";",
    `${NAME}`,
    `${NAME}=%`,
    `${NAME}=%E0%A4%A`,
    `${NAME}="`,
    `${NAME}=${"A".repeat(5_000)}`,
  ];
  const authorizations = ["Bearer %", "Bearer", "Bearer ", "Bearer %E0%A4%A", "Basic x", "\u00ff"];
  for (
    const headers of [
      ...cookies.map((cookie) => ({ cookie })),
      ...authorizations.map((authorization) => ({ authorization })),
    ]
  ) {
    for (const url of ["/me", "/auth/session"]) {
      const answer = await app.inject({ url, headers });
      assertEquals(answer.statusCode, 200, JSON.stringify(headers));
      assertEquals(url === "/me" ? answer.json().session : answer.json(), null);
    }
  }
});

Deno.test("a token in the Authorization header is not a session: a cookie is what browsers are held to", async () => {
  await using app = await testApp();
  const token = await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME });
  const answer = await app.inject({ url: "/me", headers: { authorization: `Bearer ${token}` } });
  assertEquals(answer.json().session, null);
});

Deno.test("S6: without the right CSRF token and its cookie sign-in and sign-out do nothing, and a session update is a 400", async () => {
  await using app = await testApp();
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  const [hash] = client.cookies.get("authjs.csrf-token")!.split("%7C").slice(1);
  const stranger = await new Client(app).csrfToken();
  const attempts: Record<string, [cookie: boolean, token: string | undefined]> = {
    "missing": [true, undefined],
    "wrong": [true, "0".repeat(64)],
    "another browser's": [true, stranger],
    "the cookie's hash": [true, hash!],
    "without the cookie": [false, csrfToken],
  };
  for (const [name, [cookie, token]] of Object.entries(attempts)) {
    const form = { ...ada, ...(token !== undefined && { csrfToken: token }) };
    const headers = cookie ? { cookie: client.cookie! } : { cookie: "" };
    const answer = await app.inject({
      method: "POST",
      url: "/auth/callback/credentials",
      headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
      payload: new URLSearchParams(form).toString(),
    });
    assertStringIncludes(String(answer.headers.location), "error=MissingCSRF", name);
    assert(!setCookies(answer).some((line) => line.startsWith(NAME)), name);
    const update = await app.inject({
      method: "POST",
      url: "/auth/session",
      headers,
      payload: { ...(token !== undefined && { csrfToken: token }), data: {} },
    });
    assertEquals([update.statusCode, update.body], [400, "null"], name);
  }
});
