/**
 * Puts far more into the caches of sessions than fits into the heap of this process: tokens of many users, tokens that
 * were replaced, and tokens of sessions that ended. It prints `done`.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { TokenCache } from "../../src/jwt/token_cache.ts";
import { DiscoveryCache } from "../../src/provider/discovery_cache.ts";
import { LiveSessions } from "../../src/session/live_sessions.ts";

const COUNT = 20_000;
/** In characters: of a large session. */
const TOKEN = 6_000;

const cache = new TokenCache(4 * 2 ** 20);
const documents = new DiscoveryCache();
const live = new LiveSessions(30_000);
for (let index = 0; index < COUNT; index++) {
  // Random, since equal texts would share their memory
  const token = randomBytes(TOKEN / 2).toString("hex");
  cache.set(token, { text: `{"sub":"${index}","groups":"${token}"}`, current: true }, { sub: `${index}` });
  live.replace(`${index}`, token, `next ${token}`);
  live.end(`${index}`);
  await documents.get(`https://${index}.example`, () => Promise.resolve(token));
}
console.log("done");
