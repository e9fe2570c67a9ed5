/** Limits on signing in: by address, by account, by recipient, and on what runs at the same time. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import rateLimit from "@fastify/rate-limit";
import swagger from "@fastify/swagger";
import Fastify, { type FastifyInstance } from "fastify";
import {
  createAuth,
  FastifyAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  memoryStore,
  type RateLimitOptions,
} from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import GitHub from "fastify-authjs/providers/github";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import Passkey from "fastify-authjs/providers/passkey";
import { Redis } from "ioredis";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, createCluster } from "redis";
import { loadRateLimit } from "../../../src/features/rate_limit/counters.ts";
import { captureLog, passwordProvider, SECRET, testApp, testConfig } from "../../support/app.ts";
import { attemptsOf } from "../../support/attempts.ts";
import { type Answer, Client, formIn } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { serverUrl } from "../../support/databases.ts";
import { deferred } from "../../support/deferred.ts";
import { withEnvironment } from "../../support/environment.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { Acme, finishSignIn } from "../../support/token_provider.ts";

const HOUR = 3_600_000;
const ADA = { username: "ada", password: "open" };
const GUESS = { username: "ada", password: "guess" };

/** An application behind a proxy, which names the address of each client. */
function limitedApp(options: RateLimitOptions | boolean, config: Partial<FastifyAuthConfig> = {}) {
  return testApp(testConfig({ rateLimit: options, ...config }), { trustProxy: true });
}

/** A browser at an address. */
function at(app: FastifyInstance, address = "192.0.2.1", headers: Record<string, string> = {}): Client {
  return new Client(app, { "x-forwarded-for": address, ...headers });
}

const statusOf = ({ statusCode }: Answer) => statusCode;
const limit = (max: number) => ({ max, timeWindow: HOUR });

Deno.test("without rateLimit nothing is limited", async () => {
  await using app = await limitedApp(false);
  const client = at(app);
  for (let i = 0; i < 70; i++) {
    assertEquals(statusOf(await client.post("/auth/callback/credentials", GUESS)), 302);
  }
});

Deno.test("failed attempts on one account from one address are limited, whatever the password is then", async () => {
  await using app = await limitedApp({ accountFromAddress: limit(2) });
  const client = at(app);
  assertEquals(statusOf(await client.signIn(GUESS)), 302);
  assertEquals(statusOf(await client.signIn({ ...GUESS, username: " ADA" })), 302);
  const refused = await client.signIn(ADA);
  assertEquals([refused.statusCode, refused.headers["retry-after"]], [429, "3600"]);
  assertEquals(statusOf(await at(app).signIn(ADA)), 429, "another browser at that address");
  assertEquals(statusOf(await client.signIn({ ...ADA, username: "grace" })), 302, "another user");
  assertEquals((await client.get("/me")).json().session.user.name, "grace");
  assertEquals(statusOf(await at(app, "192.0.2.2").signIn(ADA)), 302, "the user, at another address");
});

Deno.test("attempts that succeed are not counted, and neither are those without a CSRF token", async () => {
  await using app = await limitedApp({ accountFromAddress: limit(1), account: limit(1) });
  const client = at(app);
  for (let i = 0; i < 3; i++) {
    assertEquals(statusOf(await client.post("/auth/callback/credentials", GUESS)), 302);
    assertEquals(statusOf(await client.signIn(ADA)), 302);
  }
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
});

Deno.test("attempts that authorize() ends with any error are counted", async () => {
  const authorize = () => {
    throw new Error("wrong");
  };
  const providers = [Credentials({ credentials: { username: {}, password: {} }, authorize })];
  await using app = await limitedApp({ account: limit(1) }, { providers });
  assertEquals(statusOf(await at(app).signIn(ADA)), 302);
  assertEquals(statusOf(await at(app).signIn(ADA)), 429);
});

Deno.test("a form in multipart/form-data that comes too often gets the page, which is not filled in again", async () => {
  const send = async (config: Partial<FastifyAuthConfig> = {}) => {
    await using app = await limitedApp({ address: limit(1) }, config);
    for (let i = 0; i < 2; i++) await at(app).signIn(GUESS);
    return await app.inject(request);
  };
  const request = {
    method: "POST",
    url: "/auth/callback/credentials",
    headers: {
      "x-forwarded-for": "192.0.2.1",
      accept: "text/html",
      "content-type": "multipart/form-data; boundary=x",
    },
    payload: '--x\r\ncontent-disposition: form-data; name="username"\r\n\r\nada\r\n--x--\r\n',
  } as const;
  const answer = await send();
  assertEquals([answer.statusCode, /value="ada"/.test(answer.body)], [429, false]);
  assert(answer.body.includes("<form"), answer.body);
  // Without a form of ours there is a page that says so.
  const page = await send({ pages: { signIn: "/login" } });
  assertEquals([page.statusCode, page.body.includes("<form")], [429, false]);
});

Deno.test("failed attempts on one account are limited over all addresses", async () => {
  await using app = await limitedApp({ account: limit(3) });
  for (const host of [1, 2, 3]) assertEquals(statusOf(await at(app, `192.0.2.${host}`).signIn(GUESS)), 302);
  assertEquals(statusOf(await at(app, "192.0.2.4").signIn(ADA)), 429);
});

Deno.test("an account is that of rateLimit.accountName, else of the first field that is no password", async () => {
  const providers = [Credentials({
    credentials: { password: { type: "password" }, tenant: {}, username: {} },
    authorize: () => null,
  })];
  const guess = { tenant: "acme", ...GUESS };
  const accountName: RateLimitOptions["accountName"] = ({ tenant, username }, provider) =>
    `${provider} ${tenant} ${username}`;
  for (const [options, expected] of [[{}, 429], [{ accountName }, 302]] as const) {
    await using app = await limitedApp({ account: limit(1), ...options }, { providers });
    assertEquals(statusOf(await at(app).signIn(guess)), 302);
    assertEquals(statusOf(await at(app).signIn({ ...guess, username: "grace" })), expected);
    assertEquals(statusOf(await at(app).signIn(guess)), 429);
  }
});

Deno.test("a field named password is no account, also without a type", async () => {
  const providers = [Credentials({ credentials: { password: {}, username: {} }, authorize: () => null })];
  await using app = await limitedApp({ account: limit(1) }, { providers });
  assertEquals(statusOf(await at(app).signIn(GUESS)), 302);
  assertEquals(statusOf(await at(app).signIn({ ...GUESS, password: "another guess" })), 429);
});

