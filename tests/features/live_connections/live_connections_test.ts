/** Connections that stay open, WebSockets and server-sent events: they end with their session. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import sse from "@fastify/sse";
import websocket from "@fastify/websocket";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { createAuth, type FastifyAuthConfig, FastifyAuthError, memoryStore } from "fastify-authjs";
import type { AddressInfo } from "node:net";
import { WebSocket } from "ws";
import { captureLog, testConfig } from "../../support/app.ts";
import { withClock } from "../../support/clock.ts";
import { Client } from "../../support/client.ts";
import { testStore } from "../../support/test_store.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const ada = { username: "ada", password: "open" };

/** So long that no look comes by itself during a test. */
const NEVER = 600_000;

/** What is used of the server's side of a WebSocket. */
interface Socket {
  send(text: string): void;
  close(code: number, reason: string): void;
  on(event: "message", listener: () => void): void;
}

/** An application with a WebSocket and a stream of events, both for signed-in users and as long as they are. */
async function liveApp(
  config: FastifyAuthConfig | ((request: FastifyRequest) => FastifyAuthConfig),
  { interval, onEnd = () => {} }: { interval?: number; onEnd?: () => unknown } = {},
) {
  const auth = createAuth(config as FastifyAuthConfig);
  const { logger, lines } = captureLog();
  const app = Fastify({ logger }) as unknown as FastifyInstance;
  const options = interval === undefined ? {} : { interval };
  await app.register(websocket);
  await app.register(sse as never);
  await app.register(auth.plugin, { prefix: "/auth" });
  const onRequest = auth.requireSession();
  await app.register((scope, _options, done) => {
    const handler = async (socket: Socket, request: FastifyRequest) => {
      const stop = await auth.onSessionEnd(request, async () => {
        socket.close(4401, "the session has ended");
        await onEnd();
      }, options);
      socket.on("message", () => {
        stop();
        socket.send("stopped");
      });
      socket.send("open");
    };
    scope.route({ method: "GET", url: "/socket", websocket: true, onRequest, handler } as never);
    done();
  });
  const stream = async (request: FastifyRequest, reply: FastifyReply) => {
    const { sse } = reply as unknown as {
      sse: { keepAlive(): void; close(): void; send(message: { data: string }): Promise<void> };
    };
    sse.keepAlive();
    await auth.onSessionEnd(request, () => sse.close(), options);
    await sse.send({ data: "open" });
  };
  app.get("/events", { onRequest, sse: "only" } as never, stream as never);
  const requests: FastifyRequest[] = [];
  app.get("/open", async (request) => {
    requests.push(request);
    return await auth.onSessionEnd(request, onEnd, options) && "open";
  });
  app.post("/everywhere", async () => {
    await auth.revokeSessions("id-ada");
    return "ended";
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  return {
    app,
    auth,
    lines,
    requests,
    client: new Client(app),
    port: (app.server.address() as AddressInfo).port,
  };
}

/** An open WebSocket: its next message, and the code that it is closed with. */
async function openSocket(port: number, cookie = "") {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`, { headers: { cookie } });
  const message = () => new Promise<string>((resolve) => socket.once("message", (data) => resolve(String(data))));
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  const first = message();
  const refused = new Promise<string>((_resolve, reject) =>
    socket.on("unexpected-response", (request, { statusCode }) => {
      request.destroy();
      reject(new Error(String(statusCode)));
    })
  );
  socket.on("error", () => {});
  assertEquals(await Promise.race([first, refused]), "open");
  return { socket, message, closed };
}

/** An open stream of events, and all that it sends until it ends. */
async function openEvents(port: number, cookie = "") {
  const abort = new AbortController();
  const headers = { accept: "text/event-stream", cookie };
  const answer = await fetch(`http://127.0.0.1:${port}/events`, { headers, signal: abort.signal });
  if (answer.status !== 200) return { status: answer.status, text: await answer.text() };
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  const first = (await reader.read()).value!;
  assertStringIncludes(first, "data:");
  const ended = (async () => {
    for (let text = first;;) {
      const { value, done } = await reader.read();
      if (done) return text;
      text += value;
    }
  })();
  return { status: 200, ended, abort, cookies: answer.headers.getSetCookie() };
}

/** A database with a session of Ada, and what fails of it. */
function database(maxAge = 3600) {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  tables.users.set("1", { id: "1", name: "ada", email: "ada@example.com", emailVerified: null });
  const expires = new Date(Date.now() + maxAge * 1000);
  tables.sessions.set("ada's", { sessionToken: "ada's", userId: "1", expires });
  const adapter = memoryAdapter(tables);
  const calls = { reads: 0, writes: 0, fails: false };
  const config = testConfig({
    session: { strategy: "database", maxAge, updateAge: 0 },
    providers: [],
    adapter: {
      ...adapter,
      getSessionAndUser(token) {
        calls.reads++;
        if (calls.fails) throw new Error("The database is down.");
        return adapter.getSessionAndUser(token);
      },
      updateSession(session) {
        calls.writes++;
        return adapter.updateSession(session);
      },
    },
  });
  return { tables, calls, config, cookie: "authjs.session-token=ada's" };
}

async function until(what: () => boolean): Promise<void> {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 5));
}

