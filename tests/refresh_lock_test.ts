/** Several processes and one lock, played by configurations that share nothing else: each keeps its own refreshes. */
import { assert, assertEquals, assertFalse, assertNotEquals, assertStringIncludes } from "@std/assert";
import { decode, encode } from "@auth/core/jwt";
import fc from "./support/property.ts";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { redisLock, type RefreshLock } from "fastify-authjs/redis";
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { placeOf } from "../src/session/sealed_value.ts";
import { captureLog, type LogLine, SECRET, testApp, testConfig } from "./support/app.ts";
import { setCookies } from "./support/client.ts";
import { type MemoryLock, memoryLock } from "./support/memory_lock.ts";

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
    const { session } = answer.json();
    return {
      name: session?.user.name as string | undefined,
      fresh: session?.fresh as number | undefined,
      cookies: setCookies(answer),
    };
  };
  return {
    all,
    me,
    expired,
    state,
    [Symbol.asyncDispose]: async () => void await Promise.all(all.map(({ app }) => app.close())),
  };
}

Deno.test("one of several processes refreshes, and all have its result", async () => {
  const refreshLock = memoryLock();
  await using fleet = await processes(4, { refreshLock });
  const { all, me, state } = fleet;
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
});

Deno.test("the lock is left alone while refreshDue says that nothing is to be refreshed", async () => {
  const refreshLock = memoryLock();
  const refreshDue = (token: Record<string, unknown>) => token.fresh === undefined;
  await using fleet = await processes(1, { refreshLock, refreshDue });
  const { all, me } = fleet;
  const { cookies: [refreshed] } = await me(all[0]!);
  const before = refreshLock.calls.length;
  assert(before > 0);
  assertEquals((await me(all[0]!, refreshed!.split(";")[0])).fresh, 1);
  assertEquals(refreshLock.calls.length, before);
});

Deno.test("a refresh that fails frees the lock, and another process tries", async () => {
  let fail = true;
  const refresh = async () => {
    await later();
    if (fail) throw new Error("the provider is down");
  };
  await using fleet = await processes(2, { refreshLock: memoryLock() }, refresh);
  const { all, me, state } = fleet;
  assertEquals((await me(all[0]!)).fresh, undefined);
  fail = false;
  assertEquals((await me(all[1]!)).fresh, 2);
  assertEquals(state.refreshes, 2);
});

Deno.test("a lock that fails or hangs is done without, and told of", async () => {
  const never = () => new Promise<never>(() => {});
  const down = () => Promise.reject(new Error("connection refused"));
  for (const [broken, reason] of [[down, "connection refused"], [never, "no answer within"]] as const) {
    const refreshLock: RefreshLock = { acquire: broken, release: broken, put: broken, get: broken };
    await using fleet = await processes(1, { refreshLock });
    const { all, me } = fleet;
    assertEquals((await me(all[0]!)).fresh, 1);
    assertEquals((await me(all[0]!)).fresh, 1);
    const errors = all[0]!.lines.filter(({ level }) => level === 50);
    assertEquals(errors.length, 1, "said once in a while");
    assertStringIncludes(JSON.stringify(errors), reason);
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
  await using fleet = await processes(1, { callbacks });
  const { all } = fleet;
  const cookie = `${NAME}=${await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME })}`;
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => all[0]!.app.inject({ url: "/me", headers: { cookie } })),
  );
  const seen = answers.map((answer) => answer.json().session.seen);
  assertEquals(seen.map((numbers) => numbers.at(-1)).sort(), [1, 2, 3, 4, 5]);
  // Later processes begin with what the one before them stored, and do not see one another.
  assert(seen.every((numbers) => numbers.length <= 2), JSON.stringify(seen));
});

