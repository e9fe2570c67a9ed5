/** Several processes and one lock, played by configurations that share nothing else: each keeps its own renewals. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { encode } from "@auth/core/jwt";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { redisLock, type RefreshLock } from "fastify-authjs/redis";
import { Renewals } from "../src/session/renewals.ts";
import { captureLog, type LogLine, SECRET, testApp, testConfig } from "./support/app.ts";
import { setCookies } from "./support/client.ts";
import { memoryLock } from "./support/memory_lock.ts";

const NAME = "authjs.session-token";
const later = (milliseconds = 20) => new Promise((resolve) => setTimeout(resolve, milliseconds));

interface Process {
  readonly app: FastifyInstance;
  readonly lines: LogLine[];
}

/** Processes whose callback refreshes a token once, by `refresh`, and counts. */
async function processes(
  count: number,
  overrides: Partial<FastifyAuthConfig>,
  refresh: () => Promise<unknown> = later,
) {
  const state = { refreshes: 0 };
  const callbacks: FastifyAuthConfig["callbacks"] = {
    async jwt({ token }) {
      if (token.fresh) return token;
      const turn = ++state.refreshes;
      await refresh();
      return { ...token, fresh: turn };
    },
    session: ({ session, token }) => ({ ...session, fresh: token.fresh }),
  };
  const all = await Promise.all(Array.from({ length: count }, async (): Promise<Process> => {
    const { logger, lines } = captureLog();
    return { app: await testApp(testConfig({ callbacks, ...overrides }), { logger }), lines };
  }));
  const expired = `${NAME}=${await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME })}`;
  const me = async ({ app }: Process, cookie: string = expired) => {
    const answer = await app.inject({ url: "/me", headers: { cookie } });
    return { fresh: answer.json().session?.fresh as number | undefined, cookies: setCookies(answer) };
  };
  return { all, me, state, close: () => Promise.all(all.map(({ app }) => app.close())) };
}

Deno.test("one of several processes refreshes, and all have its result", async () => {
  const refreshLock = memoryLock();
  const { all, me, state, close } = await processes(4, { refreshLock });
  const answers = await Promise.all([...all, ...all, ...all].map((one) => me(one)));
  assertEquals(state.refreshes, 1);
  assertEquals(answers.map(({ fresh }) => fresh), answers.map(() => 1));
  assertEquals(new Set(answers.map(({ cookies }) => cookies[0]!.split(";")[0])).size, 1);
  // Each process asked once for all its requests; what it learnt it keeps.
  const before = refreshLock.calls.length;
  const straggler = await me(all[3]!);
  // The token is the same; when its cookie ends may be a second later.
  const token = (cookies: string[]) => cookies[0]?.split(";")[0];
  assertEquals([straggler.fresh, token(straggler.cookies)], [1, token(answers[0]!.cookies)]);
  assertEquals(refreshLock.calls.slice(before).sort(), ["acquire", "get", "get", "get", "release"]);
  await close();
});

Deno.test("the lock is left alone while refreshDue says that nothing is to be refreshed", async () => {
  const refreshLock = memoryLock();
  const refreshDue = (token: Record<string, unknown>) => token.fresh === undefined;
  const { all, me, close } = await processes(1, { refreshLock, refreshDue });
  const { cookies: [refreshed] } = await me(all[0]!);
  const before = refreshLock.calls.length;
  assert(before > 0);
  assertEquals((await me(all[0]!, refreshed!.split(";")[0])).fresh, 1);
  assertEquals(refreshLock.calls.length, before);
  await close();
});

Deno.test("a refresh that fails frees the lock, and another process tries", async () => {
  let fail = true;
  const refresh = async () => {
    await later();
    if (fail) throw new Error("the provider is down");
  };
  const { all, me, state, close } = await processes(2, { refreshLock: memoryLock() }, refresh);
  assertEquals((await me(all[0]!)).fresh, undefined);
  fail = false;
  assertEquals((await me(all[1]!)).fresh, 2);
  assertEquals(state.refreshes, 2);
  await close();
});

Deno.test("a lock that fails or hangs is done without, and told of", async () => {
  const never = () => new Promise<never>(() => {});
  const down = () => Promise.reject(new Error("connection refused"));
  for (const [broken, reason] of [[down, "connection refused"], [never, "no answer within"]] as const) {
    const refreshLock: RefreshLock = { acquire: broken, release: broken, put: broken, get: broken };
    const { all, me, close } = await processes(1, { refreshLock });
    assertEquals((await me(all[0]!)).fresh, 1);
    assertEquals((await me(all[0]!)).fresh, 1);
    const errors = all[0]!.lines.filter(({ level }) => level === 50);
    assertEquals(errors.length, 1, "said once in a while");
    assertStringIncludes(JSON.stringify(errors), reason);
    await close();
  }
});

