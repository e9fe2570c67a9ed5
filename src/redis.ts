/**
 * A lock in Redis: of several processes one refreshes a session, and the others get the result and learn when
 * a session ends. Set it as `refreshLock: redisLock(client)`.
 *
 * No session token is stored in Redis: values are encrypted with keys derived from the tokens. Every key
 * expires within fifteen minutes or `refreshGrace`. The commands used are `GET`, `SET` with `NX` and `PX`,
 * and `EVAL`.
 *
 * Installed with `npm install fastify-authjs fastify ioredis` (`pnpm add`, `yarn add`, `bun add`), or with
 * `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify npm:ioredis`.
 *
 * @example
 * ```ts
 * import { redisLock } from "fastify-authjs/redis";
 *
 * // A client of `ioredis` or of `redis`; this one only answers as an empty Redis would.
 * const client = { call: (command: string) => Promise.resolve(command === "SET" ? "OK" : null) };
 *
 * const config = { providers: [], secret: "x".repeat(32), refreshLock: redisLock(client) };
 * console.assert(await config.refreshLock.acquire("session", "this process", 1000));
 * ```
 *
 * @module
 */
import type { IoRedisClient, NodeRedisClient, RefreshLock } from "./types.ts";
import { sendCommand } from "./utils/redis_client.ts";

export type { IoRedisClient, NodeRedisClient, RefreshLock };

/** Settings of {@linkcode redisLock}. */
export interface RedisLockOptions {
  /**
   * The prefix of all keys.
   *
   * @default "fastify-authjs:"
   */
  prefix?: string;
}

/**
 * Scripts are atomic: a lock that expired and now belongs to another process is neither extended nor deleted.
 */
const EXTEND =
  `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`;
const RELEASE =
  `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`;

/**
 * Makes the lock.
 *
 * @param client A client of `ioredis`, or a connected one of `redis`. The application closes it.
 * @param options The prefix of the keys.
 * @returns The value for `refreshLock`.
 */
export function redisLock(
  client: IoRedisClient | NodeRedisClient,
  options: RedisLockOptions = {},
): RefreshLock {
  const { prefix = "fastify-authjs:" } = options;
  const send = (command: string, ...args: string[]) => sendCommand(client, command, ...args);
  const lock = (key: string) => `${prefix}lock:${key}`;
  const result = (key: string) => `${prefix}result:${key}`;
  return {
    acquire: async (key, owner, milliseconds) =>
      await send("SET", lock(key), owner, "NX", "PX", `${milliseconds}`) === "OK",
    extend: async (key, owner, milliseconds) =>
      Number(await send("EVAL", EXTEND, "1", lock(key), owner, `${milliseconds}`)) === 1,
    release: async (key, owner) => void await send("EVAL", RELEASE, "1", lock(key), owner),
    put: async (key, value, milliseconds) =>
      void await send("SET", result(key), value, "PX", `${milliseconds}`),
    get: async (key) => {
      const value = await send("GET", result(key));
      return typeof value === "string" ? value : undefined;
    },
  };
}
