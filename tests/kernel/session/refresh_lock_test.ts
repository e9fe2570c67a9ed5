/** Several processes and one store, played by configurations that share nothing else: each keeps its own refreshes. */
import { assert, assertEquals, assertFalse, assertNotEquals, assertStringIncludes } from "@std/assert";
import { decode, encode } from "@auth/core/jwt";
import fc from "../../support/property.ts";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { redisStore, type Store } from "fastify-authjs/redis";
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { placeOf } from "../../../src/store/sealed_value.ts";
import { captureLog, type LogLine, SECRET, testApp, testConfig } from "../../support/app.ts";
import { setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { type TestStore, testStore } from "../../support/test_store.ts";

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
  const store = testStore();
  await using fleet = await processes(4, { store });
  const { all, me, state } = fleet;
  const answers = await Promise.all([...all, ...all, ...all].map((one) => me(one)));
  assertEquals(state.refreshes, 1);
  assertEquals(answers.map(({ fresh }) => fresh), answers.map(() => 1));
  assertEquals(new Set(answers.map(({ cookies }) => cookies[0]!.split(";")[0])).size, 1);
  // Each process asked once for all its requests; what it learnt it keeps.
  const before = store.calls.length;
  const straggler = await me(all[3]!);
  // The token is the same; when its cookie ends may be a second later.
  const token = (cookies: string[]) => cookies[0]?.split(";")[0];
  assertEquals([straggler.fresh, token(straggler.cookies)], [1, token(answers[0]!.cookies)]);
  assertEquals(store.calls.slice(before).sort(), ["get", "get", "get", "lock", "unlock"]);
});

Deno.test("a lock for which a store returns nothing is held by another process", async () => {
  const inner = testStore();
  const store: Store = { ...inner, lock: async (...args) => await inner.lock(...args) || undefined as never };
  await using fleet = await processes(4, { store });
  const answers = await Promise.all(fleet.all.map((one) => fleet.me(one)));
  assertEquals([fleet.state.refreshes, ...answers.map(({ fresh }) => fresh)], [1, 1, 1, 1, 1]);
});

Deno.test("the lock is left alone while refreshDue says that nothing is to be refreshed", async () => {
  const store = testStore();
  const refreshDue = (token: Record<string, unknown>) => token.fresh === undefined;
  await using fleet = await processes(1, { store, refreshDue });
  const { all, me } = fleet;
  const { cookies: [refreshed] } = await me(all[0]!);
  const before = store.calls.length;
  assert(before > 0);
  assertEquals((await me(all[0]!, refreshed!.split(";")[0])).fresh, 1);
  assertEquals(store.calls.length, before);
});