Deno.test("requests that share claims that cannot be cloned are signed in all the same", async () => {
  const callbacks: FastifyAuthConfig["callbacks"] = {
    async jwt({ token }) {
      await later();
      return { ...token, isAda: () => true };
    },
    session: ({ session, token }) => ({ ...session, fresh: (token.isAda as () => boolean)() ? 1 : 0 }),
  };
  await using fleet = await processes(1, { callbacks });
  const { all, me } = fleet;
  const answers = await Promise.all([...all, ...all, ...all].map((one) => me(one)));
  assertEquals(answers, answers.map(() => ({ name: "ada", fresh: 1, cookies: [] })));
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
    assertEquals(await lock.extend!("k", "me", 7), true);
    await lock.release("k", "me");
    const [acquire, put, get, extend, release] = sent;
    assertEquals(acquire, ["SET", "p:lock:k", "me", "NX", "PX", "5"]);
    assertEquals(put, ["SET", "p:result:k", "v", "PX", "6"]);
    assertEquals(get, ["GET", "p:result:k"]);
    assertEquals([extend![0], ...extend!.slice(2)], ["EVAL", "1", "p:lock:k", "me", "7"]);
    assertEquals([release![0], ...release!.slice(2)], ["EVAL", "1", "p:lock:k", "me"]);
  }
});

Deno.test("a lock that can be extended is held while a refresh takes longer than it, and others wait for the result", async () => {
  const refreshLock = memoryLock({ extends: true });
  // A third of it is how often the lock is extended, and all of it how long nothing may be heard.
  await using fleet = await processes(
    2,
    { refreshLock, providerTimeout: 1_000 },
    () => later(2_500),
  );
  const { all, me, state } = fleet;
  const answers = await Promise.all([...all, ...all].map((one) => me(one)));
  assertEquals([state.refreshes, ...answers.map(({ fresh }) => fresh)], [1, 1, 1, 1, 1]);
  assert(refreshLock.calls.includes("extend"));
  assertEquals(refreshLock.owners.size, 0);
  const { length } = refreshLock.calls;
  await later(700);
  assertEquals(refreshLock.calls.length, length, "it is not extended after the refresh");
});

Deno.test("a lock that cannot be extended is held for longer, and waited for as well", async () => {
  const refreshLock = memoryLock();
  const held: number[] = [];
  const { acquire } = refreshLock;
  refreshLock.acquire = (key, owner, milliseconds) => {
    held.push(milliseconds);
    return acquire(key, owner, milliseconds);
  };
  await using fleet = await processes(
    2,
    { refreshLock, providerTimeout: 1_000 },
    () => later(2_500),
  );
  const { all, me, state } = fleet;
  assertEquals((await Promise.all(all.map((one) => me(one)))).map(({ fresh }) => fresh), [1, 1]);
  assertEquals(state.refreshes, 1);
  assert(held.length > 0);
  assertEquals(held, held.map(() => 120_000));
});

Deno.test("a lock that is never released costs a read the provider timeout, and the next ones nothing", async () => {
  const refreshLock = memoryLock({ extends: true });
  refreshLock.acquire = () => Promise.resolve(false);
  await using fleet = await processes(2, { refreshLock, providerTimeout: 200 });
  const { all, me, state } = fleet;
  assertEquals((await me(all[0]!)).fresh, 1);
  // The others get the result, although no process ever holds the lock.
  assertEquals((await me(all[1]!)).fresh, 1);
  assertEquals(state.refreshes, 1);
});

Deno.test("without a grace the requests that wait for a refresh get its result, and later ones do not", async () => {
  const refreshLock = memoryLock();
  await using fleet = await processes(2, { refreshLock, refreshGrace: 0 }, () => later(200));
  const { all, me, state } = fleet;
  assertEquals((await Promise.all(all.map((one) => me(one)))).map(({ fresh }) => fresh), [1, 1]);
  assertEquals((await me(all[1]!)).fresh, 2);
  assertEquals(state.refreshes, 2);
});

/** Every text that can be read out of a store: keys, values, and what they hold in base64url. */
function textsIn({ values, keys }: MemoryLock): string[] {
  const texts = [...keys, ...values.keys(), ...values.values()];
  return texts.flatMap((text) => [text, Buffer.from(text, "base64url").toString("latin1")]);
}