Deno.test("rateLimit.accountName may give a number or a promise, and null if the account is unknown", async () => {
  const accountOf: Record<string, (fields: Readonly<Record<string, unknown>>) => unknown> = {
    number: ({ username }) => String(username).length,
    promise: ({ username }) => Promise.resolve(username),
    null: () => null,
  };
  for (const [name, accountName] of Object.entries(accountOf)) {
    await using app = await limitedApp({ account: limit(1), accountName: accountName as never });
    const statuses = [];
    for (const username of ["ada", "ada", "grace"]) {
      statuses.push(statusOf(await at(app).signIn({ ...GUESS, username })));
    }
    assertEquals(statuses, [302, name === "null" ? 302 : 429, 302], name);
  }
});

Deno.test("an attempt whose account rateLimit.accountName cannot tell is refused, and the log says why", async () => {
  const { logger, lines } = captureLog();
  const accountName = ({ name }: Readonly<Record<string, unknown>>) => (name as string).toLowerCase();
  await using app = await testApp(testConfig({ rateLimit: { accountName } }), { logger });
  const answer = await at(app).signIn(ADA);
  assertEquals([statusOf(answer), answer.headers.location], [302, "http://localhost/auth/error?error=Configuration"]);
  const [{ msg } = {}] = lines.filter(({ level }) => level === 50);
  assertMatch(String(msg), /`rateLimit\.accountName` failed.*toLowerCase/);
});

Deno.test("an error of rateLimit.accountName that repeats the fields is logged without them", async () => {
  const { logger, lines } = captureLog();
  const accountName = (fields: Readonly<Record<string, unknown>>) => {
    throw new Error(`There is no name in ${JSON.stringify(fields)}.`);
  };
  await using app = await testApp(testConfig({ rateLimit: { accountName } }), { logger });
  await at(app).signIn({ username: "ada@example.com", password: "open sesame" });
  const log = JSON.stringify(lines);
  assertStringIncludes(log, "There is no name in");
  for (const typed of ["ada@example.com", "open sesame"]) assert(!log.includes(typed), typed);
});

Deno.test("requests of one address are limited: sign-ins and callbacks, not pages, tokens and sessions", async () => {
  const providers = [GitHub({ clientId: "id", clientSecret: "secret" }), passwordProvider()];
  await using app = await limitedApp({ address: limit(4) }, { providers });
  const client = at(app);
  for (let i = 0; i < 3; i++) {
    for (const path of ["signin", "signin/github", "csrf", "session", "providers", "error", "signout"]) {
      assert(statusOf(await client.get(`/auth/${path}`)) < 429, path);
    }
  }
  const csrfToken = await client.csrfToken();
  const beginner = at(app, "192.0.2.3");
  await beginner.post("/auth/signin/github", { csrfToken: await beginner.csrfToken() });
  const cookie = beginner.cookie!;
  const requests = [
    () => client.post("/auth/signin/github", { csrfToken }),
    () => client.get("/auth/callback/github?error=access_denied", { headers: { cookie } }),
    () => client.get("/auth/callback/github/?error=access_denied", { headers: { cookie } }),
    () => client.post("/auth/callback/credentials", GUESS),
  ];
  for (const request of requests) assertEquals(statusOf(await request()), 302);
  for (const request of requests) assertEquals(statusOf(await request()), 429);
  assertEquals(statusOf(await client.post("/auth/signout", { csrfToken })), 302, "a sign-out");
  const other = at(app, "192.0.2.2");
  const headers = { cookie };
  assertEquals(
    statusOf(await other.get("/auth/callback/github?error=access_denied", { headers })),
    302,
    "another address",
  );
});

Deno.test("X6: callbacks without a check cookie of a sign-in that began here use up nothing", async () => {
  const acme = new Acme();
  const config = { providers: [acme.provider, passwordProvider()] };
  await using app = await limitedApp({ address: limit(4) }, config);
  const visitor = at(app);
  const other = new Client(app);
  await other.post("/auth/signin/acme", { csrfToken: await other.csrfToken() });
  const [attempt] = attemptsOf(other);
  const forged = `${attempt}=forged; authjs.state=forged`;
  for (
    const headers of [{}, { cookie: forged }, { "sec-fetch-site": "cross-site", "sec-fetch-dest": "image" }]
  ) {
    for (let i = 0; i < 5; i++) {
      const options = { headers: headers as Record<string, string> };
      assertEquals(statusOf(await visitor.get("/auth/callback/acme?code=a&state=b", options)), 302);
      const form = { code: "a", state: "b" };
      assertEquals(statusOf(await visitor.request("POST", "/auth/callback/acme", { form, ...options })), 302);
    }
  }
  assertEquals(acme.requests.length, 0, "they cost no request to the provider either");
  assertEquals(statusOf(await finishSignIn(visitor)), 302);
  assertEquals((await visitor.get("/me")).json().session.user.name, "ada", "two requests");
  await visitor.post("/auth/signin/acme", { csrfToken: await visitor.csrfToken() });
  const { cookie } = visitor;
  for (const expected of [302, 429]) {
    const options = { headers: { cookie: cookie! } };
    assertEquals(statusOf(await visitor.get("/auth/callback/acme?code=a&state=b", options)), expected);
  }
});

Deno.test("X6: pages of other sites cannot use up an address by passkeys or logout tokens", async () => {
  const config = {
    adapter: memoryAdapter(),
    session: { strategy: "jwt" as const },
    store: memoryStore(),
    revocable: true,
    providerLogout: { signOut: false, backchannel: true },
    experimental: { enableWebAuthn: true },
    providers: [Passkey, {
      ...new Acme().provider,
      type: "oidc",
      issuer: "https://acme.example",
      jwks_endpoint: "https://acme.example/keys",
    } as never],
  };
  await using app = await limitedApp({ address: limit(1) }, config);
  const headers = { "sec-fetch-site": "cross-site" };
  for (let i = 0; i < 3; i++) {
    const options = await at(app).get("/auth/webauthn-options/passkey", { headers });
    assertEquals([options.statusCode, options.json().code], [403, "FST_AUTHJS_CROSS_SITE"]);
  }
  const logout = () => at(app).post("/auth/backchannel-logout/acme", { logout_token: "a" }, headers);
  assertEquals([statusOf(await logout()), statusOf(await logout())], [400, 429]);
  assertEquals(statusOf(await at(app).get("/auth/webauthn-options/passkey")), 200);
});