Deno.test("a WebSocket and a stream of events end at once with a sign-out in the same process", async () => {
  const { app, client, port } = await liveApp(testConfig(), { interval: NEVER });
  await using _app = app;
  assertEquals((await openEvents(port)).status, 401);
  await assertRejects(() => openSocket(port), Error, "401");
  await client.signIn(ada);
  const { cookie } = client;
  const { closed } = await openSocket(port, cookie);
  const { ended } = await openEvents(port, cookie);
  await client.signOut();
  assertEquals(await closed, 4401);
  assertStringIncludes(await ended!, "open");
});

Deno.test("they end when the sessions of a user are revoked, in this process and in another", async () => {
  const store = memoryStore();
  const config = () => testConfig({ store, revocable: true });
  const here = await liveApp(config(), { interval: NEVER });
  await using _here = here.app;
  const there = await liveApp(config(), { interval: 10 });
  await using _there = there.app;
  await here.client.signIn(ada);
  const { cookie } = here.client;
  const [own, other] = [await openSocket(here.port, cookie), await openEvents(there.port, cookie)];
  await here.client.request("POST", "/everywhere");
  assertEquals(await own.closed, 4401);
  await other.ended;
});

Deno.test("a session in a database ends with the next look, or when it expires", async () => {
  const { tables, calls, config, cookie } = database();
  await using _app = (await liveApp(config)).app;
  const { app, port } = await liveApp(config, { interval: 10 });
  await using _other = app;
  const { closed } = await openSocket(port, cookie);
  const { reads } = calls;
  await until(() => calls.reads > reads + 2);
  const writes = calls.writes;
  await until(() => calls.reads > reads + 4);
  assertEquals(calls.writes, writes, "looks renew nothing");
  tables.sessions.clear();
  assertEquals(await closed, 4401);
  const after = calls.reads;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals(calls.reads, after, "nothing looks any more");

  // Browsers keep the cookie of a longer session for 400 days, and of one that ends with them no longer than the row.
  const long = database(500 * 86_400);
  const expires = new Date(Date.now() + 3600_000);
  long.tables.sessions.set("a.ephemeral", { sessionToken: "a.ephemeral", userId: "1", expires });
  const longApp = await liveApp(long.config, { interval: NEVER });
  await using _long = longApp.app;
  const own = await openSocket(longApp.port, "authjs.session-token=a.ephemeral");
  assertEquals(await Promise.race([own.closed, new Promise((resolve) => setTimeout(resolve, 50, "open"))]), "open");

  const short = database(1);
  const shortApp = await liveApp(short.config, { interval: NEVER });
  await using _short = shortApp.app;
  assertEquals(await (await openSocket(shortApp.port, short.cookie)).closed, 4401);
});

Deno.test("a session in a JWT ends when its token expires, and looks call no callback", () =>
  withClock(async (clock) => {
    let calls = 0;
    const config = testConfig({
      session: { maxAge: 3600 },
      callbacks: {
        jwt({ token }) {
          calls++;
          return token;
        },
      },
    });
    const { app, client, port } = await liveApp(config, { interval: 10 });
    await using _app = app;
    await client.signIn(ada);
    const { closed } = await openSocket(port, client.cookie);
    const before = calls;
    clock.now += 3_601_000;
    assertEquals(await closed, 4401);
    assertEquals(calls, before);
  }));

Deno.test("a token that other requests renew in this process is followed", () =>
  withClock(async (clock) => {
    const store = testStore();
    // Of the upgrade, which is due, too, the client gets no cookie.
    const config = testConfig({ session: { maxAge: 3600, updateAge: 0 }, store, revocable: true });
    const { app, client, port } = await liveApp(config, { interval: 10 });
    await using _app = app;
    const look = async () => {
      const { length } = store.calls;
      await until(() => store.calls.length > length + 6);
    };
    await client.signIn(ada);
    const { socket, closed } = await openSocket(port, client.cookie);
    for (let renewals = 0; renewals < 3; renewals++) {
      clock.now += 2_400_000;
      assert((await client.get("/auth/session")).json());
      await look();
      assertEquals(socket.readyState, WebSocket.OPEN);
    }
    clock.now += 3_601_000;
    assertEquals(await closed, 4401);
  }));

for (const when of ["just before the connection opened", "long before the next check"]) {
  Deno.test(`a token that was renewed in this process ${when} is followed`, () =>
    withClock(async (clock) => {
      const store = testStore();
      const config = testConfig({ session: { maxAge: 3600, updateAge: 0 }, store, revocable: true });
      const { app, client, port } = await liveApp(config, { interval: 200 });
      await using _app = app;
      await client.signIn(ada);
      const { cookie } = client;
      const renew = async () => {
        clock.now += 2_400_000;
        assert((await client.get("/auth/session")).json());
      };
      const isBefore = when.startsWith("just");
      if (isBefore) await renew();
      const { closed } = await openSocket(port, cookie);
      if (!isBefore) await renew();
      clock.now += 1_300_000;
      const { length } = store.calls;
      assertEquals(await Promise.race([closed, until(() => store.calls.length > length + 6)]), undefined);
      clock.now += 2_400_000;
      assertEquals(await closed, 4401);
    }));
}

