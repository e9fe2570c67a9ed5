/** A sign-in link signs in once, also over an adapter that looks it up and deletes it in two steps. */
import { assert, assertEquals, assertFalse, assertMatch } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { VerificationToken } from "@auth/core/adapters";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { redisStore } from "fastify-authjs/redis";
import { Redis } from "ioredis";
import { captureLog, type LogLine, testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { serverUrl } from "../support/databases.ts";
import { memoryAdapter, type MemoryTables } from "../support/memory_adapter.ts";
import { testStore } from "../support/test_store.ts";

const ADA = "ada@example.com";
const REFUSED = "http://localhost/auth/error?error=Verification";

/** Processes over one database, played by configurations that share nothing else. */
interface Fleet extends AsyncDisposable {
  readonly apps: FastifyInstance[];
  readonly tables: MemoryTables;
  readonly log: LogLine[];
  /** What happens between looking a link up and deleting it. */
  between: (link: VerificationToken) => Promise<void>;
  /** Asks the first process for a link, and gives its path. */
  link(): Promise<string>;
  /** How many of so many browsers, spread over the processes, a link signs in. */
  signedInBy(link: string, browsers: number): Promise<number>;
}

async function startFleet(processes: number, overrides: Partial<FastifyAuthConfig> = {}): Promise<Fleet> {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const links: string[] = [];
  const { logger, lines: log } = captureLog();
  const adapter = {
    ...memoryAdapter(tables),
    async useVerificationToken({ identifier, token }: { identifier: string; token: string }) {
      const isSought = (row: VerificationToken) => row.identifier === identifier && row.token === token;
      const found = tables.tokens.find(isSought);
      if (found === undefined) return null;
      await fleet.between(found);
      const left = tables.tokens.filter((row) => !isSought(row));
      tables.tokens.splice(0, Infinity, ...left);
      return found;
    },
  };
  const mail = {
    id: "mail",
    name: "Mail",
    type: "email" as const,
    sendVerificationRequest: ({ url }: { url: string }) => void links.push(url),
  };
  const apps = await Promise.all(
    Array.from(
      { length: processes },
      () => testApp(testConfig({ adapter, providers: [mail], ...overrides }), { logger }),
    ),
  );
  const fleet: Fleet = {
    apps,
    tables,
    log,
    between: () => new Promise((resolve) => setTimeout(resolve)),
    async link() {
      const client = new Client(apps[0]!);
      await client.post("/auth/signin/mail", { csrfToken: await client.csrfToken(), email: ADA });
      const { pathname, search } = new URL(links.at(-1)!);
      return pathname + search;
    },
    async signedInBy(link, browsers) {
      const answers = await Promise.all(
        Array.from({ length: browsers }, (_, i) => new Client(apps[i % apps.length]!).confirm(link)),
      );
      const refused = answers.filter(({ headers }) => headers.location === REFUSED).length;
      const signedIn = answers.filter(({ headers }) => headers.location === "http://localhost").length;
      assertEquals(signedIn + refused, browsers);
      assertEquals(tables.sessions.size, signedIn);
      return signedIn;
    },
    async [Symbol.asyncDispose]() {
      for (const app of apps) await app.close();
    },
  };
  return fleet;
}

Deno.test("a sign-in link that 20 browsers follow at once signs in one of them", async () => {
  await using fleet = await startFleet(1);
  assertEquals(await fleet.signedInBy(await fleet.link(), 20), 1);
  assertEquals(fleet.log.filter(({ level }) => level >= 50), []);
});

Deno.test("a sign-in link that 20 browsers follow at two processes with a lock signs in one of them", async () => {
  const store = testStore();
  await using fleet = await startFleet(2, { store });
  const link = await fleet.link();
  assertEquals(await fleet.signedInBy(link, 20), 1);
  assertEquals(store.owners.size, 0);
  // The link, and its address, since there is no user yet. Neither can be told from what the lock is asked for.
  assertEquals(store.keys.size, 2);
  const { email, token } = Object.fromEntries(new URL(link, "http://localhost").searchParams);
  for (const key of store.keys) {
    for (const secret of [email!, token!]) assertFalse(key.includes(secret), key);
  }
});

Deno.test("sign-in links of one address do not wait for each other", async () => {
  await using fleet = await startFleet(1);
  const [first, second] = [await fleet.link(), await fleet.link()];
  const waiting = new Set<string>();
  // Neither goes on before both were looked up.
  let resolve = () => {};
  const both = new Promise<void>((done) => resolve = done);
  fleet.between = async ({ token }) => {
    if (waiting.add(token).size === 2) resolve();
    await both;
  };
  await Promise.all([first, second].map((link) => new Client(fleet.apps[0]!).confirm(link)));
  assertEquals([waiting.size, fleet.tables.sessions.size], [2, 2]);
});

for (const store of [undefined, testStore()]) {
  const name = store ? "with a lock" : "without a lock";
  Deno.test(`${name}, a sign-in link that the database failed to look up can be used again`, async () => {
    await using fleet = await startFleet(1, store && { store });
    const link = await fleet.link();
    const { between } = fleet;
    fleet.between = () => Promise.reject(new Error("connection lost"));
    const client = new Client(fleet.apps[0]!);
    assertEquals((await client.confirm(link)).statusCode, 503);
    fleet.between = between;
    assertEquals(await fleet.signedInBy(link, 2), 1);
    assertEquals(store?.owners.size ?? 0, 0);
  });
}

Deno.test("a sign-in link that was used up before the database failed can be used again", async () => {
  await using fleet = await startFleet(1);
  const link = await fleet.link();
  {
    using _ = stub(fleet.tables.sessions, "set", () => {
      throw new Error("connection lost");
    });
    assertEquals((await new Client(fleet.apps[0]!).confirm(link)).statusCode, 503);
  }
  assertEquals(await fleet.signedInBy(link, 2), 1);
});

Deno.test("a sign-in link that was used up before the store failed can be used again", async () => {
  const store = testStore();
  let isDown = false;
  const get: typeof store.get = (keys) => isDown ? Promise.reject(new Error("Redis is down")) : store.get(keys);
  await using fleet = await startFleet(1, {
    store: { ...store, get },
    revocable: true,
    session: { strategy: "jwt" },
  });
  const link = await fleet.link();
  isDown = true;
  const answer = await new Client(fleet.apps[0]!).confirm(link);
  assertEquals(answer.statusCode, 503);
  assertMatch(answer.body, /"The store failed/);
  isDown = false;
  const client = new Client(fleet.apps[0]!);
  await client.confirm(link);
  assert((await client.get("/me")).json().session);
});

Deno.test("a sign-in link that another process never gives back is a 503, and stays usable", async () => {
  const store = testStore();
  let isHeld = true;
  const lock: typeof store.lock = async (...args) => !isHeld && await store.lock(...args);
  await using fleet = await startFleet(1, { store: { ...store, lock }, adapterTimeout: 100 });
  const link = await fleet.link();
  const client = new Client(fleet.apps[0]!);
  await client.csrfToken();
  const answers = await Promise.all([client.confirm(link), client.confirm(link)]);
  assertEquals(answers.map(({ statusCode }) => statusCode), [503, 503]);
  isHeld = false;
  assertEquals(await fleet.signedInBy(link, 2), 1);
});

Deno.test("while the store fails, sign-in links are used without it", async () => {
  const lock = () => Promise.reject(new Error("Redis is down"));
  await using fleet = await startFleet(1, { store: { ...testStore(), lock } });
  assertEquals(await fleet.signedInBy(await fleet.link(), 20), 1);
  assert(fleet.log.some((line) => JSON.stringify(line).includes("sign-in links used without it")));
});

const redisUrl = serverUrl("TEST_REDIS_URL", "the test of sign-in links with a lock in Redis");
if (redisUrl) {
  Deno.test("a sign-in link that 20 browsers follow at two processes with a lock in Redis signs in one", async () => {
    const redis = new Redis(redisUrl);
    const prefix = `test:${crypto.randomUUID()}:`;
    try {
      await using fleet = await startFleet(2, { store: redisStore(redis, { prefix }) });
      assertEquals(await fleet.signedInBy(await fleet.link(), 20), 1);
      assertEquals(await redis.keys(`${prefix}*`), []);
    } finally {
      await redis.quit();
    }
  });
}
