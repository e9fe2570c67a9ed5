import { assert, assertEquals, assertNotEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import type { JWT } from "@auth/core/jwt";
import { authInstance } from "../src/instance/auth_instance.ts";
import { TokenCache } from "../src/jwt/token_cache.ts";
import type { FastifyAuthConfig } from "fastify-authjs";
import { testApp, testConfig } from "./support/app.ts";
import { Client } from "./support/client.ts";

const NAME = "authjs.session-token";

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

Deno.test("TokenCache keeps tokens apart whose last characters are equal, and counts what it holds rightly", () => {
  const end = "t".repeat(20);
  const tokens = ["ada", "eve"].map((user) => `header..iv.text.${user}${end}`) as [string, string];
  const size = tokens[0].length + "ada".length;
  const cache = new TokenCache(3 * size, 2 * size);
  const texts = () => tokens.map((token) => cache.get(token)?.text);
  for (let i = 0; i < 10; i++) {
    remember(cache, tokens[0], opened("ada"), { sub: "ada" });
    assertEquals(texts(), ["ada", undefined]);
    remember(cache, tokens[1], opened("eve"), { sub: "eve" });
    assertEquals(texts(), [undefined, "eve"]);
  }
  const others = ["a", "b"].map((letter) => letter.repeat(tokens[0].length));
  for (const token of others) remember(cache, token, opened("own"));
  assertEquals(others.map((token) => cache.get(token)?.text), ["own", "own"]);
  assertEquals(texts(), [undefined, "eve"], "one took the place of the other");
});

/** Ways to read a session: without callbacks, with one that is synchronous, and with one that may renew it. */
const READS: readonly [string, FastifyAuthConfig["callbacks"]][] = [
  ["without callbacks", undefined],
  ["with a session callback", { session: ({ session }) => session }],
  ["with a jwt callback", { jwt: ({ token }) => Promise.resolve(token) }],
];

/** Tokens that nobody issued, made of two that were: each ends as `token` does. */
function forgedFrom(token: string, other: string): [string, string][] {
  const [header, , iv, text, tag] = token.split(".") as [string, string, string, string, string];
  const [, , otherIv, otherText, otherTag] = other.split(".") as [string, string, string, string, string];
  const of = (...parts: string[]) => [header, "", ...parts].join(".");
  const changed = (part: string) => `${part[0] === "A" ? "B" : "A"}${part.slice(1)}`;
  return [
    ["another text", of(iv, otherText, tag)],
    ["another text and iv", of(otherIv, otherText, tag)],
    ["another beginning of the tag", of(iv, text, `${otherTag.slice(0, -12)}${tag.slice(-12)}`)],
    ["one other character of the tag", of(iv, text, changed(tag))],
    ["one other character of the text", of(iv, changed(text), tag)],
    ["one other character of the iv", of(changed(iv), text, tag)],
    ["another header", `${changed(header)}..${iv}.${text}.${tag}`],
    ["something before it", `A${token}`],
    ["only the tag", of("", "", tag)],
    ["only the end of the tag", tag.slice(-12)],
  ];
}

for (const [how, callbacks] of READS) {
  Deno.test(`a forged token that ends as a remembered one is refused, and the remembered one goes on (${how})`, async () => {
    const config = testConfig(callbacks && { callbacks });
    await using app = await testApp(config);
    const nameOf = async (client: Client) => (await client.get("/me")).json().session?.user.name;
    const [ada, eve] = [new Client(app), new Client(app)];
    await ada.signIn({ username: "ada", password: "open" });
    await eve.signIn({ username: "eve", password: "open" });
    assertEquals([await nameOf(ada), await nameOf(eve)], ["ada", "eve"]);
    const token = ada.cookies.get(NAME)!;
    const { cache } = authInstance(config).settings(false);
    const known = cache.get(token);
    assert(known !== undefined);
    for (const [what, forged] of forgedFrom(token, eve.cookies.get(NAME)!)) {
      assertNotEquals(forged, token);
      assertEquals(forged.slice(-12), token.slice(-12));
      // Each with a browser of its own, since the answer removes the cookie.
      const mallory = () => {
        const client = new Client(app);
        client.cookies.set(NAME, forged);
        return client;
      };
      assertEquals(await nameOf(mallory()), undefined, what);
      const updating = mallory();
      const csrfToken = await updating.csrfToken();
      const updated = await updating.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
      assertEquals(updated.json(), null, what);
      await mallory().signOut();
      assertEquals(await nameOf(ada), "ada", `${what}, signed out`);
      const signingIn = mallory();
      await signingIn.signIn({ username: "mallory", password: "open" });
      assertEquals([await nameOf(signingIn), await nameOf(ada)], ["mallory", "ada"], `${what}, signed in`);
      assertStrictEquals(cache.get(token), known, `${what} displaces nothing`);
    }
    assertEquals(ada.cookies.get(NAME), token, "its browser has kept it");
    await ada.signOut();
    assertEquals(await nameOf(eve), "eve");
    ada.cookies.set(NAME, token);
    assertEquals(await nameOf(ada), undefined);
  });
}

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