Deno.test("IPv6 addresses of one /64 network count as one, and mapped IPv4 addresses as IPv4", async () => {
  await using app = await limitedApp({ address: limit(1) });
  const post = async (address: string) => statusOf(await at(app, address).post("/auth/callback/credentials", GUESS));
  assertEquals(await post("2001:db8:0:1::1"), 302);
  assertEquals(await post("2001:db8:0:1:ffff::2"), 429);
  assertEquals(await post("2001:db8:0:2::1"), 302);
  assertEquals(await post("192.0.2.7"), 302);
  assertEquals(await post("::ffff:192.0.2.7"), 429);
});

Deno.test("an address counts without the port that some proxies add", async () => {
  await using app = await limitedApp({ address: limit(1) });
  const post = async (address: string) => statusOf(await at(app, address).post("/auth/callback/credentials", GUESS));
  assertEquals(await post("192.0.2.1:50001"), 302);
  assertEquals(await post("192.0.2.1:50002"), 429);
  assertEquals(await post("192.0.2.1"), 429);
  assertEquals(await post("[2001:db8::1]:50001"), 302);
  assertEquals(await post("[2001:db8::2]:50002"), 429);
  assertEquals(await post("2001:db8::3"), 429);
});

Deno.test("an account counts once, however databases may take its name to be spelled", async () => {
  await using app = await limitedApp({ account: limit(1) });
  const names = ["Zoë", "zoe", "ZOË", "zoe\u0308", "z\u200Bo\u0000e", "ｚｏｅ", " zoe\t"];
  const [first, ...others] = names.map((username) => ({ ...GUESS, username }));
  assertEquals(statusOf(await at(app).signIn(first!)), 302);
  for (const other of others) assertEquals(statusOf(await at(app).signIn(other)), 429, other.username);
  assertEquals(statusOf(await at(app).signIn({ ...GUESS, username: "zo" })), 302);
});

Deno.test("X4: an account counts once with strokes, ligatures and letters of other widths", async () => {
  await using app = await limitedApp({ account: limit(1) });
  const [first, ...others] = ["Søren Łuß", "soren luss", "SOREN LUSS", "ｓøren łuẞ"]
    .map((username) => ({ ...GUESS, username }));
  assertEquals(statusOf(await at(app).signIn(first!)), 302);
  for (const other of others) assertEquals(statusOf(await at(app).signIn(other)), 429, other.username);
});

Deno.test("X4: mails to the Unicode and the Punycode form of a domain count as mails to one recipient", async () => {
  const { config } = mailing();
  await using app = await limitedApp({ mail: limit(1) }, config);
  assertEquals(statusOf(await ask(at(app), "ada@bücher.example")), 302);
  assertEquals(statusOf(await ask(at(app), "ada@xn--bcher-kva.example")), 429);
  assertEquals(statusOf(await ask(at(app), "ada@BÜCHER.example")), 429);
});

Deno.test("Retry-After is that of the limit that is over last", async () => {
  const accountFromAddress = { max: 1, timeWindow: 60_000 };
  await using app = await limitedApp({ account: limit(1), accountFromAddress });
  assertEquals(statusOf(await at(app).signIn(GUESS)), 302);
  const refused = await at(app).signIn(ADA);
  assertEquals([refused.statusCode, refused.headers["retry-after"]], [429, "3600"]);
});

Deno.test("a limit starts anew when its time is over", async () => {
  await using app = await limitedApp({ account: { max: 1, timeWindow: 60_000 } });
  await withClock(async (clock) => {
    assertEquals(statusOf(await at(app).signIn(GUESS)), 302);
    clock.now += 45_000;
    const refused = await at(app).signIn(ADA);
    assertEquals([refused.statusCode, refused.headers["retry-after"]], [429, "15"]);
    clock.now += 15_000;
    const client = at(app);
    await client.signIn(ADA);
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
  });
});

Deno.test("a script gets 429 as JSON; one that reads `url` gets the sign-in page with the error", async () => {
  await using app = await limitedApp({ address: limit(1) });
  await at(app).signIn(GUESS);
  for (const headers of [{ accept: "application/json" }, { "x-auth-return-redirect": "prefer-status" }]) {
    const answer = await at(app, "192.0.2.1", headers as Record<string, string>).signIn(ADA);
    assertEquals([answer.statusCode, answer.headers["retry-after"]], [429, "3600"]);
    assertEquals(answer.headers["cache-control"], "private, no-cache, no-store");
    assertEquals(answer.json(), {
      error: "TooManyRequests",
      code: "FST_AUTHJS_TOO_MANY_REQUESTS",
      message: "Too many requests. Try again in 3600 seconds.",
    });
  }
  const answer = await at(app, "192.0.2.1", { "x-auth-return-redirect": "1" }).signIn(ADA);
  assertEquals([answer.statusCode, answer.headers["retry-after"]], [200, "3600"]);
  assertEquals(answer.json(), { url: "http://localhost/auth/signin?error=TooManyRequests" });
});

Deno.test("a browser gets 429 with the built-in page, or is led to the error page of the application", async () => {
  const accept = "text/html,application/xhtml+xml";
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ rateLimit: { address: limit(1) } }), { logger });
  await new Client(app).signIn(GUESS);
  const page = await new Client(app, { accept }).signIn(ADA);
  assertEquals([page.statusCode, page.headers["retry-after"]], [429, "3600"]);
  assertMatch(String(page.headers["content-type"]), /^text\/html/);
  assertStringIncludes(page.body, "Too many attempts");
  assertEquals(lines.filter(({ level, msg }) => level > 30 && /Too many/.test(msg)), []);

  await using own = await limitedApp({ address: limit(1) }, { pages: { error: "/oops" } });
  await at(own).signIn(GUESS);
  const answer = await at(own, "192.0.2.1", { accept }).signIn(ADA);
  assertEquals([answer.statusCode, answer.headers["retry-after"]], [302, "3600"]);
  assertEquals(answer.headers.location, "http://localhost/oops?error=TooManyRequests");
});

