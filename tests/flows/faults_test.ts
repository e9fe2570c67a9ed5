/** Something fails while requests are under way, over real sockets: what users get, and that everything works again after it. */
import { assert, assertEquals, assertFalse, assertMatch } from "@std/assert";
import type { FastifyInstance } from "fastify";
import { type FastifyAuthConfig, requireSession } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import { redisStore } from "fastify-authjs/redis";
import PostgresAdapter from "@auth/pg-adapter";
import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import process from "node:process";
import { Redis } from "ioredis";
import pg from "pg";
import { createClient } from "redis";
import { captureLog, type LogLine, testApp, testConfig } from "../support/app.ts";
import { type ChildApp, startChildApp, stopChildApp } from "../support/child_app.ts";
import { type Answer, Client } from "../support/client.ts";
import { openPostgres, serverUrl } from "../support/databases.ts";
import { type FaultProxy, startFaultProxy } from "../support/fault_proxy.ts";
import { identityProvider, signInAs } from "../support/identity.ts";
import { ScriptedProvider } from "../support/scripted_provider.ts";
import { PG_ADAPTER_TABLES } from "../support/tables.ts";

const NAME = "authjs.session-token";
const ADA = { id: "ada", name: "Ada", email: "ada@example.com" };
const UNAVAILABLE = [503, "FST_AUTHJS_UNAVAILABLE"];

const kindOf = (answer: Answer) => [answer.statusCode, answer.json().code];
const nameIn = (answer: Answer) => answer.json().user?.name as string | undefined;

/** An application with a guarded route, and what it logged. */
async function guardedApp(config: FastifyAuthConfig) {
  const { logger, lines } = captureLog();
  const app = await testApp(config, { logger });
  app.get("/guarded", { onRequest: requireSession(config) }, () => "in");
  return { app, lines, [Symbol.asyncDispose]: () => app.close() };
}

