/** How large a session cookie may get: warned of from 3.5 KB, refused where `sessionCookieLimit` says, and never a trap. */
import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { decode, encode, type JWT } from "@auth/core/jwt";
import type { FastifyAuthConfig } from "fastify-authjs";
import type { AddressInfo } from "node:net";
import { captureLog, type LogLine, passwordProvider, SECRET, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { identityProvider, signInAs } from "../../support/identity.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const NAME = "authjs.session-token";
const ada = { username: "ada", password: "open" };
const DAY = 86_400;

/** An application whose tokens hold as much besides as `size` says. */
async function sizedApp(size: { bytes: number }, overrides: Partial<FastifyAuthConfig> = {}) {
  const { logger, lines } = captureLog();
  const config = testConfig({
    callbacks: {
      jwt: ({ token }) => ({ ...token, groups: secretOf(size.bytes), roles: ["a", "b"] }),
    },
    ...overrides,
  });
  const app = await testApp(config, { logger });
  return { app, lines };
}

const secretOf = (bytes: number) => "s3cret-".repeat(Math.ceil(bytes / 7)).slice(0, bytes);
const sessionCookies = (answer: Answer) => setCookies(answer).filter((line) => line.startsWith(NAME));
const held = (client: Client) => [...client.cookies.keys()].filter((name) => name.startsWith(NAME)).sort();
const above = (lines: LogLine[], level: number) => lines.filter((line) => line.level >= level);

/** The bytes of the session in a Cookie header. */
const sizeIn = (client: Client) => client.cookie!.split("; ").filter((pair) => pair.startsWith(NAME)).join("; ").length;

Deno.test("from 3.5 KB on there is one warning, which names the largest claims and no value", async () => {
  const size = { bytes: 100 };
  const { app, lines } = await sizedApp(size);
  await using _app = app;
  await new Client(app).signIn(ada);
  assertEquals(above(lines, 40), []);
  size.bytes = 2_500;
  for (let time = 0; time < 2; time++) {
    const client = new Client(app);
    await client.signIn(ada);
    assert(sizeIn(client) > 3584 && sizeIn(client) < 4096);
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
  }
  assertEquals(above(lines, 40).length, 1);
  const [{ level, msg }] = above(lines, 40) as [LogLine];
  assertEquals(level, 40);
  assertStringIncludes(msg, "groups (2502 bytes), roles (9 bytes), sub (8 bytes)");
  assert(!JSON.stringify(lines).includes("s3cret-s3cret"));
});

Deno.test("a read that renews a large session warns too, once", async () => {
  const { app, lines } = await sizedApp({ bytes: 2_500 });
  await using _app = app;
  const token = await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME });
  for (let time = 0; time < 2; time++) {
    await app.inject({ url: "/me", headers: { cookie: `${NAME}=${token}` } });
  }
  assertEquals(above(lines, 40).map(({ msg }) => msg.includes("groups (2502 bytes)")), [true]);
});

/** A sign-in of each kind, up to the answer that opens the session. */
const SIGN_INS: Record<string, (client: Client, links: string[]) => Promise<Answer>> = {
  "a password": (client) => client.signIn(ada),
  "OAuth": (client) => signInAs(client, "one", { id: "1", email: "ada@example.com" }),
  "a sign-in link": async (client, links) => {
    const csrfToken = await client.csrfToken();
    await client.post("/auth/signin/mail", { csrfToken, email: "ada@example.com" });
    const { pathname, search } = new URL(links.pop()!);
    return await client.confirm(pathname + search);
  },
};

function everyProvider(links: string[]): Partial<FastifyAuthConfig> {
  return {
    providers: [
      passwordProvider(),
      identityProvider("one"),
      {
        id: "mail",
        name: "mail",
        type: "email",
        sendVerificationRequest: ({ url }: { url: string }) => void links.push(url),
      },
    ],
    adapter: memoryAdapter(),
    session: { strategy: "jwt" },
  };
}

for (const [kind, signIn] of Object.entries(SIGN_INS)) {
  Deno.test(`a session too large is refused when signing in with ${kind}: a named error, no session, a line in the log`, async () => {
    const links: string[] = [];
    const size = { bytes: 8_000 };
    const { app, lines } = await sizedApp(size, everyProvider(links));
    await using _app = app;
    const client = new Client(app);
    const answer = await signIn(client, links);
    assertEquals([answer.statusCode, answer.headers.location], [
      302,
      "http://localhost/auth/error?error=SessionTooLarge",
    ]);
    assertEquals([sessionCookies(answer), held(client)], [[], []]);
    assertEquals((await client.get("/me")).json().session, null);

    const [line, ...others] = above(lines, 40) as [LogLine];
    assertEquals([line.level, others], [50, []]);
    const { type, code, message } = line.authjs as Record<string, string>;
    assertEquals([type, code], ["SessionTooLarge", "FST_AUTHJS_SESSION_TOO_LARGE"]);
    assertStringIncludes(message!, "`sessionCookieLimit` is 8192");
    assertStringIncludes(message!, "groups (8002 bytes)");
    assert(!JSON.stringify(lines).includes("s3cret-s3cret"));

    size.bytes = 100;
    await signIn(client, links);
    assertEquals((await client.get("/me")).json().session !== null, true);
  });
}

