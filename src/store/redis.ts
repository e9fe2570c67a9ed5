/**
 * A store in Redis: of several processes one refreshes a session, and the others get the result and learn when a
 * session ends; with `revocable` sessions can be listed, and ended from elsewhere. Set it as
 * `store: redisStore(client)`.
 *
 * No session token is stored in Redis: results are encrypted with keys derived from the tokens. What is kept for
 * `revocable` is not encrypted: when sessions began and were used, and their `User-Agent` headers. Every key expires.
 * The commands used are `GET`, `HGET`, `SET` with `NX` and `PX`, `ZREM` and `EVAL`, in whose scripts are `GET`, `DEL`,
 * `TIME`, `ZADD`, `ZREMRANGEBYSCORE`, `ZRANGE`, `ZRANGEBYSCORE` and `PEXPIRE`. Of a Redis Cluster no command needs keys
 * of two slots.
 *
 * Installed with `npm install fastify-authjs fastify ioredis` (`pnpm add`, `yarn add`, `bun add`), or with
 * `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify npm:ioredis`.
 *
 * @example
 * ```ts
 * import { redisStore } from "fastify-authjs/redis";
 *
 * // A client of `ioredis` or of `redis`; this one only answers as an empty Redis would.
 * const client = { call: (command: string) => Promise.resolve(command === "SET" ? "OK" : null) };
 *
 * const config = { providers: [], secret: "x".repeat(32), store: redisStore(client) };
 * console.assert(await config.store.lock("session", "this process", 1000));
 * ```
 * @module
 */
import type { IoRedisClient, NodeRedisClient, Store } from "../types.ts";
import { invalidConfig } from "../errors.ts";
import { isRedisClient, sendCommand } from "./send_command.ts";

export type { IoRedisClient, NodeRedisClient, Store };

/** Settings of {@linkcode redisStore}. */
export interface RedisStoreOptions {
  /**
   * The prefix of all keys.
   * @default "fastify-authjs:"
   */
  prefix?: string;
}

/** Scripts are atomic: a lock that expired and now belongs to another process is not deleted. */
const UNLOCK = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`;

/** The time in milliseconds: that of Redis, since the clocks of processes differ. */
const NOW = `local t = redis.call("time") local now = t[1] * 1000 + math.floor(t[2] / 1000) `;

const MEMBERS = `${NOW} return redis.call("zrangebyscore", KEYS[1], "(" .. now, "+inf")`;

const ADD = `${NOW} redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1]) ` +
  `redis.call("zremrangebyscore", KEYS[1], "-inf", now) ` +
  `local last = redis.call("zrange", KEYS[1], -1, -1, "withscores") ` +
  `return redis.call("pexpire", KEYS[1], last[2] - now)`;

/** A field of a hash that an earlier version has written. */
const FIELD = /^(sessions:[^]*)#([^#]*)$/;

/**
 * Makes the store.
 *
 * What Redis loses, sessions that were ended too, is valid again: for `revocable` let it persist its data, and evict no
 * keys.
 * @param client A client of `ioredis`, or a connected one of `redis`. The application closes it.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is no client.
 */
export function redisStore(client: IoRedisClient | NodeRedisClient, options: RedisStoreOptions = {}): Store {
  if (!isRedisClient(client)) {
    throw invalidConfig(
      "redisStore() takes a client of `ioredis`, or a connected one of `redis`: no URL, no promise. For a cluster or " +
        "a sentinel take `ioredis`.",
    );
  }
  const { prefix = "fastify-authjs:", ...others } = options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw invalidConfig(`redisStore() has no option \`${unknown}\`: write \`{ prefix }\`.`);
  const send = (command: string, ...args: string[]) => sendCommand(client, command, ...args);
  const lock = (key: string) => `${prefix}lock:${key}`;
  const value = (key: string) => `${prefix}result:${key}`;
  const set = (key: string) => `${prefix}set:${key}`;
  const get = async (key: string) => {
    const [, hash, field] = FIELD.exec(key) ?? [];
    const found = hash === undefined ? await send("GET", value(key)) : await send("HGET", `${prefix}${hash}`, field!);
    // A client may be set to give buffers.
    return found === null || found === undefined ? undefined : String(found);
  };
  return {
    get: (keys) => Promise.all(keys.map(get)),
    set: async (key, text, milliseconds) =>
      void await send("SET", value(key), text, "PX", `${Math.ceil(milliseconds)}`),
    lock: async (key, owner, milliseconds) =>
      String(await send("SET", lock(key), owner, "NX", "PX", `${Math.ceil(milliseconds)}`)) === "OK",
    unlock: async (key, owner) => void await send("EVAL", UNLOCK, "1", lock(key), owner),
    members: async (key) => ((await send("EVAL", MEMBERS, "1", set(key)) ?? []) as unknown[]).map(String),
    add: async (key, member, milliseconds) =>
      void await send("EVAL", ADD, "1", set(key), member, `${Math.ceil(milliseconds)}`),
    remove: async (key, member) => void await send("ZREM", set(key), member),
  };
}