Deno.test("a refresh that fails frees the lock, and another process tries", async () => {
  let fail = true;
  const refresh = async () => {
    await later();
    if (fail) throw new Error("the provider is down");
  };
  await using fleet = await processes(2, { store: testStore() }, refresh);
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
    const store: Store = { ...testStore(), lock: broken, unlock: broken, set: broken, get: broken };
    await using fleet = await processes(1, { store });
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

Deno.test("redisStore() speaks to clients of ioredis and of redis, and releases only what is its own", async () => {
  const sent: string[][] = [];
  const answers: Record<string, unknown> = { SET: "OK", GET: "value", HGET: "field", EVAL: ["a"] };
  const answer = (args: string[]) => {
    sent.push(args);
    return Promise.resolve(answers[args[0]!] ?? 1);
  };
  const clients = [
    { call: (command: string, ...args: string[]) => answer([command, ...args]) },
    { sendCommand: (args: string[]) => answer(args) },
  ];
  for (const client of clients) {
    sent.length = 0;
    const store = redisStore(client, { prefix: "p:" });
    assertEquals(await store.lock("k", "me", 5), true);
    await store.set("k", "v", 6);
    assertEquals(await store.get(["k", "sessions:ada#epoch"]), ["value", "field"]);
    await store.unlock("k", "me");
    await store.add("s", "a", 1_000);
    assertEquals(await store.members("s"), ["a"]);
    await store.remove("s", "a");
    const [lock, set, get, hget, unlock, add, members, remove] = sent;
    assertEquals(lock, ["SET", "p:lock:k", "me", "NX", "PX", "5"]);
    assertEquals(set, ["SET", "p:result:k", "v", "PX", "6"]);
    assertEquals([get, hget], [["GET", "p:result:k"], ["HGET", "p:sessions:ada", "epoch"]]);
    assertEquals([unlock![0], ...unlock!.slice(2)], ["EVAL", "1", "p:lock:k", "me"]);
    assertEquals([add![0], ...add!.slice(2)], ["EVAL", "1", "p:set:s", "a", "1000"]);
    assertEquals([members![0], ...members!.slice(2)], ["EVAL", "1", "p:set:s"]);
    assertEquals(remove, ["ZREM", "p:set:s", "a"]);
  }
});

/** How long the lock of each refresh is held. */
function holding(store: TestStore): number[] {
  const held: number[] = [];
  const { lock } = store;
  store.lock = (key, owner, milliseconds) => {
    held.push(milliseconds);
    return lock(key, owner, milliseconds);
  };
  return held;
}

Deno.test("a lock is held for twice providerTimeout, and for 20 seconds if that has no limit", async () => {
  for (const [providerTimeout, expected] of [[undefined, 20_000], [0, 20_000], [3_000, 6_000]]) {
    const store = testStore();
    const held = holding(store);
    await using fleet = await processes(1, {
      store,
      ...(providerTimeout !== undefined && { providerTimeout }),
    });
    assertEquals((await fleet.me(fleet.all[0]!)).fresh, 1);
    assertEquals(held, [expected]);
  }
});

Deno.test("who waits longer than providerTimeout goes on with the session as it is, and refreshes nothing", async () => {
  const store = testStore();
  await using fleet = await processes(2, { store, providerTimeout: 300 }, () => later(900));
  const { all, me, state } = fleet;
  const first = me(all[0]!);
  await later(50);
  assertEquals(await me(all[1]!), { name: "ada", fresh: undefined, cookies: [] });
  assertEquals(state.refreshes, 1);
  const [waited] = all[1]!.lines.filter(({ level }) => level === 50);
  assertStringIncludes(JSON.stringify(waited), "waited 300 ms for another process");
  assertEquals((await first).fresh, 1);
  // It has finished late, and left its result, since no other process has.
  assertEquals((await me(all[1]!)).fresh, 1);
  assertEquals(state.refreshes, 1);
  const [told] = all[0]!.lines.filter(({ level }) => level === 50);
  assertStringIncludes(JSON.stringify(told), "its lock expires after 600 ms");
});

Deno.test("an expired lock is taken over, and what is finished late does not replace a newer result", async () => {
  const store = testStore();
  let goOn = () => {};
  const held = new Promise<void>((resolve) => goOn = resolve);
  let turn = 0;
  await using fleet = await processes(3, { store, providerTimeout: 100 }, async () => {
    if (turn++ === 0) await held;
  });
  const { all, me, state } = fleet;
  const late = me(all[0]!);
  await later(250);
  store.owners.clear(); // As it expires.
  const second = await me(all[1]!);
  goOn();
  assertEquals([(await late).fresh, second.fresh], [1, 2]);
  assertEquals([(await me(all[2]!)).fresh, state.refreshes], [2, 2]);
  const told = all[0]!.lines.filter(({ level }) => level === 50).map((line) => JSON.stringify(line));
  assertEquals(told.length, 1);
  assertStringIncludes(told[0]!, "Another process has refreshed it meanwhile");
});

Deno.test("while the time of day jumps a lock is waited for as long as ever", async () => {
  for (const hour of [60 * 60_000, -60 * 60_000]) {
    await withClock(async (clock) => {
      await using fleet = await processes(2, { store: testStore(), providerTimeout: 5_000 }, async () => {
        clock.now += hour;
        clock.jumped += hour;
        await later(100);
      });
      const { all, me, state } = fleet;
      const answers = await Promise.all(all.map((one) => me(one)));
      assertEquals([state.refreshes, ...answers.map(({ fresh }) => fresh)], [1, 1, 1]);
    });
  }
});

Deno.test("a store that was away is used again with the next call that it answers", async () => {
  const store = testStore();
  const { lock } = store;
  let isAway = true;
  store.lock = (...args) => isAway ? Promise.reject(new Error("connection refused")) : lock(...args);
  await using fleet = await processes(1, { store });
  const { all, me, expired } = fleet;
  await me(all[0]!);
  isAway = false;
  await me(all[0]!, `${expired}; other=1`);
  assert(store.calls.includes("lock"));
});

Deno.test("a lock that a silent store grants too late is given back", async () => {
  const store = testStore();
  const { lock } = store;
  let waits = true;
  store.lock = async (...args) => {
    if (waits) await later(2_300);
    waits = false;
    return await lock(...args);
  };
  await using fleet = await processes(1, { store });
  const { all, me } = fleet;
  assertEquals((await me(all[0]!)).fresh, 1);
  const isGivenBack = () => store.calls.includes("unlock") && store.owners.size === 0;
  for (let turn = 0; turn < 200 && !isGivenBack(); turn++) await later(50);
  assert(isGivenBack());
});

Deno.test("a silent store costs one read two seconds, and the others nothing", async () => {
  let asked = 0;
  const never = () => new Promise<never>(() => asked++);
  const store: Store = { ...testStore(), lock: never, unlock: never, set: never, get: never };
  await using fleet = await processes(1, { store });
  const { all, me } = fleet;
  await me(all[0]!);
  assert(asked > 0);
  asked = 0;
  for (let i = 0; i < 5; i++) await me(all[0]!, `${NAME}=${await sealedFor("ada")}`);
  assertEquals(asked, 0, "the others waited, too");
});

/** Every text that can be read out of a store: keys, values, and what they hold in base64url. */
function textsIn({ values, keys }: TestStore): string[] {
  const texts = [...keys, ...values.keys(), ...values.values()];
  return texts.flatMap((text) => [text, Buffer.from(text, "base64url").toString("latin1")]);
}

Deno.test("nothing in the store is a session token, contains one or leads to one", async () => {
  const store = testStore();
  await using fleet = await processes(
    2,
    { store, providerTimeout: 600 },
    () => later(700),
  );
  const { all, me, expired } = fleet;
  const [first] = await Promise.all(all.map((one) => me(one)));
  const tokens = [expired, first!.cookies[0]!.split(";")[0]!].map((pair) => pair.slice(NAME.length + 1));
  assert(store.values.size > 0);
  for (const text of textsIn(store)) {
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
async function leftBy(token: string, overrides: Partial<FastifyAuthConfig> = {}): Promise<TestStore> {
  const store = testStore();
  await using fleet = await processes(1, { store, ...overrides });
  const { all, me } = fleet;
  assertEquals((await me(all[0]!, `${NAME}=${token}`)).fresh, 1);
  return store;
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
    const store = testStore();
    store.get = async () => [await value()];
    await using fleet = await processes(1, { store });
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
  const store = testStore();
  const ada = await sealedFor("ada", old);
  await using ahead = await processes(1, { store, secret: [fresh, old] });
  assertEquals((await ahead.me(ahead.all[0]!, `${NAME}=${ada}`)).fresh, 1);
  await using behind = await processes(1, { store, secret: old });
  const answer = await behind.me(behind.all[0]!, `${NAME}=${ada}`);
  assertEquals([answer.name, answer.fresh, behind.state.refreshes], ["ada", 1, 1]);
  assertFalse(/max-age=0/i.test(answer.cookies.join()));
});

Deno.test("a value in the store that was not written for it is told of", async () => {
  const store = testStore();
  store.get = (keys) => Promise.resolve(keys.map(() => "garbage"));
  await using fleet = await processes(1, { store });
  const { all, me } = fleet;
  await me(all[0]!);
  const errors = all[0]!.lines.filter(({ level }) => level === 50);
  assertEquals(errors.length, 1);
  assertStringIncludes(JSON.stringify(errors), "was not written for its key");
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

Deno.test("a store that lacks a method stops the application at boot", async () => {
  const { set: _set, ...store } = testStore();
  const error = await testApp(testConfig({ store: store as never })).then(() => undefined, (error) => error);
  assertEquals(error?.code, "FST_AUTHJS_CONFIG_INVALID");
  assertStringIncludes(error.message, "`store` lacks set()");
});
