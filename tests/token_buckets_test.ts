/** Replaced tokens and those of ended sessions are counted in buckets, by their ends. Tokens of one bucket stay apart. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { randomBytes } from "node:crypto";
import type { FastifyAuthConfig } from "fastify-authjs";
import { Refreshes } from "../src/session/refreshes.ts";
import { bucketOf, newBuckets } from "../src/session/token_buckets.ts";
import { REQUEST_LIMIT_MS, TokenFamilies } from "../src/session/token_families.ts";
import { testApp, testConfig } from "./support/app.ts";
import { Client } from "./support/client.ts";
import fc from "./support/property.ts";

const NAME = "authjs.session-token";
const GRACE_MS = 1_000;

/** Tokens that are all in one bucket. */
const inOneBucket = (count: number) => Array.from({ length: count }, (_, i) => `${i}.${"t".repeat(42)}`);

/** A token in core's format, as far as its end is concerned. */
const randomToken = () => `header..iv.text.${randomBytes(32).toString("base64url")}`;

/** A time that a test sets. */
function manualTime() {
  const time = { now: 0 };
  const stubbed = stub(performance, "now", () => time.now);
  return Object.assign(time, { [Symbol.dispose]: () => stubbed.restore() });
}

/** How often `work` looks something up in a map. */
function lookUps(work: () => void): number {
  const { get } = Map.prototype;
  let count = 0;
  Map.prototype.get = function (key) {
    count++;
    return get.call(this, key);
  };
  try {
    work();
  } finally {
    Map.prototype.get = get;
  }
  return count;
}

Deno.test("every token has a bucket, and every bucket a count that begins at 0 (any text)", () => {
  const buckets = newBuckets();
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 12 }), (token) => {
      assertEquals(buckets[bucketOf(token)], 0);
    }),
    { numRuns: 200 },
  );
});

Deno.test("tokens are spread over the buckets: with a thousand of them most other tokens are in an empty one", () => {
  const buckets = newBuckets();
  for (let i = 0; i < 1_000; i++) buckets[bucketOf(randomToken())]!++;
  const met = Array.from({ length: 1_000 }, randomToken).filter((token) => buckets[bucketOf(token)] !== 0);
  assert(met.length < 250, `${met.length} of 1000`);
});

