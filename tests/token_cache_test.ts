import { assertEquals, assertStrictEquals } from "@std/assert";
import type { JWT } from "@auth/core/jwt";
import { TokenCache } from "../src/jwt/token_cache.ts";

const opened = (text: string) => ({ text, current: true });

/** Whose a token is, by its first letter. */
const claimsOf = (token: string): JWT => ({ email: `${token[0]}@example.com` });

/** As of a user who came twice. */
function remember(
  cache: TokenCache,
  token: string,
  held: ReturnType<typeof opened>,
  claims = claimsOf(token),
): void {
  cache.set(token, held, claims);
  cache.set(token, held, claims);
}

Deno.test("TokenCache remembers a token that comes again, and leaves those alone that came once", () => {
  const cache = new TokenCache();
  const entry = opened("{}");
  cache.set("header..iv.text.tag", entry, {});
  assertStrictEquals(cache.get("header..iv.text.tag"), undefined);
  cache.set("header..iv.text.tag", entry, {});
  assertStrictEquals(cache.get("header..iv.text.tag"), entry);
});

Deno.test("TokenCache remembers few when they are more in turn than it holds: they would displace one another", () => {
  const everyone = Array.from({ length: 6_000 }, (_, i) => `${(i * 7919 + 1e9).toString(36)} of user ${i}`);
  const cache = new TokenCache(60_000);
  let found = 0;
  for (let round = 0; round < 5; round++) {
    for (const token of everyone) {
      found += Number(cache.get(token) !== undefined);
      cache.set(token, opened("{}"), { email: token });
    }
  }
  assertEquals(found < 600, true, `${found}`);
});

Deno.test("TokenCache gives what a token held, and nothing for another", () => {
  const cache = new TokenCache();
  const entry = opened("{}");
  remember(cache, "token", entry);
  assertStrictEquals(cache.get("token"), entry);
  assertStrictEquals(cache.get("other"), undefined);
});

Deno.test("TokenCache gives nothing for a token that ends as another does: a tag alone proves nothing", () => {
  const tag = "t".repeat(43);
  const cache = new TokenCache();
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
  // As many as would fill it ten times over, twice each; where there is no database each sign-in has another `sub`.
  const eve = (i: number) => ({
    name: "eve",
    email: "eve@example.com",
    sub: crypto.randomUUID(),
    jti: `${i}`,
  });
  for (let i = 0; i < 40_000; i++) remember(cache, `token-of-eve-${i}`, opened("{}"), eve(i));
  assertEquals(others.filter(({ token }) => cache.get(token) === undefined), []);
  const held = Array.from({ length: 40_000 }, (_, i) => cache.get(`token-of-eve-${i}`)).filter((entry) =>
    entry
  );
  assertEquals(held.length > 50 && held.length < 200, true, `${held.length}`);
  assertEquals(cache.get("token-of-eve-39999")?.text, "{}", "the latest of them are held");
});

Deno.test("TokenCache hears of newcomers while one user sends any number of tokens", () => {
  const cache = new TokenCache(100_000);
  let heard = 0;
  for (let user = 0; user < 40; user++) {
    const token = `token-of-${user}`, claims = { sub: `${user}` };
    cache.set(token, opened("{}"), claims);
    for (let i = 0; i < 10_000; i++) {
      cache.set(`token-of-eve-${user}-${i}`, opened("{}"), { sub: "eve", jti: `${i}` });
    }
    cache.set(token, opened("{}"), claims);
    heard += Number(cache.get(token) !== undefined);
  }
  // Some are told apart from her no better than one in thirty-two.
  assertEquals(heard > 34, true, `${heard}`);
});