Deno.test("the refusal reaches scripts and an error page of the application's own; core's page says where to look", async () => {
  const { app } = await sizedApp({ bytes: 8_000 }, { pages: { error: "/oops" } });
  const client = new Client(app);
  assertEquals((await client.signIn(ada)).headers.location, "http://localhost/oops?error=SessionTooLarge");
  const csrfToken = await client.csrfToken();
  const answer = await client.post("/auth/callback/credentials", { csrfToken, ...ada }, {
    "x-auth-return-redirect": "1",
  });
  assertEquals(answer.json(), { url: "http://localhost/oops?error=SessionTooLarge" });
  await app.close();

  const other = await sizedApp({ bytes: 8_000 });
  const page = await new Client(other.app).get("/auth/error?error=SessionTooLarge");
  assertEquals(page.statusCode, 200);
  assertStringIncludes(page.body, "Signing in does not work for this account");
  await other.app.close();
});

Deno.test("a session too large does not end the one that the browser has", async () => {
  const size = { bytes: 100 };
  const { app } = await sizedApp(size);
  await using _app = app;
  const client = new Client(app);
  await client.signIn(ada);
  size.bytes = 8_000;
  await client.signIn({ username: "grace", password: "open" });
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
});

Deno.test("a read that would make a session too large leaves the cookie as it is, and says so once", async () => {
  const size = { bytes: 100 };
  const { app, lines } = await sizedApp(size);
  await using _app = app;
  const client = new Client(app);
  await client.signIn(ada);
  const before = client.cookies.get(NAME);
  size.bytes = 8_000;
  for (let time = 0; time < 3; time++) {
    const answer = await client.get(time === 1 ? "/auth/session" : "/me");
    assertEquals(answer.statusCode, 200);
    assertEquals(sessionCookies(answer), []);
  }
  assertEquals(client.cookies.get(NAME), before);
  const [line, ...others] = above(lines, 40) as [LogLine];
  assertEquals([line.level, others], [50, []]);
  assertEquals((line.authjs as { code: string }).code, "FST_AUTHJS_SESSION_TOO_LARGE");
  assertStringIncludes(line.msg, "groups (8002 bytes)");
  size.bytes = 200;
  assertEquals(sessionCookies(await client.get("/me")).length, 1);
});

Deno.test("a session that may not grow is renewed all the same", async () => {
  await withClock(async (clock) => {
    const size = { bytes: 100 };
    const { app } = await sizedApp(size, {
      session: { maxAge: 1800 },
      callbacks: { jwt: ({ token }) => Object.assign(token, { groups: secretOf(size.bytes) }) },
    });
    await using _app = app;
    const client = new Client(app);
    await client.signIn(ada);
    size.bytes = 8_000;
    for (let time = 0; time < 10; time++) {
      clock.now += 1_200_000;
      const { session } = (await client.get("/me")).json();
      assertEquals(Date.parse(session.expires), Math.floor(clock.now / 1000 + 1800) * 1000);
    }
    const claims = await decode({ token: client.cookies.get(NAME)!, secret: SECRET, salt: NAME });
    assertEquals((claims!.groups as string).length, 100);
  });
});

Deno.test("POST /auth/session that would make a session too large is a 413, and the session stays as it was", async () => {
  const { app, lines } = await sizedApp({ bytes: 0 }, {
    callbacks: {
      jwt: ({ token, trigger, session }) => trigger === "update" ? { ...token, notes: session.notes } : token,
    },
  });
  await using _app = app;
  const client = new Client(app);
  await client.signIn(ada);
  const before = client.cookies.get(NAME);
  const update = async (notes: string) => {
    const json = { csrfToken: await client.csrfToken(), data: { notes } };
    return await client.request("POST", "/auth/session", { json });
  };
  const answer = await update(secretOf(8_000));
  assertEquals([answer.statusCode, answer.json().code], [413, "FST_AUTHJS_SESSION_TOO_LARGE"]);
  assertEquals([sessionCookies(answer), client.cookies.get(NAME)], [[], before]);
  assertEquals(above(lines, 50).map(({ authjs }) => (authjs as { code: string }).code), [
    "FST_AUTHJS_SESSION_TOO_LARGE",
  ]);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
  assertEquals((await update("short")).statusCode, 200);
  assert(client.cookies.get(NAME) !== before);
});

