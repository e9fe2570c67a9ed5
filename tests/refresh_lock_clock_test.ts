/** The time of day jumps while one of two processes holds the lock in Redis and refreshes a session. */
import { assert, assertEquals } from "@std/assert";
import { encode } from "@auth/core/jwt";
import { redisLock } from "fastify-authjs/redis";
import { SECRET, testApp, testConfig } from "./support/app.ts";
import { type Clock, withClock } from "./support/clock.ts";

const NAME = "authjs.session-token";
const HOUR = 60 * 60_000;

/** How long the lock is held at a time, and how long nothing may be heard of the process that holds it. */
const TTL_MS = 90;

/** How often it is held for longer. */
const BEAT_MS = TTL_MS / 3;

/** How long a refresh may take before it counts as hung, in milliseconds. */
const WORK_LIMIT_MS = 120_000;

/** A test that waits for longer has failed, in milliseconds. */
const PATIENCE_MS = 20_000;

/** Redis, as far as the lock uses it. Its time only passes where a test says so, and is no time of day. */
class FakeRedis {
  now = 0;
  readonly #values = new Map<string, { value: string; until: number }>();
  #listeners: ((call: string) => void)[] = [];

  /** The keys of locks that are held. */
  get locks(): string[] {
    return [...this.#values.keys()].filter((key) => key.includes("lock:") && this.#get(key) !== null);
  }

  /** A client for one process. */
  client(name: string) {
    return {
      call: (command: string, ...args: string[]) => {
        const answer = this.#answer(command, args);
        for (const listener of this.#listeners) listener(`${name} ${answer.call}`);
        return Promise.resolve(answer.value);
      },
    };
  }

  /** Has a test told of all calls. */
  onCall(listener: (call: string) => void): void {
    this.#listeners.push(listener);
  }

  /** The next such call: "a extends". */
  async next(call: string): Promise<void> {
    await inTime(
      call,
      new Promise<void>((resolve) => {
        const listener = (made: string) => {
          if (made !== call) return;
          this.#listeners = this.#listeners.filter((each) => each !== listener);
          resolve();
        };
        this.#listeners.push(listener);
      }),
    );
  }

  #answer(command: string, args: string[]): { call: string; value: unknown } {
    if (command === "GET") return { call: "reads", value: this.#get(args[0]!) };
    if (command === "SET") return this.#set(args);
    assertEquals([command, args[1]], ["EVAL", "1"]);
    const [script = "", , key = "", owner = "", milliseconds] = args;
    const extend = script.includes("pexpire");
    const isOwn = this.#get(key) === owner;
    if (isOwn && extend) this.#put(key, owner, milliseconds);
    if (isOwn && !extend) this.#values.delete(key);
    return { call: extend ? "extends" : "releases", value: isOwn ? 1 : 0 };
  }

  #set([key = "", value = "", ...options]: string[]) {
    const isExclusive = options[0] === "NX";
    const [unit, milliseconds] = isExclusive ? options.slice(1) : options;
    assertEquals(unit, "PX", "a time from now, and none of the day");
    const call = isExclusive ? "acquires" : "writes";
    if (isExclusive && this.#get(key) !== null) return { call, value: null };
    this.#put(key, value, milliseconds);
    return { call, value: "OK" };
  }

  #get(key: string): string | null {
    const { value, until } = this.#values.get(key) ?? { value: null, until: 0 };
    return until > this.now ? value : null;
  }

  #put(key: string, value: string, milliseconds: string | undefined): void {
    assert(Number(milliseconds) > 0);
    this.#values.set(key, { value, until: this.now + Number(milliseconds) });
  }
}

function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`It never came to this: ${what}`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A time of day that is set, and a time that passes, in milliseconds. Both stand still by themselves. */
interface Times {
  readonly clock: Clock;
  passed: number;
}

async function withTimes(run: (times: Times) => Promise<void>): Promise<void> {
  await withClock(async (clock) => {
    const times: Times = { clock, passed: 0 };
    // `withClock()` sets it back.
    performance.now = () => times.passed;
    await run(times);
  });
}

/** Two processes, "a" and "b", with a provider whose first answer waits for `answer()`. */
async function twoProcesses() {
  const redis = new FakeRedis();
  let requests = 0;
  let answer = () => {}, ask = () => {};
  const asked = new Promise<void>((resolve) => ask = resolve);
  const answered = new Promise<void>((resolve) => answer = resolve);
  const start = (name: string) =>
    testApp(testConfig({
      providerTimeout: TTL_MS,
      refreshLock: redisLock(redis.client(name)),
      callbacks: {
        async jwt({ token }) {
          if (token.request !== undefined) return token;
          const request = ++requests;
          ask();
          if (request === 1) await answered;
          return { ...token, request };
        },
        session: ({ session, token }) => ({ ...session, request: token.request }),
      },
    }));
  const apps = { a: await start("a"), b: await start("b") };
  const cookie = `${NAME}=${await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME })}`;
  return {
    redis,
    /** Which request to the provider the session is of that a process reads. */
    read: async (name: "a" | "b") => {
      const { session } = (await apps[name].inject({ url: "/me", headers: { cookie } })).json();
      return session?.request as number | undefined;
    },
    asked,
    answer,
    requests: () => requests,
    [Symbol.asyncDispose]: async () => {
      answer();
      await Promise.all([apps.a.close(), apps.b.close()]);
    },
  };
}

for (const [direction, by] of [["ahead", HOUR], ["behind", -HOUR]] as const) {
  Deno.test(`a lock is held, and waited for, until the refresh is done, while the clock is set an hour ${direction} and back`, async () => {
    await withTimes(async (times) => {
      await using processes = await twoProcesses();
      const { redis, read, asked, answer, requests } = processes;
      const first = read("a");
      await inTime("a asks the provider", asked);
      const acquires = redis.next("b acquires");
      const second = read("b");
      await acquires;
      // More than twice as long as a lock lasts.
      for (let round = 0; round < 8; round++) {
        if (round === 2) times.clock.now += by;
        if (round === 5) times.clock.now -= by;
        times.passed += BEAT_MS;
        redis.now += BEAT_MS;
        await redis.next("a writes");
        await redis.next("b reads");
        assertEquals([requests(), redis.locks.length], [1, 1], `round ${round}`);
      }
      answer();
      assertEquals(await inTime("both answer", Promise.all([first, second])), [1, 1]);
      assertEquals([requests(), redis.locks], [1, []]);
    });
  });

  Deno.test(`a lock is held for two minutes and no longer where the refresh hangs, with a clock set an hour ${direction}`, async () => {
    await withTimes(async (times) => {
      await using processes = await twoProcesses();
      const { redis, read, asked, answer, requests } = processes;
      const first = read("a");
      await inTime("a asks the provider", asked);
      await redis.next("a extends");
      times.clock.now += by;
      times.passed += WORK_LIMIT_MS - 1_000;
      for (let beat = 0; beat < 3; beat++) await redis.next("a extends");
      times.passed += 2_000;
      // Redis still has the lock, so that only what is heard of the other process counts.
      redis.onCall((call) => {
        if (call === "b reads") times.passed += BEAT_MS;
      });
      assertEquals(await inTime("b refreshes by itself", read("b")), 2);
      assertEquals([requests(), redis.locks.length], [2, 1]);
      answer();
      assertEquals(await inTime("a answers", first), 1);
      assertEquals(redis.locks, []);
    });
  });
}
