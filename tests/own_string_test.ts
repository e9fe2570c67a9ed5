import { assert } from "@std/assert";
import { setFlagsFromString } from "node:v8";
import { memoryUsage } from "node:process";
import { runInNewContext } from "node:vm";
import { TokenCache } from "../src/jwt/token_cache.ts";
import { LiveSessions } from "../src/session/live_sessions.ts";

const TOKENS = 2_000;
/** As long as Node lets headers be. */
const HEADER = 15_000;

/** Session tokens of 500 characters, each cut out of a Cookie header of its own. */
function* tokensOfHeaders(): Generator<string> {
  const cookie = "x".repeat(HEADER);
  for (let index = 0; index < TOKENS; index++) {
    const token = `${index}`.padStart(500, "ab");
    const header = ["a=", index, cookie, "; t=", token].join("");
    yield header.slice(header.indexOf("t=") + 2);
  }
}

function usedAfterGarbage(): number {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
  gc();
  return memoryUsage().heapUsed;
}

function assertKeepsLittle(what: string, remember: (token: string) => void): void {
  const before = usedAfterGarbage();
  for (const token of tokensOfHeaders()) remember(token);
  const grown = usedAfterGarbage() - before;
  assert(grown < TOKENS * HEADER / 5, `${what} takes ${grown} bytes for ${TOKENS} tokens of 500 characters`);
}

Deno.test("what is remembered of a token does not keep the Cookie header that it came in", () => {
  const cache = new TokenCache(2 ** 22);
  assertKeepsLittle("TokenCache", (token) => cache.set(token, { text: "{}", current: true }, { sub: token }));
  const live = new LiveSessions(60_000);
  assertKeepsLittle("LiveSessions", (token) => live.replace(token.slice(0, 12), token, "successor"));
  assert(cache.get("") === undefined && live.newest("", "a") === "a"); // in use till here
});