Deno.test("requests that share a refresh have a session each, and claims each", async () => {
  let sessions = 0;
  const callbacks: FastifyAuthConfig["callbacks"] = {
    async jwt({ token }) {
      await later();
      return { ...token, seen: [] };
    },
    session({ session, token }) {
      (token.seen as number[]).push(++sessions);
      return { ...session, seen: token.seen };
    },
  };
  const { all, close } = await processes(1, { callbacks });
  const cookie = `${NAME}=${await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME })}`;
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => all[0]!.app.inject({ url: "/me", headers: { cookie } })),
  );
  const seen = answers.map((answer) => answer.json().session.seen);
  assertEquals(seen.map((numbers) => numbers.at(-1)).sort(), [1, 2, 3, 4, 5]);
  // Those who follow begin with what the one before them stored, and do not see one another.
  assert(seen.every((numbers) => numbers.length <= 2), JSON.stringify(seen));
  await close();
});

Deno.test("requests that share claims that cannot be cloned are signed in all the same", async () => {
  const callbacks: FastifyAuthConfig["callbacks"] = {
    async jwt({ token }) {
      await later();
      return { ...token, isAda: () => true };
    },
    session: ({ session, token }) => ({ ...session, fresh: (token.isAda as () => boolean)() ? 1 : 0 }),
  };
  const { all, me, close } = await processes(1, { callbacks });
  const answers = await Promise.all([...all, ...all, ...all].map((one) => me(one)));
  assertEquals(answers, answers.map(() => ({ fresh: 1, cookies: [] })));
  await close();
});

Deno.test("redisLock() speaks to clients of ioredis and of redis, and releases only what is its own", async () => {
  const sent: string[][] = [];
  const answer = (args: string[]) => {
    sent.push(args);
    return Promise.resolve(args[0] === "SET" ? "OK" : args[0] === "GET" ? "value" : 1);
  };
  const clients = [
    { call: (command: string, ...args: string[]) => answer([command, ...args]) },
    { sendCommand: (args: string[]) => answer(args) },
  ];
  for (const client of clients) {
    sent.length = 0;
    const lock = redisLock(client, { prefix: "p:" });
    assertEquals(await lock.acquire("k", "me", 5), true);
    await lock.put("k", "v", 6);
    assertEquals(await lock.get("k"), "value");
    await lock.release("k", "me");
    const [acquire, put, get, release] = sent;
    assertEquals(acquire, ["SET", "p:lock:k", "me", "NX", "PX", "5"]);
    assertEquals(put, ["SET", "p:result:k", "v", "PX", "6"]);
    assertEquals(get, ["GET", "p:result:k"]);
    assertEquals([release![0], ...release!.slice(2)], ["EVAL", "1", "p:lock:k", "me"]);
  }
});

Deno.test("Renewals lead from any replaced token to the newest, for their time", () => {
  const renewals = new Renewals(1_000);
  const { now } = Date;
  const start = now();
  try {
    Date.now = () => start;
    for (let i = 0; i < 50; i++) {
      assertEquals(renewals.newest("t0"), `t${i}`);
      renewals.remember(`t${i}`, `t${i + 1}`);
    }
    const newest = () => ["t0", "t7", "t50", "other"].map((token) => renewals.newest(token));
    Date.now = () => start + 999;
    assertEquals(newest(), ["t50", "t50", "t50", "other"]);
    Date.now = () => start + 1_000;
    assertEquals(newest(), ["t0", "t7", "t50", "other"]);
  } finally {
    Date.now = now;
  }
});

Deno.test("Renewals come to an end where a codec makes a token again", () => {
  const renewals = new Renewals(60_000);
  for (const [token, by] of [["a", "b"], ["s", "a"], ["b", "a"], ["a", "c"], ["c", "b"]] as const) {
    renewals.remember(token, by);
    assertEquals(renewals.newest(token), by);
  }
  assertEquals(["a", "b", "c", "s"].map((token) => renewals.newest(token)), ["b", "b", "b", "b"]);
});

Deno.test("Renewals are bounded: the oldest go first", () => {
  const renewals = new Renewals(60_000);
  const big = "x".repeat(2 ** 20);
  for (let i = 0; i < 8; i++) renewals.remember(`${i}${big}`, `to ${i}`);
  assertEquals(renewals.newest(`0${big}`), `0${big}`);
  assertEquals(renewals.newest(`7${big}`), "to 7");
});
