import { assert, assertEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import type { JWT } from "@auth/core/jwt";
import { authInstance } from "../src/instance/auth_instance.ts";
import { TokenCache } from "../src/jwt/token_cache.ts";
import { testApp, testConfig } from "./support/app.ts";

/** The default. */
const CAPACITY = 4 * 1024 * 1024;

const opened = (text: string) => ({ text, current: true });

/** Whose a token is, by its first letter. */
const claimsOf = (token: string): JWT => ({ email: `${token[0]}@example.com` });

/** As of a user who comes often enough: an unknown token is remembered with a probability of 1/8. */
function remember(
  cache: TokenCache,
  token: string,
  held: ReturnType<typeof opened>,
  claims = claimsOf(token),
): void {
  for (let i = 0; i < 1000 && cache.get(token) !== held; i++) cache.set(token, held, claims);
}

Deno.test("TokenCache remembers a token that comes again", () => {
  const cache = new TokenCache(CAPACITY);
  const entry = opened("{}");
  remember(cache, "header..iv.text.tag", entry, {});
  assertStrictEquals(cache.get("header..iv.text.tag"), entry);
});

/** How many of 60 users' tokens, sent in turn, a cache of so many characters finds in the last of 500 rounds. */
function foundInTurn(capacity: number): number {
  const cache = new TokenCache(capacity, capacity);
  const users = Array.from({ length: 60 }, (_, i) => `token of user ${100 + i}`);
  let found: string[] = [];
  for (let round = 0; round < 500; round++) {
    found = users.filter((token) => {
      const known = cache.get(token) !== undefined;
      if (!known) cache.set(token, opened("{}"), { sub: token });
      return known;
    });
  }
  return found.length;
}

Deno.test("TokenCache finds the tokens of all users that it can hold, and of many where there are more", () => {
  const size = "token of user 100{}".length;
  assertEquals(foundInTurn(60 * size), 60);
  const found = foundInTurn(40 * size);
  assertEquals(found > 10 && found <= 40, true, `${found}`);
});

Deno.test("TokenCache remembers every user's token at once while there is room", () => {
  const users = Array.from({ length: 60 }, (_, i) => `token of user ${100 + i}`);
  const cache = new TokenCache(60 * "token of user 100{}".length, CAPACITY);
  for (const token of users) cache.set(token, opened("{}"), { sub: token });
  assertEquals(users.filter((token) => cache.get(token) === undefined), []);
});

Deno.test("TokenCache gives what a token held, and nothing for another", () => {
  const cache = new TokenCache(CAPACITY);
  const entry = opened("{}");
  remember(cache, "token", entry);
  assertStrictEquals(cache.get("token"), entry);
  assertStrictEquals(cache.get("other"), undefined);
});

Deno.test("TokenCache gives nothing for a token that ends as another does: a tag alone proves nothing", () => {
  const tag = "t".repeat(43);
  const cache = new TokenCache(CAPACITY);
  remember(cache, `header..iv.ada.${tag}`, opened("ada"));
  assertStrictEquals(cache.get(`header..iv.eve.${tag}`), undefined);
  remember(cache, `header..iv.grace.${tag}`, opened("grace"));
  assertStrictEquals(cache.get(`header..iv.ada.${tag}`), undefined);
  assertEquals(cache.get(`header..iv.grace.${tag}`)?.text, "grace");
});

Deno.test("TokenCache holds so many characters, and forgets what came first", () => {
  const cache = new TokenCache(30, 30);
  const held = () => ["a", "b", "c", "d"].filter((name) => cache.get(name.repeat(8)) !== undefined).join("");
  for (const name of ["a", "b", "c"]) remember(cache, name.repeat(8), opened("{}"));
  assertEquals(held(), "abc");
  remember(cache, "d".repeat(8), opened("{}"));
  assertEquals(held(), "bcd");
  remember(cache, "b".repeat(8), opened("{}"));
  assertEquals(held(), "bcd");
  remember(cache, "x".repeat(8), opened("y".repeat(40)));
  assertEquals(
    [held(), cache.get("x".repeat(8))],
    ["bcd", undefined],
    "what is larger than a share is not held",
  );
  remember(cache, "x".repeat(8), opened("y".repeat(22)));
  assertEquals(held(), "");
  for (const name of ["d", "a", "b", "c"]) remember(cache, name.repeat(8), opened("{}"));
  assertEquals(held(), "abc", "and goes on after it has been emptied");
});

Deno.test("TokenCache keeps the other users' tokens when one user sends any number", () => {
  const cache = new TokenCache(100_000);
  const others = Array.from(
    { length: 100 },
    (_, i) => ({ token: `token-of-${i}`, claims: { name: `user ${i}` } }),
  );
  for (const { token, claims } of others) remember(cache, token, opened("{}"), claims);
  // As many as would fill it ten times over; where there is no database each sign-in has another `sub`.
  const eve = (i: number) => ({
    name: "eve",
    email: "eve@example.com",
    sub: crypto.randomUUID(),
    jti: `${i}`,
  });
  for (let i = 0; i < 40_000; i++) remember(cache, `token-of-eve-${i}`, opened("{}"), eve(i));
  assertEquals(others.filter(({ token }) => cache.get(token) === undefined), []);
  const held = Array.from({ length: 40_000 }, (_, i) => cache.get(`token-of-eve-${i}`)).filter(Boolean);
  assertEquals(held.length > 50 && held.length < 200, true, `${held.length}`);
  assertEquals(cache.get("token-of-eve-39999")?.text, "{}", "the latest of them are held");
});

Deno.test("TokenCache remembers new users while one user sends any number of tokens", () => {
  const cache = new TokenCache(100_000);
  for (let i = 0; i < 10_000; i++) remember(cache, `token-of-eve-${i}`, opened("{}"), { sub: "eve" });
  const newcomers = Array.from({ length: 40 }, (_, i) => `token-of-${i}`);
  for (const token of newcomers) remember(cache, token, opened("{}"), { sub: token });
  assertEquals(newcomers.filter((token) => cache.get(token) === undefined), []);
});

Deno.test("tokenCacheSize says how much is kept, and 0 keeps nothing", () => {
  for (
    const [tokenCacheSize, kept] of [[undefined, true], [1_000_000, true], [1000, false], [0, false]] as const
  ) {
    const config = testConfig({ ...(tokenCacheSize !== undefined && { tokenCacheSize }) });
    const { cache } = authInstance(config).settings(false);
    const entry = opened("x".repeat(100));
    remember(cache, "token", entry);
    assertEquals(cache.get("token") === entry, kept, `${tokenCacheSize}`);
  }
});

Deno.test("a tokenCacheSize that is no number of bytes stops the boot", async () => {
  for (const size of [-1, NaN, Infinity, "4 MB"]) {
    const error = await testApp(testConfig({ tokenCacheSize: size as number })).then(
      () => assert(false, `${size}`),
      (error) => error,
    );
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
    assertStringIncludes(error.message, "`tokenCacheSize` must be a number of bytes");
  }
});
