/** A `jwt` or `session` callback that throws says nothing about the session, which goes on. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { type AuthObject, createAuth, type FastifyAuthConfig } from "fastify-authjs";
import { captureLog, type LogLine, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { testStore } from "../../support/test_store.ts";

const HTML = { accept: "text/html" };
const OWN = { "sec-fetch-site": "same-origin" };
const ADA = { username: "ada", password: "open" };
const COOKIE = "authjs.session-token";

interface Failing extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly auth: AuthObject;
  readonly client: Client;
  readonly lines: LogLine[];
  /** What the callback does from now on; it throws what this returns. */
  readonly callback: { fail: (() => unknown) | undefined; calls: number };
}

type Strategy = "jwt" | "database";

/** An application whose callback fails for sessions that exist, and a browser that has signed in before. */
async function failing(
  name: "jwt" | "session",
  strategy: Strategy = "jwt",
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<Failing> {
  const { logger, lines } = captureLog();
  const callback: Failing["callback"] = { fail: undefined, calls: 0 };
  const work = async () => {
    callback.calls++;
    await new Promise((resolve) => setImmediate(resolve));
    if (callback.fail !== undefined) throw callback.fail();
  };
  const auth: AuthObject = createAuth(testConfig({
    ...(strategy === "database" && { adapter: memoryAdapter() }),
    callbacks: name === "jwt"
      ? { jwt: ({ token, account }) => account ? token : work().then(() => token) }
      : { session: ({ session }) => work().then(() => session) },
    ...overrides,
  }) as FastifyAuthConfig);
  const app = Fastify({ logger } as object) as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.get("/guarded", { onRequest: auth.requireSession() }, () => "guarded");
  app.post("/update", async (request, reply) => ({ session: await auth.updateSession(request, reply, {}) }));
  const client = new Client(app);
  if (strategy === "jwt") await client.signIn(ADA);
  else await insertSession(auth, client);
  return { app, auth, client, lines, callback, [Symbol.asyncDispose]: () => app.close() };
}

async function insertSession({ config }: AuthObject, client: Client): Promise<void> {
  const { createUser, createSession } = config.adapter!;
  await createUser!({ id: "1", name: "ada", email: "ada@example.com", emailVerified: null });
  const expires = new Date(Date.now() + 30 * 86_400_000);
  await createSession!({ sessionToken: "token", userId: "1", expires });
  client.cookies.set(COOKIE, "token");
}

const sessionLines = (answer: Answer) => setCookies(answer).filter((line) => line.startsWith(COOKIE));

const CASES = [["jwt", "jwt"], ["session", "jwt"], ["session", "database"]] as const;

for (const [name, strategy] of CASES) {
  const where = `${name} callback, sessions in a ${strategy === "jwt" ? "token" : "database"}`;

  Deno.test(`F3: a session outlives a callback that throws (${where})`, async () => {
    await using failed = await failing(name, strategy);
    const { client, callback, lines } = failed;
    callback.fail = () => new Error("boom");
    const read = await client.get("/me");
    assertEquals([read.json(), sessionLines(read)], [{ session: null }, []]);
    for (const url of ["/guarded", "/auth/session"]) {
      const answer = await client.get(url);
      assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"], url);
      assertEquals(sessionLines(answer), []);
      assert(!answer.body.includes("boom"), "what was thrown is for the log");
    }
    const errors = lines.filter(({ level, msg }) => level === 50 && msg.includes(`\`${name}\` callback`));
    assert(errors.length > 0 && JSON.stringify(errors).includes("boom"));
    callback.fail = undefined;
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
    assertEquals((await client.get("/guarded")).body, "guarded");
  });

  Deno.test(`F3: an error with a statusCode keeps it (${where})`, async () => {
    await using failed = await failing(name, strategy);
    const { client, callback } = failed;
    for (const statusCode of [403, 429, 503]) {
      callback.fail = () => Object.assign(new Error("busy"), { statusCode });
      for (const url of ["/guarded", "/auth/session"]) {
        const answer = await client.get(url);
        assertEquals([answer.statusCode, sessionLines(answer)], [statusCode, []], url);
      }
    }
    for (const thrown of [undefined, null, "text", { error: "invalid_grant" }, { statusCode: 200 }]) {
      callback.fail = () => thrown;
      assertEquals((await client.get("/guarded")).statusCode, 503);
    }
    callback.fail = undefined;
    assertEquals((await client.get("/guarded")).statusCode, 200);
  });

  Deno.test(`F3: an update whose callback throws leaves the session as it was (${where})`, async () => {
    await using failed = await failing(name, strategy);
    const { client, callback } = failed;
    const csrfToken = await client.csrfToken();
    const update = () => client.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
    callback.fail = () => new Error("boom");
    const answer = await update();
    assertEquals([answer.statusCode, sessionLines(answer)], [503, []]);
    const ofRoute = await client.request("POST", "/update", { headers: OWN });
    assertEquals([ofRoute.statusCode, sessionLines(ofRoute)], [500, []]);
    callback.fail = () => Object.assign(new Error("busy"), { statusCode: 429 });
    assertEquals((await update()).statusCode, 429);
    callback.fail = undefined;
    assertEquals((await update()).json().user.name, "ada");
  });

  Deno.test(`F3: signing in and out, and the pages, never call it for the session that exists (${where})`, async () => {
    await using failed = await failing(name, strategy);
    const { client, callback } = failed;
    callback.fail = () => new Error("boom");
    callback.calls = 0;
    for (
      const page of ["signin", "signout", "error?error=Configuration", "verify-request", "providers", "csrf"]
    ) {
      assert((await client.get(`/auth/${page}`, { headers: HTML })).statusCode < 404, page);
    }
    if (strategy === "jwt") {
      const before = client.cookies.get(COOKIE);
      assertEquals((await client.signIn(ADA)).headers.location, "http://localhost");
      assert(client.cookies.get(COOKIE) !== before, "the session is replaced");
    }
    const signedOut = await client.signOut();
    assertEquals([signedOut.statusCode, client.cookies.has(COOKIE)], [302, false]);
    assertEquals(callback.calls, 0);
  });

  Deno.test(`F3: the guard shows a browser a page on which it can sign in again (${where})`, async () => {
    await using failed = await failing(name, strategy);
    const { client, callback } = failed;
    callback.fail = () => new Error("boom");
    const page = await client.get("/guarded?a=1&b=2", { headers: HTML });
    assertEquals([page.statusCode, page.headers["cache-control"]], [503, "no-store"]);
    assertStringIncludes(String(page.headers["content-type"]), "text/html");
    assertStringIncludes(String(page.headers.vary), "Accept");
    const links = [...page.body.matchAll(/<a class="[^"]*" href="([^"]*)">([^<]*)</g)];
    const [address, text] = links[0]!.slice(1).map((part) => part.replaceAll("&amp;", "&"));
    assertEquals(text, "Sign in again");
    assertEquals(links[1]![1]!.replaceAll("&amp;", "&"), "/guarded?a=1&b=2");
    const signIn = await client.get(address!, { headers: HTML });
    assertEquals(signIn.statusCode, 200);
    assertStringIncludes(signIn.body, "/guarded?a=1");
  });
}

Deno.test("F3: a jwt callback ends the session with null, or an error with the status 401", async () => {
  for (const end of [() => Object.assign(new Error("revoked"), { statusCode: 401 }), "null"] as const) {
    for (const url of ["/me", "/guarded", "/auth/session"]) {
      let ends = false;
      await using failed = await failing("jwt", "jwt", {
        callbacks: {
          jwt({ token }) {
            if (ends && end !== "null") throw end();
            return ends ? null : token;
          },
        },
      });
      const { client } = failed;
      const copy = client.cookies.get(COOKIE)!;
      ends = true;
      const answer = await client.get(url);
      assertEquals(answer.statusCode, url === "/guarded" ? 401 : 200);
      assertEquals(client.cookies.has(COOKIE), false);
      ends = false;
      client.cookies.set(COOKIE, copy);
      assertEquals((await client.get("/me")).json().session, null, "a copy of the cookie has ended, too");
    }
  }
});

Deno.test("F3: an update ends the session, too, if its jwt callback throws an error with the status 401", async () => {
  await using failed = await failing("jwt");
  const { client, callback } = failed;
  const csrfToken = await client.csrfToken();
  callback.fail = () => Object.assign(new Error("revoked"), { statusCode: 401 });
  await client.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
  assertEquals(client.cookies.has(COOKIE), false);
});

Deno.test("F3: of requests that share a failing callback, none ends the session", async () => {
  for (const overrides of [{}, { store: testStore() }]) {
    await using failed = await failing("jwt", "jwt", overrides);
    const { client, callback } = failed;
    callback.fail = () => new Error("boom");
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.get("/guarded")));
    assertEquals(answers.map(({ statusCode }) => statusCode), [503, 503, 503, 503, 503]);
    assertEquals(answers.flatMap(sessionLines), []);
    callback.fail = undefined;
    assertEquals((await client.get("/guarded")).body, "guarded");
  }
});

