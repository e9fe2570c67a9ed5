/**
 * A lock in Redis, by which one process of several refreshes a session and the others hear of its end:
 * `refreshLock: redisLock(client)`.
 *
 * No session token is in Redis: the values are sealed under keys that come from the tokens. Everything runs out, within
 * fifteen minutes or `refreshGrace`. It needs the commands `GET`, `SET` with `NX` and `PX`, and `EVAL`.
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
import type { RefreshLock } from "./types.ts";

export type { RefreshLock };

/** What is used of a client of the package `ioredis`. */
export interface IoRedisClient {
  /** Sends a command. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** What is used of a connected client of the package `redis`. */
export interface NodeRedisClient {
  /** Sends a command. */
  sendCommand(args: string[]): Promise<unknown>;
}

/** Settings of {@linkcode redisLock}. */
export interface RedisLockOptions {
  /**
   * What the keys begin with.
   *
   * @default "fastify-authjs:"
   */
  prefix?: string;
}

/** Scripts run as one step: a lock may have run out, and be another's by now, which is neither extended nor deleted. */
const EXTEND =
  `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`;
const RELEASE =
  `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`;

/**
 * Makes the lock.
 *
 * @param client A client of `ioredis`, or a connected one of `redis`. It stays the application's to close.
 * @param options What the keys begin with.
 * @returns What `refreshLock` takes.
 */
export function redisLock(
  client: IoRedisClient | NodeRedisClient,
  options: RedisLockOptions = {},
): RefreshLock {
  const { prefix = "fastify-authjs:" } = options;
  const send = (command: string, ...args: string[]) =>
    "call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]);
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