Deno.test("replaced tokens of one bucket each lead to their own successor, for their own time (any order)", () => {
  const tokens = inOneBucket(6);
  const steps = fc.array(fc.tuple(fc.nat(tokens.length - 1), fc.nat(GRACE_MS / 2)), { maxLength: 30 });
  fc.assert(
    fc.property(steps, (steps) => {
      using time = manualTime();
      const refreshes = new Refreshes(GRACE_MS);
      const expected = new Map<string, { by: string; until: number }>();
      for (const [index, [at, pause]] of steps.entries()) {
        const token = tokens[at]!;
        const by = `successor ${index} of ${token}`;
        refreshes.remember(token, by);
        expected.set(token, { by, until: time.now + GRACE_MS });
        time.now += pause;
        for (const token of tokens) {
          const { by = token, until = 0 } = expected.get(token) ?? {};
          assertEquals(refreshes.newest(token), until > time.now ? by : token);
          assertEquals(refreshes.newest(by), by);
        }
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("a token is looked up among the replaced ones only while one in its bucket is known", () => {
  using time = manualTime();
  const refreshes = new Refreshes(GRACE_MS);
  const [first, second, unknown] = inOneBucket(3) as [string, string, string];
  const isLookedUp = () => lookUps(() => void refreshes.newest(unknown)) > 0;
  assertEquals(isLookedUp(), false);
  refreshes.remember(first, "a successor");
  refreshes.remember(second, "a successor");
  refreshes.remember(second, "another successor");
  assertEquals(isLookedUp(), true);
  time.now += GRACE_MS;
  // What has run out is forgotten with the next token that is replaced.
  refreshes.remember("in another bucket", "its successor");
  assertNotEquals(bucketOf("in another bucket"), bucketOf(unknown));
  assertEquals(isLookedUp(), false);
});

Deno.test("some thousand replaced tokens are remembered, however often one of them was replaced before", () => {
  const refreshes = new Refreshes(60_000);
  const tokenOf = (index: number) => `${index}`.padStart(500, "x");
  for (let i = 0; i < 10_000; i++) refreshes.remember(tokenOf(0), `successor ${i}`);
  for (let i = 1; i < 4_000; i++) refreshes.remember(tokenOf(i), "successor");
  assertEquals([0, 3_999].map((i) => refreshes.newest(tokenOf(i))), ["successor 9999", "successor"]);
  for (let i = 4_000; i < 8_000; i++) refreshes.remember(tokenOf(i), "successor");
  const known = Array.from({ length: 8_000 }, (_, i) => i).filter((i) =>
    refreshes.newest(tokenOf(i)) === "successor"
  );
  assert(known.length < 5_000, `${known.length} tokens`);
  assertEquals(known, known.map((_, i) => 8_000 - known.length + i), "the latest ones");
});

Deno.test("a session that ends leaves the others alone whose tokens are in its bucket", () => {
  using time = manualTime();
  const families = new TokenFamilies();
  // As forged tokens may, they have one tag.
  const tokens = ["a", "b", "c"].map((text) => `header..iv.${text}.${"t".repeat(43)}`);
  const [ada, bob, carol] = tokens as [string, string, string];
  const endings = () => tokens.map((token) => families.endings(token));
  families.join(bob, randomToken());
  families.end(ada);
  assertEquals(endings(), [1, 0, 0]);
  assertEquals([families.endedFor(bob), families.endedFor(carol)], [undefined, undefined]);
  time.now += REQUEST_LIMIT_MS / 2;
  families.end(carol);
  assertEquals(endings(), [1, 0, 1]);
  families.begin(bob);
  assertEquals(endings(), [1, 0, 1]);
  time.now += REQUEST_LIMIT_MS / 2;
  assertEquals(endings(), [0, 0, 1], "each is known for its own time");
  // What has run out is removed with the next token that is remembered.
  families.join(randomToken(), randomToken());
  assertEquals(endings(), [0, 0, 1]);
  families.begin(carol);
  assertEquals(endings(), [0, 0, 0]);
});

Deno.test("a token is looked up among those of ended sessions only while one in its bucket is known", () => {
  using time = manualTime();
  const families = new TokenFamilies();
  const [first, second, third, unknown] = inOneBucket(4) as [string, string, string, string];
  const isLookedUp = () => lookUps(() => void families.endings(unknown)) > 0;
  families.join(first, second);
  families.join(second, third);
  assertEquals(isLookedUp(), false, "their session goes on");
  families.end(second);
  families.end(third);
  assertEquals(isLookedUp(), true);
  families.begin(first);
  assertEquals(isLookedUp(), true);
  time.now += REQUEST_LIMIT_MS;
  families.join("in another", "bucket");
  assertEquals(isLookedUp(), false);
});

Deno.test("sessions whose tokens all end alike, by the application's codec, are refreshed and ended apart", async () => {
  let made = 0;
  const refreshed: unknown[] = [];
  const config: FastifyAuthConfig = testConfig({
    jwt: {
      encode: ({ token }) => `${btoa(JSON.stringify({ ...token, made: made++ }))}.the-end-of-every-token`,
      decode: ({ token }) => JSON.parse(atob(token!.split(".")[0]!)),
    },
    callbacks: {
      async jwt({ token, account }) {
        if (account || token.fresh) return token;
        refreshed.push(token.name);
        return await Promise.resolve({ ...token, fresh: true });
      },
    },
  });
  await using app = await testApp(config);
  const nameOf = async (client: Client) => (await client.get("/me")).json().session?.user.name;
  const users = await Promise.all(["ada", "bob"].map(async (username) => {
    const client = new Client(app), tab = new Client(app);
    await client.signIn({ username, password: "open" });
    tab.cookies.set(NAME, client.cookies.get(NAME)!);
    return { username, client, tab };
  }));
  for (const { username, client, tab } of users) {
    assertEquals(await nameOf(client), username);
    assertNotEquals(client.cookies.get(NAME), tab.cookies.get(NAME));
  }
  for (const { username, tab } of users) assertEquals(await nameOf(tab), username);
  assertEquals(refreshed, ["ada", "bob"], "a replaced token leads to its successor");
  const [ada, bob] = users;
  await ada!.client.signOut();
  assertEquals([await nameOf(ada!.tab), await nameOf(bob!.tab), await nameOf(bob!.client)], [
    undefined,
    "bob",
    "bob",
  ]);
});