Deno.test("a database that fails ends no connection before the session would expire", () =>
  withClock(async (clock) => {
    const { calls, config, cookie } = database();
    const { app, lines, port } = await liveApp(config, { interval: 10 });
    await using _app = app;
    const { socket, closed } = await openSocket(port, cookie);
    const failures = () => lines.filter(({ msg }) => msg.includes("could not check"));
    for (let outage = 1; outage < 3; outage++) {
      calls.fails = true;
      const { length } = failures();
      await until(() => failures().length > length + 2);
      calls.fails = false;
      const { reads } = calls;
      await until(() => calls.reads > reads + 2);
      assertEquals(socket.readyState, WebSocket.OPEN);
    }
    assertEquals(failures()[0]!.level, 50);
    assert(!JSON.stringify(lines).includes("ada's"), "no token is in the log");
    calls.fails = true;
    clock.now += 3_601_000;
    assertEquals(await closed, 4401, "nothing is known of it once it would have expired");
  }));

Deno.test("onSessionEnd() stops by its function, and when the connection closes", async () => {
  const { calls, config, cookie } = database();
  let ends = 0;
  const { app, port } = await liveApp(config, { interval: 10, onEnd: () => ends++ });
  await using _app = app;
  const quiet = async () => {
    // A look may be under way.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { reads } = calls;
    await new Promise((resolve) => setTimeout(resolve, 100));
    assertEquals(calls.reads, reads);
  };
  const stopped = await openSocket(port, cookie);
  const answer = stopped.message();
  stopped.socket.send("stop");
  assertEquals(await answer, "stopped");
  await quiet();
  stopped.socket.terminate();

  const gone = await openSocket(port, cookie);
  gone.socket.terminate();
  await gone.closed;
  await quiet();

  const { abort, ended } = await openEvents(port, cookie);
  abort!.abort();
  await ended!.catch(() => {});
  await quiet();
  assertEquals(ends, 0);
});

Deno.test("an ordinary reply ends it, too, on a connection that is kept alive", async () => {
  const { calls, config, cookie } = database();
  const { app, port } = await liveApp(config, { interval: 10 });
  await using _app = app;
  for (let request = 0; request < 3; request++) {
    const answer = await fetch(`http://127.0.0.1:${port}/open`, { headers: { cookie } });
    assertEquals(await answer.text(), "open");
  }
  const { reads } = calls;
  await new Promise((resolve) => setTimeout(resolve, 100));
  assertEquals(calls.reads, reads);
});

Deno.test("without a session the function is called at once", async () => {
  let ends = 0;
  const { app, client } = await liveApp(testConfig(), { onEnd: () => ends++ });
  await using _app = app;
  assertEquals((await client.get("/open")).statusCode, 200);
  assertEquals(ends, 1);
  await client.signIn(ada);
  const forged = client.cookie!.replace(/.{9}$/, "AAAAAAAAA");
  assertEquals((await client.get("/open", { headers: { cookie: forged } })).statusCode, 200);
  assertEquals(ends, 2);
});

Deno.test("what the function throws is logged, and wrong arguments are refused", async () => {
  const onEnd = () => {
    throw new Error("a mistake of the application");
  };
  const { app, auth, client, lines, requests } = await liveApp(testConfig(), { onEnd });
  await using _app = app;
  assertEquals((await client.get("/open")).statusCode, 200);
  assert(
    lines.some(({ msg, err }) => msg.includes("onSessionEnd()") && JSON.stringify(err).includes("a mistake")),
  );
  const [request] = requests;
  for (
    const given of [[{}, onEnd], [request, 1], [request, onEnd, { interval: 0 }], [request, onEnd, {
      interval: "1",
    }], [request, onEnd, { interval: 600_001 }]]
  ) {
    const error = await assertRejects(
      () => (auth.onSessionEnd as (...given: unknown[]) => Promise<unknown>)(...given),
      FastifyAuthError,
    );
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
  }
});

Deno.test("a stream of events carries the cookie of a session that its guard has renewed", async () => {
  const { config, cookie } = database();
  const { app, port } = await liveApp(config, { interval: NEVER });
  await using _app = app;
  const { cookies, abort, ended } = await openEvents(port, cookie);
  assertStringIncludes(cookies!.join(), "authjs.session-token=");
  abort!.abort();
  await ended!.catch(() => {});
});

Deno.test("a function may choose the configuration", async () => {
  const config = { ...testConfig(), tenant: "acme" };
  const { app, client, port } = await liveApp(() => config, { interval: NEVER });
  await using _app = app;
  await client.signIn(ada);
  const { closed } = await openSocket(port, client.cookie);
  await client.signOut();
  assertEquals(await closed, 4401);
});