Deno.test("nothing in the store is a session token, contains one or leads to one", async () => {
  const refreshLock = memoryLock({ extends: true });
  await using fleet = await processes(
    2,
    { refreshLock, providerTimeout: 600 },
    () => later(700),
  );
  const { all, me, expired } = fleet;
  const [first] = await Promise.all(all.map((one) => me(one)));
  const tokens = [expired, first!.cookies[0]!.split(";")[0]!].map((pair) => pair.slice(NAME.length + 1));
  assert(refreshLock.values.size > 0);
  for (const text of textsIn(refreshLock)) {
    assertEquals(await decode({ token: text, secret: SECRET, salt: NAME }).catch(() => null), null);
    assertFalse(/eyJ[\w-]+\.\.[\w-]+\./.test(text), "a token in core's format");
    for (const token of tokens) {
      for (const part of token.split(".").filter((part) => part.length > 20)) {
        assertFalse(text.includes(part));
      }
      // What was the key once, which a token leads to but which must not be all it takes to open a value.
      assertNotEquals(text, createHash("sha256").update(token).digest("base64url"));
    }
  }
});

/** What a process that refreshes `token` leaves in the store, in its order. */
async function leftBy(token: string, overrides: Partial<FastifyAuthConfig> = {}): Promise<MemoryLock> {
  const refreshLock = memoryLock();
  await using fleet = await processes(1, { refreshLock, ...overrides });
  const { all, me } = fleet;
  assertEquals((await me(all[0]!, `${NAME}=${token}`)).fresh, 1);
  return refreshLock;
}

const sealedFor = (name: string, secret = SECRET) => encode({ token: { name }, secret, salt: NAME });

Deno.test("a value from the store that was not put there is rejected, and the session is refreshed again", async () => {
  const ada = await sealedFor("ada"), mallory = await sealedFor("mallory");
  const theirs = [...(await leftBy(mallory)).values.values()];
  const own = [...(await leftBy(ada)).values.values()];
  const elsewhere = [...(await leftBy(await sealedFor("ada"))).values.values()];
  const answers: [what: string, value: () => string | Promise<string>][] = [
    ...theirs.map((value) => ["another user's value", () => value] as [string, () => string]),
    [
      "a token in clear",
      () => encode({ token: { name: "ada", fresh: 9 }, secret: SECRET, salt: NAME }),
    ],
    ["mallory's token in clear", () => mallory],
    ["nothing like a value", () => "garbage"],
    ["random bytes", () => randomBytes(400).toString("base64url")],
    ["an empty text", () => ""],
    ["a value that was cut", () => own[0]!.slice(0, -8)],
    ["a value of another place", () => elsewhere[0]!],
    ["a number", () => 7 as never],
    ["a very long text", () => "A".repeat(100_000)],
  ];
  for (const [what, value] of answers) {
    const refreshLock = memoryLock();
    refreshLock.get = async () => await value();
    await using fleet = await processes(1, { refreshLock });
    const { all, me, state } = fleet;
    const answer = await me(all[0]!, `${NAME}=${ada}`);
    assertEquals([answer.name, answer.fresh, state.refreshes], ["ada", 1, 1], what);
    assertEquals(answer.cookies.filter((line) => /max-age=0/i.test(line)), [], what);
    assertEquals(answer.cookies.length, 1, what);
  }
});

Deno.test("a result of a process with another secret is not used, and the session goes on", async () => {
  // One process has rotated its secret, the other does not know the new one yet.
  const old = SECRET, fresh = "another-secret-of-at-least-32-characters";
  const refreshLock = memoryLock();
  const ada = await sealedFor("ada", old);
  await using ahead = await processes(1, { refreshLock, secret: [fresh, old] });
  assertEquals((await ahead.me(ahead.all[0]!, `${NAME}=${ada}`)).fresh, 1);
  await using behind = await processes(1, { refreshLock, secret: old });
  const answer = await behind.me(behind.all[0]!, `${NAME}=${ada}`);
  assertEquals([answer.name, answer.fresh, behind.state.refreshes], ["ada", 1, 1]);
  assertFalse(/max-age=0/i.test(answer.cookies.join()));
});