Deno.test("a client that breaks off the form of a request that is too many is no error in the log", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ rateLimit: { address: limit(1) } }), { logger });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/auth/callback/credentials`;
  await (await fetch(url, { method: "POST", body: new URLSearchParams(ADA) })).body?.cancel();
  const arrived = deferred();
  app.server.once("request", () => arrived.resolve());
  const headers = { accept: "text/html", "content-type": "application/x-www-form-urlencoded", "content-length": "99" };
  const request = httpRequest(url, { method: "POST", headers });
  request.on("error", () => {});
  request.write("username=ada");
  await arrived.promise;
  request.destroy();
  const isOver = () => lines.some(({ level, msg }) => level > 30 || /Too many requests/.test(msg));
  for (let tries = 0; !isOver() && tries < 1000; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  assert(isOver(), "nothing was logged in ten seconds");
  assertEquals(lines.filter(({ level }) => level > 30), []);
});

Deno.test("the page of a browser that gets 429 has nothing that another browser has sent", async () => {
  await using app = await testApp(testConfig({ rateLimit: { address: limit(1) } }));
  await new Client(app).signIn(GUESS);
  const accept = "text/html";
  for (const asked of ["prompt=login&email=eve%40example.com", "prompt=login&max_age=60", undefined]) {
    const page = await new Client(app, { accept }).signIn({ ...ADA, ...(asked && { asked }) });
    assertEquals([statusOf(page), formIn(page).fields.asked], [429, asked]);
  }
});

Deno.test("any other client gets the 429 of the application's error handler", async () => {
  await using app = await limitedApp({ address: limit(1) });
  await at(app).signIn(GUESS);
  const answer = await at(app).signIn(ADA);
  assertEquals([answer.statusCode, answer.headers["retry-after"]], [429, "3600"]);
  assertEquals(answer.json(), {
    statusCode: 429,
    code: "FST_AUTHJS_TOO_MANY_REQUESTS",
    error: "Too Many Requests",
    message: "Too many requests. Try again in 3600 seconds.",
  });
});

/** A provider that hands out short codes, as some applications do, and the codes that it mailed. */
function mailing() {
  const sent: { identifier: string; url: string }[] = [];
  const provider = Nodemailer({
    server: "smtp://127.0.0.1:1",
    generateVerificationToken: () => "123456",
    sendVerificationRequest: (params) => void sent.push(params),
  });
  return { sent, config: { adapter: memoryAdapter(), providers: [provider] } };
}

async function ask(client: Client, email: string): Promise<Answer> {
  return await client.post("/auth/signin/nodemailer", { csrfToken: await client.csrfToken(), email });
}

Deno.test("mails to one recipient are limited, however it is spelled and whoever asks", async () => {
  const { sent, config } = mailing();
  await using app = await limitedApp({ mail: limit(2) }, config);
  assertEquals(statusOf(await ask(at(app), "ada@example.com")), 302);
  assertEquals(statusOf(await ask(at(app, "192.0.2.2"), " Ada@EXAMPLE.com")), 302);
  const refused = await ask(at(app, "192.0.2.3"), "ada@example.com");
  assertEquals([refused.statusCode, refused.headers["retry-after"]], [429, "3600"]);
  assertEquals(statusOf(await ask(at(app), "grace@example.com")), 302);
  assertEquals(statusOf(await ask(at(app), "no address")), 302, "refused as such");
  assertEquals(sent.map(({ identifier }) => identifier), [
    "ada@example.com",
    "ada@example.com",
    "grace@example.com",
  ]);
});

Deno.test("mails to sub-addresses count as mails to their mailbox", async () => {
  const { sent, config } = mailing();
  await using app = await limitedApp({ mail: limit(2) }, config);
  const statuses = [];
  for (const email of ["ada+a@example.com", "Ada+b@example.com", "ada+c@example.com", "ada@example.com"]) {
    statuses.push(statusOf(await ask(at(app), email)));
  }
  assertEquals(statuses, [302, 302, 429, 429]);
  assertEquals(statusOf(await ask(at(app), "+ada@example.com")), 302, "no sub-address");
  assertEquals(sent.map(({ identifier }) => identifier), [
    "ada+a@example.com",
    "ada+b@example.com",
    "+ada@example.com",
  ]);
});

Deno.test("requests without a CSRF token, which send no mail, use up none of the recipient's", async () => {
  const { sent, config } = mailing();
  await using app = await limitedApp({ mail: limit(1) }, config);
  const email = "ada@example.com";
  for (const csrfToken of ["", "wrong"]) {
    await at(app).post("/auth/signin/nodemailer", { csrfToken, email });
  }
  assertEquals(sent, []);
  assertEquals(statusOf(await ask(at(app), email)), 302);
  assertEquals(statusOf(await ask(at(app), email)), 429);
  assertEquals(sent.length, 1);
});

for (const emailConfirm of [true, false]) {
  Deno.test(`guesses of a mailed code are limited, with emailConfirm ${emailConfirm}`, async () => {
    const { sent, config } = mailing();
    await using app = await limitedApp({ account: limit(2) }, { ...config, emailConfirm });
    const client = at(app);
    await ask(client, "ada@example.com");
    const { pathname, search, searchParams } = new URL(sent[0]!.url);
    const guess = async (browser: Client, email = searchParams.get("email")!) =>
      statusOf(await browser.confirm(`${pathname}?${new URLSearchParams({ email, token: "654321" })}`));
    assertEquals(await guess(client), 302);
    assertEquals(await guess(at(app, "192.0.2.2"), "ADA@example.com"), 302);
    assertEquals(await guess(at(app, "192.0.2.3")), 429);
    assertEquals(statusOf(await client.confirm(pathname + search)), 429);
    assertEquals(await guess(client, "grace@example.com"), 302);
    if (emailConfirm) {
      const page = await client.get(pathname + search);
      assertEquals([page.statusCode, formIn(page).fields.token], [200, "123456"], "the page uses nothing");
    }
  });
}

Deno.test("requests and failures of passkeys are limited, and a script gets JSON", async () => {
  const config = { adapter: memoryAdapter(), providers: [Passkey], experimental: { enableWebAuthn: true } };
  await using app = await limitedApp({ address: limit(3), account: limit(1) }, config);
  const use = async (id: string, address?: string) => {
    const client = at(app, address);
    const form = {
      csrfToken: await client.csrfToken(),
      action: "authenticate",
      data: JSON.stringify({ id }),
    };
    return statusOf(await client.post("/auth/callback/passkey", form));
  };
  assertEquals([await use("a"), await use("b"), await use("a", "192.0.2.2")], [302, 302, 429]);
  assertEquals(statusOf(await at(app).get("/auth/webauthn-options/passkey")), 200);
  const refused = await at(app).get("/auth/webauthn-options/passkey");
  assertEquals([refused.statusCode, refused.headers["retry-after"]], [429, "3600"]);
  assertEquals(refused.json().error, "TooManyRequests");
});

/** A provider whose authorize() waits until it is let go. */
function waitingProvider(id = "credentials") {
  const waiting: (() => void)[] = [];
  const expecting: { count: number; resolve: () => void }[] = [];
  const state = {
    started: 0,
    /** Waits until so many have started. */
    until: (count: number) =>
      new Promise<void>((resolve) => state.started >= count ? resolve() : expecting.push({ count, resolve })),
  };
  const provider = Credentials({
    id,
    credentials: { username: {}, password: { type: "password" } },
    async authorize() {
      state.started++;
      for (const { count, resolve } of expecting) if (state.started >= count) resolve();
      await new Promise<void>((resolve) => waiting.push(resolve));
      return null;
    },
  });
  const letGo = () => waiting.splice(0).forEach((resolve) => resolve());
  return { provider, state, letGo };
}

Deno.test("so many attempts on one account, and from one address, run at once before authorize()", async () => {
  const { provider, state, letGo } = waitingProvider();
  const bounds = { concurrentPerAccount: 2, concurrentPerAddress: 3 };
  await using app = await limitedApp(bounds, { providers: [provider] });
  const clients = [1, 2, 3, 4, 5].map((host) => at(app, `192.0.2.${host}`));
  const forms = await Promise.all(
    clients.map(async (client) => ({ ...GUESS, csrfToken: await client.csrfToken() })),
  );
  const attempt = (i: number, fields = {}) =>
    clients[i]!.post("/auth/callback/credentials", { ...forms[i]!, ...fields });
  // Of five on one account two run, whatever addresses they come from, and the others are refused at once.
  const onAccount = [0, 1, 2, 3, 4].map((i) => attempt(i));
  const refused = await Promise.race([firstOf(onAccount, 3), never(state.until(3))]);
  assertEquals(refused.map(statusOf), [429, 429, 429]);
  assertEquals(refused[0]!.headers["retry-after"], "1");
  assertEquals(refused[0]!.json().message, "Too many requests. Try again in 1 second.");
  await state.until(2);
  letGo();
  assertEquals((await Promise.all(onAccount)).map(statusOf).sort(), [302, 302, 429, 429, 429]);

  // The first two are over, so another one begins.
  const next = attempt(0);
  await state.until(3);
  letGo();
  assertEquals(statusOf(await next), 302);

  // Of five accounts three run for one address.
  const fromAddress = ["a", "b", "c", "d", "e"].map((username) => attempt(0, { username }));
  assertEquals((await Promise.race([firstOf(fromAddress, 2), never(state.until(7))])).map(statusOf), [
    429,
    429,
  ]);
  await state.until(6);
  letGo();
  assertEquals((await Promise.all(fromAddress)).map(statusOf).sort(), [302, 302, 302, 429, 429]);
  assertEquals(state.started, 6);
});

async function never(event: Promise<void>): Promise<never> {
  await event;
  throw new Error("more of them run at once");
}

/** The answers that come first. */
function firstOf(answers: readonly Promise<Answer>[], count: number): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    const first: Answer[] = [];
    for (const answer of answers) {
      answer.then((value) => first.push(value) === count && resolve([...first]), reject);
    }
  });
}

Deno.test("X5: three clicks while authorize() runs are one attempt, and sign in", async () => {
  let started = 0;
  const providers = [Credentials({
    credentials: { username: {}, password: { type: "password" } },
    async authorize({ password }) {
      started++;
      await new Promise((resolve) => setTimeout(resolve, 250));
      return password === "open" ? { id: "1", name: "ada" } : null;
    },
  })];
  const failures: unknown[] = [];
  const keep = (message: unknown) => void failures.push(message);
  subscribe("fastify-authjs:sign-in-failure", keep);
  try {
    await using app = await limitedApp(true, { providers });
    const client = at(app);
    const csrfToken = await client.csrfToken();
    const clicks = (fields: Record<string, string>) =>
      Promise.all([1, 2, 3].map(() => client.post("/auth/callback/credentials", { csrfToken, ...fields })));
    const failed = await clicks(GUESS);
    assertEquals([failed.map(statusOf), started, failures.length], [[302, 302, 302], 1, 1]);
    const answers = await clicks(ADA);
    assertEquals([answers.map(statusOf), started], [[302, 302, 302], 2]);
    assertEquals(new Set(answers.map(({ headers }) => String(headers["set-cookie"]))).size, 1);
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
    await client.signIn(ADA);
    assertEquals(started, 3, "later it is another attempt");
  } finally {
    unsubscribe("fastify-authjs:sign-in-failure", keep);
  }
});

Deno.test("X5: other fields, and the same ones from another browser or address, are attempts of their own", async () => {
  const { provider, state, letGo } = waitingProvider();
  const bounds = { concurrentPerAccount: 9, concurrentPerAddress: 9 };
  await using app = await limitedApp(bounds, { providers: [provider] });
  const browsers = [at(app), at(app), at(app, "192.0.2.2")];
  const forms = await Promise.all(
    browsers.map(async (browser) => ({ ...GUESS, csrfToken: await browser.csrfToken() })),
  );
  browsers[2]!.cookies.clear();
  for (const [name, value] of browsers[0]!.cookies) browsers[2]!.cookies.set(name, value);
  const post = (i: number, form: Record<string, string>) => browsers[i]!.post("/auth/callback/credentials", form);
  const attempts = [
    post(0, forms[0]!),
    post(0, { ...forms[0]!, password: "another" }),
    post(1, forms[1]!),
    post(2, forms[0]!),
  ];
  await state.until(4);
  letGo();
  assertEquals((await Promise.all(attempts)).map(statusOf), [302, 302, 302, 302]);
});

Deno.test("X5: the page says how long to wait, in the language of the user", async () => {
  const waits: [seconds: number, text: string, language: string][] = [
    [1, "Try again in 1 second.", "en"],
    [90, "Try again in 2 minutes.", "en"],
    [3600, "Versuchen Sie es in 1 Stunde noch einmal.", "de"],
  ];
  for (const [seconds, text, language] of waits) {
    const address = { max: 1, timeWindow: seconds * 1000 };
    await using app = await limitedApp({ address });
    const headers = { accept: "text/html", "accept-language": language };
    await at(app).signIn(GUESS);
    const page = await at(app, "192.0.2.1", headers).signIn(ADA);
    assertEquals([page.statusCode, page.headers["retry-after"]], [429, String(seconds)]);
    assertStringIncludes(page.body, text);
  }
});

Deno.test("a client that hangs up does not make room for another attempt while authorize() runs", async () => {
  const { provider, state, letGo } = waitingProvider();
  await using app = await limitedApp({ concurrentPerAccount: 1 }, { providers: [provider] });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  const client = at(app);
  const body = new URLSearchParams({ ...GUESS, csrfToken: await client.csrfToken() }).toString();
  const request = httpRequest({
    port,
    host: "127.0.0.1",
    method: "POST",
    path: "/auth/callback/credentials",
    headers: {
      host: "localhost",
      cookie: client.cookie!,
      "content-type": "application/x-www-form-urlencoded",
      "content-length": body.length,
    },
  });
  const closed = new Promise((resolve) => request.on("error", () => {}).on("close", resolve));
  request.end(body);
  await state.until(1);
  request.destroy();
  await closed;
  try {
    const another = at(app, "192.0.2.2").signIn(GUESS);
    assertEquals(statusOf(await Promise.race([another, never(state.until(2))])), 429);
  } finally {
    letGo();
  }
});

for (const order of ["before", "after"] as const) {
  for (const own of [{ max: 1000 }, { max: 1000, global: false }]) {
    Deno.test(`an application's own @fastify/rate-limit works ${order} it: ${JSON.stringify(own)}`, async () => {
      await using app = Fastify({ trustProxy: true }) as unknown as FastifyInstance;
      const config = testConfig({ rateLimit: { account: limit(1) } });
      const register = async () => void await app.register(rateLimit as never, own as never);
      if (order === "before") await register();
      await app.register(FastifyAuth(config), { prefix: "/auth" });
      if (order === "after") await register();
      app.get("/own", { config: { rateLimit: { max: 2 } } as object }, () => "own");
      const methods = app as unknown as {
        createRateLimit(options: object): (request: unknown) => Promise<object>;
      };
      app.get("/made", methods.createRateLimit({ max: 7 }) as never);

      const client = at(app);
      const statuses = [await client.get("/own"), await client.get("/own"), await client.get("/own")];
      assertEquals(statuses.map(statusOf), [200, 200, 429]);
      assertEquals((await client.get("/made")).json().remaining, 6);
      const failed = await client.signIn(GUESS);
      const counted = order === "before" && own.global === undefined;
      assertEquals([failed.statusCode, failed.headers["x-ratelimit-limit"]], [
        302,
        counted ? "1000" : undefined,
      ]);
      assertEquals(statusOf(await client.signIn(ADA)), 429);
    });
  }
}