/** Waits until something holds that is to follow soon. */
async function eventually(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const until = performance.now() + 120_000;
  while (!await holds()) {
    assert(performance.now() < until, `it never came to that: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The same address through a proxy. */
function through(proxy: FaultProxy, address: string): string {
  const url = new URL(address);
  url.hostname = "127.0.0.1";
  url.port = `${proxy.port}`;
  return url.href;
}

const postgresUrl = serverUrl("TEST_POSTGRES_URL", "the test of a database that fails and comes back");
if (postgresUrl) {
  Deno.test("a database that is gone, silent or slow and comes back: 503 meanwhile, and the same session after it", async () => {
    await using database = await openPostgres(postgresUrl, PG_ADAPTER_TABLES);
    await using proxy = await startFaultProxy(Number(new URL(postgresUrl).port || 5432));
    const pool = new pg.Pool({ connectionString: through(proxy, database.place) });
    pool.on("error", () => {});
    const config = testConfig({
      adapter: PostgresAdapter(pool),
      providers: [identityProvider("one")],
      adapterTimeout: 1_500,
    });
    {
      await using setup = await guardedApp(config);
      const client = new Client(setup.app);
      await signInAs(client, "one", ADA);
      const token = client.cookies.get(NAME);
      const works = async () => {
        await eventually(
          "the session is read",
          async () => nameIn(await client.get("/auth/session")) === "Ada",
        );
        assertEquals((await client.get("/guarded")).body, "in");
      };
      await works();
      const faults: [begin: () => void, end: () => void][] = [
        [() => proxy.isGone = true, () => proxy.isGone = false],
        [() => proxy.delay = Infinity, () => proxy.delay = 0],
      ];
      for (const [begin, end] of faults) {
        begin();
        const other = new Client(setup.app);
        const answers = await Promise.all([
          client.get("/auth/session"),
          client.get("/guarded"),
          signInAs(other, "one", { ...ADA, id: "bob", email: "bob@example.com" }),
        ]);
        assertEquals(answers.map(kindOf), [UNAVAILABLE, UNAVAILABLE, UNAVAILABLE]);
        assertEquals(client.cookies.get(NAME), token, "the browser keeps its session");
        end();
        await works();
        // What failed can be repeated
        assertEquals(
          (await signInAs(other, "one", { ...ADA, id: "bob", email: "bob@example.com" })).statusCode,
          302,
        );
        assert(nameIn(await other.get("/auth/session")));
      }
      assertEquals(await database.count("users"), 2, "no user was left over");
      proxy.delay = 10;
      await works();
      assert(setup.lines.some(({ level }) => level === 50));
    }
    await pool.end();
  });
}

const redisUrl = serverUrl("TEST_REDIS_URL", "the tests of a Redis that fails and comes back");

/** A client with its own settings for connecting anew, as an application has it. */
async function openRedis(kind: string, url: string) {
  if (kind === "ioredis") {
    const client = new Redis(url);
    client.on("error", () => {});
    return { client, close: () => client.disconnect() };
  }
  const client = createClient({ url });
  client.on("error", () => {});
  await client.connect();
  return { client: client as never, close: () => client.destroy() };
}

for (const kind of redisUrl ? ["ioredis", "redis"] : []) {
  Deno.test(`Redis is gone and comes back (${kind}): what can be revoked is unavailable meanwhile, locks and limits are done without`, async () => {
    await using proxy = await startFaultProxy(Number(new URL(redisUrl!).port || 6379));
    const redis = await openRedis(kind, through(proxy, redisUrl!));
    try {
      const prefix = `test-${crypto.randomUUID()}:`;
      const recorded = testConfig({
        store: redisStore(redis.client, { prefix }),
        revocable: true,
        adapterTimeout: 1_000,
      });
      const refreshed = testConfig({
        callbacks: { jwt: ({ token, account }) => account ? token : { ...token, fresh: true } },
        store: redisStore(redis.client, { prefix }),
        rateLimit: { redis: redis.client, prefix, accountFromAddress: { max: 2, timeWindow: 60_000 } },
      });
      await using one = await guardedApp(recorded);
      await using two = await guardedApp(refreshed);
      const [first, second] = [new Client(one.app), new Client(two.app)];
      await first.signIn({ username: "ada", password: "open" });
      await second.signIn({ username: "ada", password: "open" });
      const token = first.cookies.get(NAME);
      assertEquals([nameIn(await first.get("/auth/session")), nameIn(await second.get("/auth/session"))], [
        "ada",
        "ada",
      ]);

      proxy.isGone = true;
      assertEquals(
        (await Promise.all([first.get("/auth/session"), first.get("/guarded")])).map(kindOf),
        [UNAVAILABLE, UNAVAILABLE],
      );
      assertEquals(first.cookies.get(NAME), token, "the browser keeps its session");
      const third = new Client(two.app);
      assertEquals((await third.signIn({ username: "bob", password: "open" })).statusCode, 302);
      assertEquals([nameIn(await second.get("/auth/session")), nameIn(await third.get("/auth/session"))], [
        "ada",
        "bob",
      ]);
      const logged = two.lines.map(({ msg }) => msg).join("\n");
      assertMatch(logged, /Redis fails, so attempts to sign in are not limited/);
      assertMatch(logged, /The store's \w+\(\) failed; sessions are refreshed/);

      proxy.isGone = false;
      await eventually("the record is read", async () => nameIn(await first.get("/auth/session")) === "ada");
      assertEquals((await first.get("/guarded")).body, "in");
      const guess = () => new Client(two.app).signIn({ username: "eve", password: "wrong" });
      await eventually(
        "guesses are counted",
        async () => (await guess()).statusCode === 429 || limited(await guess()),
      );
    } finally {
      redis.close();
    }
  });
}

for (const kind of redisUrl ? ["ioredis", "redis"] : []) {
  Deno.test(`Redis is silent (${kind}): a read waits for it for as long as docs/reliability.md says`, async () => {
    await using proxy = await startFaultProxy(Number(new URL(redisUrl!).port || 6379));
    const redis = await openRedis(kind, through(proxy, redisUrl!));
    try {
      const store = redisStore(redis.client, { prefix: `test-${crypto.randomUUID()}:` });
      const refresh: FastifyAuthConfig["callbacks"] = { jwt: ({ token }) => ({ ...token, fresh: true }) };
      await using revocable = await guardedApp(testConfig({ store, revocable: true, adapterTimeout: 800 }));
      await using refreshing = await guardedApp(testConfig({ store, callbacks: refresh }));
      const [first, second] = [new Client(revocable.app), new Client(refreshing.app)];
      for (const client of [first, second]) await client.signIn({ username: "ada", password: "open" });

      proxy.delay = Infinity;
      const timed = async (client: Client) => {
        const began = performance.now();
        const answer = await client.get("/auth/session");
        return { answer, seconds: (performance.now() - began) / 1000 };
      };
      const [closed, open] = await Promise.all([timed(first), timed(second)]);
      assertEquals(kindOf(closed.answer), UNAVAILABLE);
      assert(closed.seconds > 0.7 && closed.seconds < open.seconds, `it took ${closed.seconds} s, not 0.8`);
      assertEquals(nameIn(open.answer), "ada");
      assert(open.seconds > 1.9, `it took ${open.seconds} s, not 2`);
      const [again, next] = [await timed(first), await timed(second)];
      assertEquals([kindOf(again.answer), nameIn(next.answer)], [UNAVAILABLE, "ada"]);
      assert(again.seconds > 0.7, "each read asks whether its session has ended");
      assert(next.seconds < open.seconds, `the next one took ${next.seconds} s`);

      proxy.delay = 0;
      await eventually(
        "the store is asked again",
        async () => nameIn(await first.get("/auth/session")) === "ada",
      );
    } finally {
      redis.close();
    }
  });
}

/** Whether a redirect says that there were too many attempts. */
const limited = (answer: Answer) => /TooManyRequests/.test(String(answer.headers.location));

/** Where an application listens, from now on. */
async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  return (app.server.address() as AddressInfo).port;
}

/** Sends a part of a request, or all of it, and hangs up when told to. */
async function sendAndHangUp(port: number, text: string, when: () => Promise<unknown>): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(text);
  await when();
  socket.destroy();
}

/** The head of a request. */
const headOf = (line: string, headers: Record<string, string>) =>
  [
    `${line} HTTP/1.1`,
    ...Object.entries({ host: "localhost", ...headers }).map((pair) => pair.join(": ")),
    "",
    "",
  ].join("\r\n");

const errorsIn = (lines: readonly LogLine[]) => lines.filter(({ level }) => level >= 50).map(({ msg }) => msg);

Deno.test("clients that hang up in the middle of a request or of its answer leave nothing behind", async () => {
  await using setup = await guardedApp(testConfig());
  const { app, lines } = setup;
  let requests = 0;
  app.addHook("onRequest", (_request, _reply, done) => {
    requests++;
    done();
  });
  const port = await listen(app);
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const cookie = client.cookie!;
  const form = { cookie, "content-type": "application/x-www-form-urlencoded", "content-length": "1000" };
  for (const path of ["callback/credentials", "signout", "session", "signin/credentials"]) {
    const before = requests;
    const arrived = () => eventually("the request has arrived", () => requests > before);
    await sendAndHangUp(port, `${headOf(`POST /auth/${path}`, form)}csrfToken=abc`, arrived);
  }
  for (const path of ["/auth/signin", "/auth/session", "/me", "/guarded"]) {
    for (const when of [() => Promise.resolve(), () => new Promise((resolve) => setTimeout(resolve, 1))]) {
      await sendAndHangUp(port, headOf(`GET ${path}`, { cookie }), when);
    }
  }
  assertEquals(nameIn(await client.get("/auth/session")), "ada");
  const connections = () =>
    new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count ?? 0)));
  if (!process.versions.deno) {
    await eventually("every connection is closed", async () => await connections() === 0);
  }
  assertEquals(errorsIn(lines), []);
});

Deno.test("a client that hangs up while its session is refreshed gets the refreshed session with its next request", async () => {
  let refreshes = 0;
  let open = () => {}, reach = () => {};
  const reached = new Promise<void>((resolve) => reach = resolve);
  const gate = new Promise<void>((resolve) => open = resolve);
  await using setup = await guardedApp(testConfig({
    callbacks: {
      async jwt({ token, account }) {
        if (account || token.fresh) return token;
        refreshes++;
        reach();
        await gate;
        return { ...token, fresh: true };
      },
      session: ({ session, token }) => ({ ...session, fresh: token.fresh }),
    },
  }));
  const port = await listen(setup.app);
  const client = new Client(setup.app);
  await client.signIn({ username: "ada", password: "open" });
  await sendAndHangUp(port, headOf("GET /me", { cookie: client.cookie! }), () => reached);
  const next = client.get("/auth/session");
  open();
  const answer = await next;
  assertEquals([nameIn(answer), answer.json().fresh, refreshes], ["ada", true, 1]);
  assertEquals(errorsIn(setup.lines), []);
});

Deno.test("a client that hangs up during its sign-in can sign in again", async () => {
  let open = () => {}, reach = () => {};
  const reached = new Promise<void>((resolve) => reach = resolve);
  const gate = new Promise<void>((resolve) => open = resolve);
  const provider = Credentials({
    credentials: { username: {}, password: { type: "password" } },
    async authorize() {
      reach();
      await gate;
      return { id: "ada", name: "ada" };
    },
  });
  await using setup = await guardedApp(testConfig({ providers: [provider] }));
  const port = await listen(setup.app);
  const client = new Client(setup.app);
  const csrfToken = await client.csrfToken();
  const body = new URLSearchParams({ csrfToken, username: "ada", password: "open" }).toString();
  const head = headOf("POST /auth/callback/credentials", {
    cookie: client.cookie!,
    "content-type": "application/x-www-form-urlencoded",
    "content-length": `${body.length}`,
  });
  await sendAndHangUp(port, head + body, () => reached);
  open();
  assertFalse(client.cookies.has(NAME));
  assertEquals((await client.signIn({ username: "ada", password: "open" })).statusCode, 302);
  assertEquals(nameIn(await client.get("/auth/session")), "ada");
  assertEquals(errorsIn(setup.lines), []);
});

/** A browser at applications that are processes of their own. */
class Browser {
  readonly cookies = new Map<string, string>();

  async send({ port }: ChildApp, path: string, form?: Record<string, string>) {
    const body = form && new URLSearchParams(form).toString();
    return await new Promise<{ status: number; location: string; body: string }>((resolve, reject) => {
      const headers = {
        cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        ...(body && { "content-type": "application/x-www-form-urlencoded", "content-length": body.length }),
      };
      const options = { host: "127.0.0.1", port, path, method: body === undefined ? "GET" : "POST", headers };
      request({ ...options, agent: false }, async (response) => {
        for (const line of response.headers["set-cookie"] ?? []) {
          const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
          this.cookies.set(name, value);
        }
        let text = "";
        for await (const chunk of response.setEncoding("utf8")) text += chunk;
        resolve({ status: response.statusCode!, location: response.headers.location ?? "", body: text });
      }).on("error", reject).end(body);
    });
  }

  /** Starts a sign-in; gives the path that the provider sends the browser back to. */
  async start(app: ChildApp, provider: ScriptedProvider): Promise<string> {
    const { csrfToken } = JSON.parse((await this.send(app, "/auth/csrf")).body);
    const { location } = await this.send(app, "/auth/signin/op", { csrfToken });
    const { pathname, search } = new URL(provider.authorize(location));
    return pathname + search;
  }

  async reader(app: ChildApp): Promise<string | undefined> {
    return JSON.parse((await this.send(app, "/me")).body).session?.user.name;
  }
}

// Windows has no signals
if (process.platform !== "win32") {
  Deno.test("SIGTERM in the middle of a sign-in: what is in flight is finished, the rest goes on at another process", async () => {
    await using provider = await ScriptedProvider.start();
    const env = { ISSUER: provider.issuer };
    const [a, b] = await Promise.all([1, 2].map(() => startChildApp("./sign_in_process.ts", env)));
    try {
      const inFlight = new Browser(), atProvider = new Browser();
      const later = await atProvider.start(a!, provider);
      const callback = await inFlight.start(a!, provider);
      const idToken = provider.idToken();
      let open = () => {}, reach = () => {};
      const reached = new Promise<void>((resolve) => reach = resolve);
      const gate = new Promise<void>((resolve) => open = resolve);
      const tokens = {
        access_token: "an-access-token",
        token_type: "Bearer",
        expires_in: 3600,
        id_token: idToken,
      };
      provider.script = {
        answer: {
          async token(_request, response) {
            reach();
            await gate;
            response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(tokens));
          },
        },
      };
      const answer = inFlight.send(a!, callback);
      await reached;
      let output = "";
      a!.child.stdout!.on("data", (text) => output += text);
      const ended = new Promise<number | null>((resolve) => a!.child.once("exit", (code) => resolve(code)));
      process.kill(a!.child.pid!, "SIGTERM");
      await eventually(
        "it takes no connections any more",
        () => new Browser().send(a!, "/me").then(({ status }) => status === 503, () => true),
      );
      open();
      assertEquals((await answer).status, 302);
      assertEquals(await ended, 0);
      assertMatch(output, /closed/);
      assertEquals(await inFlight.reader(b!), "Ada");

      // The other was at the provider meanwhile, whose nonce is that of the later sign-in
      provider.script = {};
      const started = await atProvider.send(b!, later);
      assertEquals(started.status, 302);
      const again = await atProvider.start(b!, provider);
      await atProvider.send(b!, again);
      assertEquals(await atProvider.reader(b!), "Ada");
    } finally {
      for (const app of [a!, b!]) await stopChildApp(app);
    }
  });
}