Deno.test("a value in the store that was not written for it is told of", async () => {
  const refreshLock = memoryLock();
  refreshLock.get = () => Promise.resolve("garbage");
  await using fleet = await processes(1, { refreshLock });
  const { all, me } = fleet;
  await me(all[0]!);
  const errors = all[0]!.lines.filter(({ level }) => level === 50);
  assertEquals(errors.length, 1);
  assertStringIncludes(JSON.stringify(errors), "was not written for it");
});

Deno.test("a place opens what was sealed for it, and nothing else (any text, any change)", () => {
  const text = fc.string({ unit: "binary", maxLength: 300 });
  fc.assert(
    fc.property(
      text,
      text,
      text,
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (secret, purpose, value, at, by) => {
        const place = placeOf(secret, purpose);
        const sealed = place.seal(value);
        assertEquals(place.open(sealed), Buffer.from(value).toString());
        assertNotEquals(sealed, place.seal(value));
        assertEquals(placeOf(`${secret}x`, purpose).open(sealed), undefined);
        assertEquals(placeOf(secret, `${purpose}x`).open(sealed), undefined);
        const changed = Buffer.from(sealed, "base64url");
        changed[at % changed.length]! ^= by;
        assertEquals(place.open(changed.toString("base64url")), undefined);
        assertEquals(place.open(value), undefined);
        assertNotEquals(place.name, placeOf(secret, `${purpose}x`).name);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("a refresh lock that lacks a method, or a grace that is no time, stops the application at boot", async () => {
  const { extend: _extend, put: _put, ...lock } = memoryLock();
  for (
    const [overrides, text] of [
      [{ refreshLock: lock as never }, "`refreshLock` lacks put()"],
      [{ refreshGrace: -1 }, "`refreshGrace` must be"],
      [{ refreshGrace: NaN }, "`refreshGrace` must be"],
    ] as const
  ) {
    const error = await testApp(testConfig(overrides)).then(() => undefined, (error) => error);
    assertEquals(error?.code, "FST_AUTHJS_CONFIG_INVALID");
    assertStringIncludes(error.message, text);
  }
});

Deno.test("a logger that throws while a lock fails to be held for longer ends no process and no read", async () => {
  const refreshLock: RefreshLock = {
    ...memoryLock(),
    extend: () => Promise.reject(new Error("The lock is down.")),
  };
  const told: string[] = [];
  await using app = await testApp(testConfig({
    refreshLock,
    providerTimeout: 30,
    logger: {
      error(error) {
        told.push(error.message);
        throw new Error("The logger is down.");
      },
    },
    callbacks: {
      async jwt({ token }) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return { ...token, refreshed: true };
      },
    },
  }));
  const token = await encode({ token: { name: "ada" }, secret: SECRET, salt: "authjs.session-token" });
  const answer = await app.inject({ url: "/me", headers: { cookie: `authjs.session-token=${token}` } });
  assertEquals(answer.json().session.user.name, "ada");
  assert(told[0]!.includes("extend()"), told[0]);
});

Deno.test("a lock that expires while its process refreshes is told of once, and the refresh goes on", async () => {
  const refreshLock = memoryLock({ extends: true });
  const messages: string[] = [];
  const config: Partial<FastifyAuthConfig> = {
    refreshLock,
    providerTimeout: 30,
    logger: { error: ({ message }) => void messages.push(message) },
  };
  await using fleet = await processes(1, config, async () => {
    refreshLock.owners.clear();
    while (!refreshLock.calls.includes("extend")) await later(1);
  });
  const { fresh, cookies } = await fleet.me(fleet.all[0]!);
  assertEquals([fresh, cookies.length], [1, 1]);
  assertEquals(messages.length, 1);
  assertStringIncludes(messages[0]!, "The refresh lock was lost during a refresh");
});