Deno.test("a missing or old @fastify/rate-limit is a boot error that says what to run", async () => {
  const missing = () => Promise.reject(new Error("Cannot find package '@fastify/rate-limit'"));
  const old = () => Promise.resolve({ default: Object.assign(() => {}, { fastifyRateLimit: () => {} }) });
  for (const load of [missing, old]) {
    const error = await assertRejects(() => loadRateLimit(undefined, load), FastifyAuthError);
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
    assertStringIncludes(error.message, "npm install @fastify/rate-limit@^11.2.0");
  }
  await assertRejects(
    () => limitedApp({ plugin: () => {} }),
    FastifyAuthError,
    "npm install @fastify/rate-limit@^11.2.0",
  );
  await using app = await limitedApp({ plugin: rateLimit as never, account: limit(1) });
  assertEquals([statusOf(await at(app).signIn(GUESS)), statusOf(await at(app).signIn(ADA))], [302, 429]);
});

Deno.test("a setting that cannot work is a boot error that names it", async () => {
  const cases: [options: unknown, text: string][] = [
    ["yes", "write true, false or an object"],
    [() => {}, "`rateLimit` is a function: write true"],
    [{ perAddress: limit(1) }, "`rateLimit.perAddress` is no option"],
    [{ address: 5 }, "`rateLimit.address` must be"],
    [{ address: { max: 0, timeWindow: 1 } }, "`rateLimit.address.max` is 0"],
    [{ mail: { max: Number(undefined), timeWindow: 1 } }, "`rateLimit.mail.max` is NaN"],
    [{ mail: { max: 10n, timeWindow: 1 } }, "`rateLimit.mail.max` is a bigint"],
    [{ mail: { max: 1 } }, "`rateLimit.mail.timeWindow` is undefined"],
    [{ mail: { max: 1, window: 1000 } }, "`rateLimit.mail.window` is no option: there are max, timeWindow"],
    [{ mail: { max: 1, timeWindow: "1 minute" } }, '`rateLimit.mail.timeWindow` is "1 minute"'],
    [{ concurrentPerAccount: 0.5 }, "`rateLimit.concurrentPerAccount` is 0.5"],
    [{ accountName: "username" }, "`rateLimit.accountName` must be a function"],
    [{ redis: {} }, "`rateLimit.redis` must be a client"],
    [{ redis: createCluster({ rootNodes: [] }) }, "`rateLimit.redis` must be a client"],
  ];
  for (const [options, text] of cases) {
    const error = await assertRejects(() => limitedApp(options as RateLimitOptions), FastifyAuthError, text);
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
  }
});