Deno.test("sessionCookieLimit is kept to the byte, in one cookie and in several", async () => {
  for (const bytes of [500, 4_000]) {
    const app = await testApp(testConfig({ ...grown(bytes), sessionCookieLimit: 0 }));
    const client = new Client(app);
    await client.signIn(ada);
    const size = sizeIn(client) + "; ".length;
    await app.close();
    for (const [sessionCookieLimit, fits] of [[size, true], [size - 1, false]] as const) {
      await using app = await testApp(testConfig({ ...grown(bytes), sessionCookieLimit }));
      const client = new Client(app);
      await client.signIn(ada);
      assertEquals(held(client).length > 0, fits, `${size} bytes, ${sessionCookieLimit} allowed`);
    }
  }
});

Deno.test("without a limit a session is as large as can be read, in 16 cookies", async () => {
  await using app = await testApp(testConfig({ ...grown(34_000), sessionCookieLimit: 0 }));
  const client = new Client(app);
  await client.signIn(ada);
  assert(held(client).length > 8);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
  const { logger, lines } = captureLog();
  await using larger = await testApp(testConfig({ ...grown(70_000), sessionCookieLimit: 0 }), { logger });
  const answer = await new Client(larger).signIn(ada);
  assertStringIncludes(String(answer.headers.location), "error=SessionTooLarge");
  const told = JSON.stringify(lines.filter(({ level }) => level === 50));
  assertStringIncludes(told, "no more than 62976 are read");
  assertFalse(told.includes("raise the limit"));
});

const grown = (bytes: number): Partial<FastifyAuthConfig> => ({
  callbacks: { jwt: ({ token }) => ({ ...token, groups: secretOf(bytes) }) },
});

Deno.test("what an application's own encoder makes is held to the limit too", async () => {
  const { app } = await sizedApp({ bytes: 0 }, {
    callbacks: {},
    jwt: { encode: () => "%".repeat(3_000), decode: () => ({ name: "ada" }) },
  });
  await using _app = app;
  const answer = await new Client(app).signIn(ada);
  assertStringIncludes(String(answer.headers.location), "error=SessionTooLarge");
});

Deno.test("a session that was larger before there was a limit goes on, and does not grow", async () => {
  const size = { bytes: 7_000 };
  const { app, lines } = await sizedApp(size);
  await using _app = app;
  const claims: JWT = { name: "ada", groups: secretOf(7_000), roles: ["a", "b"] };
  const client = new Client(app);
  client.cookies.set(NAME, await encode({ token: claims, secret: SECRET, salt: NAME, maxAge: DAY }));
  const answer = await client.get("/me");
  assertEquals(answer.json().session.user.name, "ada");
  assertEquals(held(client), [0, 1, 2].map((i) => `${NAME}.${i}`));
  assertEquals(above(lines, 50), []);
  const update = async () => {
    const json = { csrfToken: await client.csrfToken(), data: {} };
    return (await client.request("POST", "/auth/session", { json })).statusCode;
  };
  assertEquals(await update(), 200);
  assertEquals(above(lines, 50), []);
  size.bytes = 9_000;
  assertEquals(sessionCookies(await client.get("/me")), []);
  assertEquals(above(lines, 50).length, 1);
  assertEquals(await update(), 413);
});

Deno.test("the largest session that is allowed is read and signed out over a real connection", async () => {
  const { app } = await sizedApp({ bytes: 5_600 });
  await using _app = app;
  await app.listen({ port: 0, host: "127.0.0.1" });
  const client = new Client(app, { host: "localhost" });
  await client.signIn(ada);
  assert(sizeIn(client) > 7_500 && sizeIn(client) <= 8192, String(sizeIn(client)));
  const address = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const csrfToken = await client.csrfToken();
  const headers = { cookie: client.cookie!, "content-type": "application/x-www-form-urlencoded" };
  const session = await (await fetch(`${address}/auth/session`, { headers })).json();
  assertEquals(session.user.name, "ada");
  const answer = await fetch(`${address}/auth/signout`, {
    method: "POST",
    headers,
    body: new URLSearchParams({ csrfToken }).toString(),
    redirect: "manual",
  });
  await answer.body?.cancel();
  const removed = answer.headers.getSetCookie().filter((line) => line.startsWith(NAME));
  assertEquals(removed.map((line) => /^([^=]+)=;.*Max-Age=0/.exec(line)?.[1]), held(client));
});

Deno.test("a sessionCookieLimit that no session fits in stops the boot", async () => {
  for (const limit of [8, -1, NaN, "8192", null]) {
    const error = await testApp(testConfig({ sessionCookieLimit: limit as number })).then(
      () => undefined,
      (error) => error,
    );
    assertEquals(error?.code, "FST_AUTHJS_CONFIG_INVALID", String(limit));
    assertStringIncludes(error.message, "`sessionCookieLimit` must be a number of bytes");
  }
});