Deno.test("F3: a jwt callback that forgets its token ends nothing", async () => {
  let forgets = false;
  await using failed = await failing("jwt", "jwt", {
    callbacks: { jwt: ({ token }) => forgets ? undefined as never : token },
  });
  forgets = true;
  assertEquals((await failed.client.get("/guarded")).statusCode, 503);
  forgets = false;
  assertEquals((await failed.client.get("/guarded")).statusCode, 200);
});

Deno.test("F3: the application's own sign-in page is reached from the page, too", async () => {
  await using failed = await failing("session", "jwt", { pages: { signIn: "/login", error: "/oops" } });
  failed.callback.fail = () => new Error("boom");
  const page = await failed.client.get("/guarded", { headers: HTML });
  assertEquals(page.statusCode, 503);
  assertStringIncludes(page.body, 'href="/login?error=SessionRequired&amp;callbackUrl=%2Fguarded"');
});

Deno.test("F3: an application that reads the sessions of another, and has no pages, answers as JSON", async () => {
  await using failed = await failing("session", "jwt", { pages: { signIn: "https://app.example/login" } });
  const app = Fastify();
  app.get("/elsewhere", { onRequest: failed.auth.requireSession() }, () => "guarded");
  failed.callback.fail = () => new Error("boom");
  const cookie = [...failed.client.cookies].map((pair) => pair.join("=")).join("; ");
  const answer = await app.inject({ url: "/elsewhere", headers: { ...HTML, cookie } });
  assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
  await app.close();
});

Deno.test("F3: a program with a bearer token gets the error as JSON", async () => {
  const bearer: Partial<FastifyAuthConfig> = { bearer: true };
  await using failed = await failing("session", "jwt", bearer);
  const { client, callback } = failed;
  const csrfToken = await client.csrfToken();
  const issued = await client.request("POST", "/auth/token", { json: { csrfToken } });
  callback.fail = () => new Error("boom");
  const headers = { ...HTML, authorization: `Bearer ${issued.json().access_token}` };
  assertEquals((await failed.app.inject({ url: "/guarded", headers })).json().statusCode, 503);
});