Deno.test("a tenant whose plugin was too old is served once its configuration has another", async () => {
  const configs = [{ plugin: () => {} }, { plugin: rateLimit }]
    .map((options) => testConfig({ tenant: "acme", rateLimit: options as RateLimitOptions }));
  let [current] = configs;
  await using app = Fastify() as FastifyInstance;
  await app.register(FastifyAuth(() => current), { prefix: "/auth" });
  const statuses: number[] = [];
  for (current of configs) statuses.push(statusOf(await app.inject("/auth/csrf")));
  assertEquals(statuses, [500, 200]);
});

Deno.test("a limit that is false is off", async () => {
  await using app = await limitedApp({ address: false, accountFromAddress: false, account: false });
  const client = at(app);
  for (let i = 0; i < 12; i++) assertEquals(statusOf(await client.signIn(GUESS)), 302);
  for (let i = 0; i < 60; i++) {
    assertEquals(statusOf(await client.post("/auth/callback/credentials", GUESS)), 302);
  }
});

Deno.test("in production a line at boot recommends rateLimit, unless it is set, also to false", async () => {
  const noticesOf = async (NODE_ENV: string, rateLimit?: boolean) => {
    const { logger, lines } = captureLog();
    await withEnvironment({ NODE_ENV }, async () => {
      const config = testConfig({
        ...(rateLimit !== undefined && { rateLimit }),
        origin: "https://app.example",
      });
      await using app = await testApp(config, { logger });
      await app.ready();
    });
    return lines.filter(({ level, msg }) => level === 30 && msg.includes("rateLimit")).length;
  };
  assertEquals(await noticesOf("production"), 1);
  assertEquals(await noticesOf("production", true), 0);
  assertEquals(await noticesOf("production", false), 0);
  assertEquals(await noticesOf("development"), 0);
});

Deno.test("a form whose account is unknown is warned about at boot", async () => {
  const providers = [Credentials({ id: "custom", authorize: () => null })];
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ providers, rateLimit: true }), { logger });
  await app.ready();
  assertEquals(
    lines.filter(({ msg }) => /"custom" has no field.*rateLimit\.accountName/.test(msg)).length,
    1,
  );
});

