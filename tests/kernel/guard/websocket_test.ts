/** WebSockets: the session of an upgrade request, over real connections. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import websocket from "@fastify/websocket";
import { FastifyAuth, type FastifyAuthConfig, getSession, type JWT, requireSession } from "fastify-authjs";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocket } from "ws";
import { captureLog, testConfig } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const ada = { username: "ada", password: "open" };

/** An application that tells each socket its session: `/open` to all, `/guarded` and `/staff` to some users. */
async function socketApp(overrides: Partial<FastifyAuthConfig> = {}, server: object = {}) {
  const config = testConfig(overrides);
  const app = Fastify(server) as unknown as FastifyInstance;
  await app.register(websocket);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await app.register((scope, _options, done) => {
    const whoami = async (socket: Socket, request: Parameters<typeof getSession>[0]) => {
      const session = await getSession(request, config);
      socket.send(JSON.stringify(session));
      socket.on("message", async () => socket.send(JSON.stringify(await getSession(request, config))));
    };
    const route = { websocket: true, method: "GET", handler: whoami } as const;
    scope.route({ ...route, url: "/open" } as never);
    scope.route({ ...route, url: "/guarded", onRequest: requireSession(config) } as never);
    scope.route({ ...route, url: "/staff", onRequest: requireSession(config, { roles: "staff" }) } as never);
    done();
  });
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  return { app, client: new Client(app), address: `ws://127.0.0.1:${port}` };
}

/** What is used of a socket, on either side. */
interface Socket {
  send(text: string): void;
  on(event: "message", listener: () => void): void;
}

/** An open socket: its messages, and the headers of the answer that opened it. */
interface Opened extends AsyncDisposable {
  headers: IncomingMessage["headers"];
  next(): Promise<{ user: { name: string }; count?: number } | null>;
  send(text: string): void;
}

/** Opens a socket, or gives the status it was refused with. */
function open(url: string, headers: Record<string, string> = {}): Promise<Opened | number> {
  const socket = new WebSocket(url, { headers });
  const messages: string[] = [];
  const waiting: ((message: string) => void)[] = [];
  let answer: IncomingMessage["headers"] = {};
  socket.on("upgrade", (response: IncomingMessage) => answer = response.headers);
  socket.on("message", (data: { toString(): string }) => {
    const text = data.toString();
    const waiter = waiting.shift();
    if (waiter) waiter(text);
    else messages.push(text);
  });
  return new Promise((resolve, reject) => {
    socket.on("unexpected-response", (request, response) => {
      resolve(response.statusCode ?? 0);
      // Left open, the connection would keep the server from closing for as long as it is kept alive.
      request.destroy();
    });
    socket.on("error", reject);
    socket.on("open", () =>
      resolve({
        headers: answer,
        next: async () => JSON.parse(messages.shift() ?? await new Promise<string>((message) => waiting.push(message))),
        send: (text) => socket.send(text),
        [Symbol.asyncDispose]: () =>
          new Promise<void>((closed) => {
            if (socket.readyState === WebSocket.CLOSED) return closed();
            socket.once("close", () => closed());
            socket.terminate();
          }),
      }));
  });
}

async function opened(url: string, headers?: Record<string, string>): Promise<Opened> {
  const socket = await open(url, headers);
  assert(typeof socket !== "number", `${url} was refused with ${socket}`);
  return socket;
}

Deno.test("getSession() reads the session of an upgrade request", async () => {
  const { app, client, address } = await socketApp();
  await using _app = app;
  await using stranger = await opened(`${address}/open`);
  assertEquals(await stranger.next(), null);
  await client.signIn(ada);
  await using user = await opened(`${address}/open`, { cookie: client.cookie! });
  assertEquals((await user.next())?.user.name, "ada");
  await using forger = await opened(`${address}/open`, { cookie: `${client.cookie!.slice(0, -9)}AAAAAAAAA` });
  assertEquals(await forger.next(), null);
});

Deno.test("requireSession() refuses an upgrade before there is a socket", async () => {
  const { app, client, address } = await socketApp();
  await using _app = app;
  assertEquals(await open(`${address}/guarded`), 401);
  assertEquals(await open(`${address}/guarded`, { accept: "text/html" }), 401);
  await client.signIn(ada);
  await using user = await opened(`${address}/guarded`, { cookie: client.cookie! });
  assertEquals((await user.next())?.user.name, "ada");
  assertEquals(await open(`${address}/staff`, { cookie: client.cookie! }), 403);
});

Deno.test("a socket keeps the session it was opened with for a while, also after a sign-out", async () => {
  const { app, client, address } = await socketApp();
  await using _app = app;
  await client.signIn(ada);
  await using socket = await opened(`${address}/guarded`, { cookie: client.cookie! });
  assertEquals((await socket.next())?.user.name, "ada");
  await client.signOut();
  socket.send("who am I?");
  // Its cookie is that of the upgrade for ever: who wants to end a socket with the session closes it.
  assertEquals((await socket.next())?.user.name, "ada");
  assertEquals(await open(`${address}/guarded`, client.cookie ? { cookie: client.cookie } : {}), 401);
});

/** Counts its calls in the token, so that every read changes it. */
const counting: Partial<FastifyAuthConfig> = {
  callbacks: {
    jwt: ({ token }) => ({ ...token, count: Number(token.count ?? 0) + 1 }),
    session: ({ session, token }) => ({ ...session, count: token.count }),
  },
};

