import { assertEquals, assertStrictEquals } from "@std/assert";
import { TokenCache } from "../src/session/token_cache.ts";

const opened = (text: string) => ({ text, current: true });

/** As of a user who came twice. */
function remember(cache: TokenCache, token: string, held: ReturnType<typeof opened>): void {
  cache.set(token, held);
  cache.set(token, held);
}

Deno.test("TokenCache remembers a token that comes again, and leaves those alone that came once", () => {
  const cache = new TokenCache();
  const entry = opened("{}");
  cache.set("header..iv.text.tag", entry);
  assertStrictEquals(cache.get("header..iv.text.tag"), undefined);
  cache.set("header..iv.text.tag", entry);
  assertStrictEquals(cache.get("header..iv.text.tag"), entry);
});

Deno.test("TokenCache remembers nobody when they are more in turn than it holds: they would displace one another", () => {
  const everyone = ["a", "b", "c", "d", "e", "f", "g"].map((name) => name.repeat(8));
  const cache = new TokenCache(30);
  for (let round = 0; round < 5; round++) {
    for (const token of everyone) {
      cache.set(token, opened("{}"));
      assertStrictEquals(cache.get(token), undefined);
    }
  }
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
  const cache = new TokenCache(30);
  const held = () => ["a", "b", "c", "d"].filter((name) => cache.get(name.repeat(8)) !== undefined).join("");
  for (const name of ["a", "b", "c"]) remember(cache, name.repeat(8), opened("{}"));
  assertEquals(held(), "abc");
  remember(cache, "d".repeat(8), opened("{}"));
  assertEquals(held(), "bcd");
  remember(cache, "b".repeat(8), opened("{}"));
  assertEquals(held(), "bcd");
  remember(cache, "x".repeat(8), opened("y".repeat(40)));
  assertEquals([held(), cache.get("x".repeat(8))], ["", undefined]);
  for (const name of ["d", "a", "b", "c"]) remember(cache, name.repeat(8), opened("{}"));
  assertEquals(held(), "abc", "and goes on after it has been empty");
});