Deno.test("without trustProxy a proxy's requests count as one client's, and a warning says so once", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ rateLimit: { address: limit(2) } }), { logger });
  const post = async (host: number) =>
    statusOf(await at(app, `192.0.2.${host}`).post("/auth/callback/credentials", GUESS));
  assertEquals([await post(1), await post(2), await post(3)], [302, 302, 429]);
  assertEquals(lines.filter(({ level, msg }) => level === 40 && msg.includes("trustProxy")).length, 1);
});

Deno.test("with a trustProxy that does not name the proxy a warning says so once, too", async () => {
  for (const trustProxy of [1, "10.0.0.1"]) {
    const { logger, lines } = captureLog();
    await using app = await testApp(testConfig({ rateLimit: true }), {
      logger,
      trustProxy: trustProxy as string,
    });
    for (let i = 0; i < 2; i++) await at(app).post("/auth/callback/credentials", GUESS);
    assertEquals(lines.filter(({ level, msg }) => level === 40 && msg.includes("trustProxy")).length, 1);
  }
});

Deno.test("X2: a warning at boot says that every peer is trusted, if rateLimit meets that", async () => {
  const warningsWith = async (trustProxy: unknown, rateLimit = true) => {
    const { logger, lines } = captureLog();
    await using app = Fastify({ logger, trustProxy } as never) as unknown as FastifyInstance;
    const auth = createAuth(testConfig({ rateLimit }));
    await app.register(async (scope) => void await scope.register(auth.plugin, { prefix: "/auth" }));
    await app.ready();
    return lines.filter(({ level, code, msg }) =>
      level === 40 && code === "FST_AUTHJS_WARN_RATE_LIMIT" &&
      /trustProxy.*addresses of your proxies/.test(msg)
    ).length;
  };
  for (const trustProxy of [true, () => true, "0.0.0.0/1, 128.0.0.0/1"]) {
    assertEquals(await warningsWith(trustProxy), 1);
  }
  const named = [
    "127.0.0.1",
    "loopback, uniquelocal",
    ["10.0.0.0/8"],
    (address: string) => address === "::1",
  ];
  for (const trustProxy of [false, undefined, 1, ...named]) assertEquals(await warningsWith(trustProxy), 0);
  assertEquals(await warningsWith(true, false), 0);
});

Deno.test("X2: behind a proxy whose address is named, a made-up X-Forwarded-For changes nothing", async () => {
  const proxied = testApp(testConfig({ rateLimit: { address: limit(2) } }), { trustProxy: "127.0.0.1" });
  await using app = await proxied;
  const post = async (forged: string) =>
    statusOf(await at(app, `${forged}, 192.0.2.1`).post("/auth/callback/credentials", GUESS));
  assertEquals([await post("203.0.113.1"), await post("203.0.113.2"), await post("203.0.113.3")], [
    302,
    302,
    429,
  ]);
});

Deno.test("an OpenAPI document has the 429 of the routes that are limited, where they are", async () => {
  const limitedIn = async (rateLimit: boolean, bearer = false) => {
    await using app = Fastify() as unknown as FastifyInstance;
    await app.register(swagger as never, { openapi: { openapi: "3.1.0" } } as never);
    await app.register(
      FastifyAuth(testConfig({ rateLimit, bearer })),
      { prefix: "/auth", openapi: true } as never,
    );
    await app.ready();
    const { paths } = (app as unknown as { swagger(): { paths: Record<string, Record<string, Described>> } })
      .swagger();
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        responses["429"]?.headers?.["Retry-After"] ? [`${method} ${path}`] : []
      )
    );
  };
  assertEquals(await limitedIn(true), ["post /auth/callback/{provider}"]);
  assertEquals(await limitedIn(true, true), ["post /auth/callback/{provider}", "post /auth/token"]);
  assertEquals(await limitedIn(false), []);
});

interface Described {
  readonly responses: Record<string, { readonly headers?: Record<string, unknown> }>;
}

Deno.test("while Redis fails sign-ins go on, and the log says so once, and when it works again", async () => {
  const { logger, lines } = captureLog();
  let down = true;
  let count = 0;
  const call = (_command: string, script: string) => {
    if (down) return Promise.reject(new Error("ECONNREFUSED"));
    return Promise.resolve([script.includes("INCR") ? ++count : count, HOUR]);
  };
  const config = testConfig({ rateLimit: { redis: { call }, account: limit(1), accountFromAddress: false } });
  await using app = await testApp(config, { logger });
  const client = new Client(app);
  for (let i = 0; i < 3; i++) assertEquals(statusOf(await client.signIn(GUESS)), 302);
  const told = () => lines.filter(({ msg }) => msg.includes("Redis")).map(({ level }) => level);
  assertEquals(told(), [50]);
  down = false;
  await client.signIn(GUESS);
  assertEquals(statusOf(await client.signIn(GUESS)), 429);
  assertEquals(told(), [50, 40]);
});

Deno.test("a client of Redis that throws, instead of rejecting, fails in the same way", async () => {
  const { logger, lines } = captureLog();
  const call = () => {
    throw new Error("The client is closed");
  };
  await using app = await testApp(testConfig({ rateLimit: { redis: { call } } }), { logger });
  const client = new Client(app);
  await client.signIn(ADA);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
  assertEquals(
    lines.filter(({ level, msg }) => level === 50 && msg.endsWith("The client is closed")).length,
    1,
  );
});

const redisUrl = serverUrl("TEST_REDIS_URL", "the tests of rate limits in Redis");
for (const kind of redisUrl ? ["ioredis", "redis"] as const : []) {
  Deno.test(`processes share their limits in Redis (${kind}), where no address or name can be read`, async () => {
    const prefix = `test:${crypto.randomUUID()}:`;
    const look = new Redis(redisUrl!);
    const node = createClient({ url: redisUrl! });
    const redis = kind === "redis" ? (await node.connect(), node as never) : look;
    try {
      const options = { redis, prefix, address: limit(4), account: limit(2), mail: limit(1) };
      const { sent, config } = mailing();
      const providers = [passwordProvider(), ...config.providers];
      const both: Partial<FastifyAuthConfig> = { ...config, providers, session: { strategy: "jwt" } };
      await using one = await limitedApp(options, both);
      await using two = await limitedApp(options, both);
      assertEquals(statusOf(await at(one).signIn(GUESS)), 302);
      assertEquals(statusOf(await at(two, "192.0.2.2").signIn(GUESS)), 302);
      const refused = await at(one, "192.0.2.3").signIn(ADA);
      assertEquals(refused.statusCode, 429);
      assert(Number(refused.headers["retry-after"]) > 3500);
      assertEquals(statusOf(await ask(at(one), "ada@example.com")), 302);
      assertEquals(statusOf(await ask(at(two), "ada@example.com")), 429);
      assertEquals(sent.length, 1);
      assertEquals(
        statusOf(await at(two).signIn({ ...ADA, username: "grace" })),
        302,
        "the fourth of its address",
      );
      assertEquals(statusOf(await at(one).signIn({ ...ADA, username: "grace" })), 429, "the fifth");
      const keys = await look.keys(`${prefix}*`);
      for (const key of keys) {
        assertMatch(key.slice(prefix.length), /^(?:address|account|accountFromAddress|mail):[\w-]{43}$/);
        assert(await look.pttl(key) > 0, "every key expires");
      }
      assertEquals(keys.length, 3 + 1 + 2 + 1, keys.join());
    } finally {
      const keys = await look.keys(`${prefix}*`);
      if (keys.length > 0) await look.del(...keys);
      look.disconnect();
      if (kind === "redis") await node.close();
    }
  });
}