Deno.test("a cookie changed by the read of an upgrade is not sent; the next ordinary reply sends one", async () => {
  const { app, client, address } = await socketApp(counting);
  await using _app = app;
  await client.signIn(ada);
  const before = client.cookie!;
  await using socket = await opened(`${address}/guarded`, { cookie: before });
  assertEquals(socket.headers["set-cookie"], undefined, "the answer to an upgrade bypasses Fastify's reply");
  assertEquals((await socket.next())?.user.name, "ada");

  const answer = await client.get("/me", { headers: { cookie: before } });
  assertEquals(answer.json().session.user.name, "ada", "the old cookie is good still");
  assertStringIncludes([answer.headers["set-cookie"]].flat().join(), "authjs.session-token=");
});

Deno.test("G2: a guard refuses a WebSocket that a page of another origin opens, and nothing else", async () => {
  const trusted = "https://spa.example";
  const config = testConfig({ trustedOrigins: [trusted] });
  await using app = Fastify() as unknown as FastifyInstance;
  await app.register(websocket);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  const route = { websocket: true, method: "GET", handler: (socket: Socket) => socket.send("null") };
  await app.register((scope, _options, done) => {
    scope.route({ ...route, url: "/hook", onRequest: requireSession(config) } as never);
    scope.route({ ...route, url: "/declared", config: { auth: { mountPath: "/auth" } } } as never);
    done();
  });
  await app.register((scope, _options, done) => {
    scope.addHook("onRequest", requireSession(config, { respectRouteConfig: true }));
    scope.route({ ...route, url: "/default" } as never);
    done();
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  const client = new Client(app, { host: `127.0.0.1:${port}` });
  await client.signIn(ada);
  const cookie = client.cookie!;
  for (const path of ["/hook", "/declared", "/default"]) {
    const url = `ws://127.0.0.1:${port}${path}`;
    for (
      const origin of [
        "https://evil.example",
        `http://localhost:${port}`,
        `https://127.0.0.1:${port}`,
        "null",
      ]
    ) {
      assertEquals(await open(url, { cookie, origin }), 403, `${path} from ${origin}`);
    }
    assertEquals(await open(url, { cookie, "sec-fetch-site": "cross-site" }), 403, path);
    for (const origin of [`http://127.0.0.1:${port}`, trusted, undefined]) {
      await using _socket = await opened(url, { cookie, ...(origin && { origin }) });
    }
  }
});

Deno.test("a session cookie that is new for a socket is lost, and the log says so once", async () => {
  const { logger, lines } = captureLog();
  const changed = { jwt: ({ token }: { token: JWT }) => ({ ...token, changed: Number(token.changed ?? 0) + 1 }) };
  const { app, client, address } = await socketApp({ callbacks: changed }, { logger });
  await using _app = app;
  await client.signIn(ada);
  for (let i = 0; i < 2; i++) {
    await using socket = await open(`${address}/open`, { cookie: client.cookie! }) as Opened;
    assertEquals((await socket.next())?.user.name, "ada");
    socket.send("again");
    assertEquals((await socket.next())?.user.name, "ada");
  }
  const losses = lines.filter(({ code }) => code === "FST_AUTHJS_WARN_LOST_COOKIE");
  assertEquals(losses.length, 1);
  assertStringIncludes(losses[0]!.msg, "WebSocket");
});

Deno.test("a token that another request has renewed is no loss of a socket", async () => {
  const callbacks: FastifyAuthConfig["callbacks"] = { jwt: ({ token }) => token };
  const { logger, lines } = captureLog();
  const { app, client, address } = await socketApp({ callbacks }, { logger });
  await using _app = app;
  await client.signIn(ada);
  const { cookie } = client;
  await withClock(async (clock) => {
    clock.now += 5 * 86_400_000;
    assertEquals(setCookies(await client.get("/me")).length, 1);
    await using socket = await opened(`${address}/guarded`, { cookie: cookie! });
    assertEquals((await socket.next())?.user.name, "ada");
    assertEquals(lines.filter(({ code }) => code === "FST_AUTHJS_WARN_LOST_COOKIE"), []);
  });
});

Deno.test("a session that is due is left to the next request by a socket, without a warning", async () => {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  tables.users.set("id-ada", { id: "id-ada", name: "ada", email: "ada@example.com", emailVerified: null } as never);
  const callbacks: FastifyAuthConfig["callbacks"] = { jwt: ({ token }) => token };
  // In time a session may get too large.
  let big = "";
  const grows: FastifyAuthConfig["callbacks"] = { jwt: ({ token }) => ({ ...token, big }) };
  for (const overrides of [{}, { callbacks }, { callbacks: grows }, { adapter: memoryAdapter(tables) }]) {
    const { logger, lines } = captureLog();
    const { app, client, address } = await socketApp(overrides, { logger });
    await using _app = app;
    await client.signIn(ada);
    await withClock(async (clock) => {
      clock.now += 5 * 86_400_000;
      big = "x".repeat(10_000);
      await using socket = await opened(`${address}/guarded`, { cookie: client.cookie! });
      assertEquals((await socket.next())?.user.name, "ada");
      assertEquals(lines.filter(({ code }) => code === "FST_AUTHJS_WARN_LOST_COOKIE"), []);
      big = "";
      assertEquals(setCookies(await client.get("/me")).length, 1);
    });
  }
});