Deno.test("keys depend on the secret, so that they cannot be guessed without it", async () => {
  const keysWith = async (secret: string) => {
    const keys: string[] = [];
    const call = (...args: string[]) => {
      keys.push(args[3]!);
      return Promise.resolve([1, HOUR]);
    };
    await using app = await limitedApp({ redis: { call } }, { secret });
    await at(app).post("/auth/callback/credentials", GUESS);
    return keys;
  };
  const [first, second] = [await keysWith(SECRET), await keysWith(`${SECRET}-2`)];
  assertEquals(first, await keysWith(SECRET));
  assert(first.every((key) => !second.includes(key)), first.join());
});

/** Asks for a bearer token with the session of the browser. */
async function issue(client: Client): Promise<Answer> {
  return await client.post("/auth/token", { csrfToken: await client.csrfToken() });
}

for (const strategy of ["jwt", "database"] as const) {
  Deno.test(`X1: bearer tokens of one user are limited, in any session and from any address (${strategy})`, async () => {
    const adapter = memoryAdapter();
    for (const id of ["id-ada", "id-grace"]) {
      await adapter.createUser({ id, email: `${id}@example.com`, emailVerified: null });
    }
    await using app = await limitedApp({ token: limit(2) }, {
      bearer: true,
      adapter,
      session: { strategy },
    });
    const browser = async (username: string, address?: string) => {
      const client = at(app, address);
      await client.signIn({ ...ADA, username });
      return client;
    };
    const client = await browser("ada");
    await client.post("/auth/token", { csrfToken: "forged" });
    assertEquals(statusOf(await issue(client)), 200);
    assertEquals(statusOf(await issue(await browser("ada", "192.0.2.2"))), 200);
    const refused = await issue(client);
    assertEquals([refused.statusCode, refused.headers["retry-after"]], [429, "3600"]);
    assertEquals(refused.json().code, "FST_AUTHJS_TOO_MANY_REQUESTS");
    assertEquals(statusOf(await issue(await browser("grace"))), 200, "another user");
  });
}

Deno.test("X1: requests for bearer tokens count as requests of their address, with a session or without", async () => {
  await using app = await limitedApp({ address: limit(4) }, { bearer: true });
  const client = at(app);
  await client.signIn(ADA);
  assertEquals(statusOf(await issue(client)), 200);
  for (let i = 0; i < 2; i++) assertEquals(statusOf(await issue(at(app))), 401);
  assertEquals(statusOf(await issue(client)), 429, "the fifth of its address");
  assertEquals(statusOf(await issue(at(app, "192.0.2.2"))), 401, "another address");
});

Deno.test("X1: by default a user gets 60 bearer tokens in an hour", async () => {
  await using app = await limitedApp({ address: false }, { bearer: true });
  const client = at(app);
  await client.signIn(ADA);
  for (let i = 0; i < 60; i++) assertEquals(statusOf(await issue(client)), 200);
  assertEquals(statusOf(await issue(client)), 429);
});

Deno.test("auth.linkAccount() counts as a sign-in of its address does", async () => {
  const acme = new Acme();
  const auth = createAuth(testConfig({
    providers: [acme.provider],
    adapter: memoryAdapter(),
    rateLimit: { address: limit(3) },
  }));
  await using app = Fastify({ trustProxy: true }) as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.post("/link", (request, reply) => auth.linkAccount(request, reply, "acme"));
  const client = at(app);
  await finishSignIn(client);
  assertEquals(statusOf(await client.request("POST", "/link")), 302, "the third of its address");
  const refused = await client.request("POST", "/link");
  assertEquals([refused.statusCode, refused.json().code], [429, "FST_AUTHJS_TOO_MANY_REQUESTS"]);
});

Deno.test("auth.signIn() from a route of the application has the same limits", async () => {
  const { provider, state, letGo } = waitingProvider("slow");
  const auth = createAuth(testConfig({
    providers: [passwordProvider(), provider],
    rateLimit: { address: limit(4), account: limit(2), concurrentPerAccount: 1 },
  }) as never);
  await using app = Fastify({ trustProxy: true }) as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.post("/sign-in/:id", (request, reply) => {
    const { id } = request.params as { id: string };
    return auth.signIn(request, reply, id, { fields: request.body, callbackUrl: "/" });
  });
  const post = (id: string, fields: object, address?: string) =>
    at(app, address).request("POST", `/sign-in/${id}`, { json: fields });
  assertEquals(statusOf(await post("credentials", GUESS)), 401);
  assertEquals(statusOf(await at(app, "192.0.2.2").signIn(GUESS)), 302, "a request to the auth routes");
  const refused = await post("credentials", ADA);
  assertEquals([refused.statusCode, refused.headers["retry-after"]], [429, "3600"]);
  assertEquals(refused.json().code, "FST_AUTHJS_TOO_MANY_REQUESTS");
  const grace = { ...ADA, username: "grace" };
  assertEquals(statusOf(await post("credentials", grace)), 302);
  assertEquals(statusOf(await post("credentials", grace)), 302, "the fourth of its address");
  assertEquals(statusOf(await post("credentials", grace)), 429, "the fifth");

  const slow = post("slow", GUESS, "192.0.2.3");
  await state.until(1);
  try {
    const another = post("slow", GUESS, "192.0.2.4");
    assertEquals(
      statusOf(await Promise.race([another, never(state.until(2))])),
      429,
      "while another one runs",
    );
  } finally {
    letGo();
  }
  assertEquals(statusOf(await slow), 401);
});
