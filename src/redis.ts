/**
 * A lock in Redis: of several processes one refreshes a session, and the others get the result and learn when
 * a session ends. Set it as `refreshLock: redisLock(client)`.
 *
 * No session token is stored in Redis: values are encrypted with keys derived from the tokens. Every key
 * expires within an hour or `refreshGrace`. The commands used are `GET`, `SET` with `NX` and `PX`,
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
import type {
  IoRedisClient,
  NodeRedisClient,
  RefreshLock,
  SessionEpoch,
  SessionRecord,
  SessionState,
  SessionStore,
} from "./types.ts";
import { sendCommand } from "./utils/redis_client.ts";

export type {
  IoRedisClient,
  NodeRedisClient,
  RefreshLock,
  SessionEpoch,
  SessionRecord,
  SessionState,
  SessionStore,
};

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

/** Settings of {@linkcode redisSessionStore}. */
export type RedisSessionStoreOptions = RedisLockOptions;

/**
 * Sets a field of a user's hash, each value with the time until which it counts before it, deletes another
 * field, and those whose time is over.
 */
const SET =
  `local key, field, value, now, life = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local all = redis.call("hgetall", key)
for i = 1, #all, 2 do
  if tonumber(string.match(all[i + 1], "^%d+")) < now then redis.call("hdel", key, all[i]) end
end
if redis.call("hexists", key, ARGV[6]) == 0 then redis.call("hset", key, field, value) end
redis.call("hdel", key, ARGV[5])
if redis.call("pttl", key) < life then redis.call("pexpire", key, life) end
return 1`;

/**
 * Makes a store in Redis for the `sessionStore` of several processes. Each user has one key, a hash with the
 * records of the user's sessions: when they began and were used, and their `User-Agent` headers, unencrypted.
 * It contains no session tokens. Keys expire with the last session of their user. The commands used are
 * `HMGET` and `EVAL`.
 *
 * What Redis loses, sessions that were ended too, is valid again: let it persist its data, and evict no keys.
 *
 * @param client A client of `ioredis`, or a connected one of `redis`. The application closes it.
 * @param options The prefix of the keys.
 * @returns The value for `sessionStore`.
 */
export function redisSessionStore(
  client: IoRedisClient | NodeRedisClient,
  options: RedisSessionStoreOptions = {},
): SessionStore {
  const { prefix = "fastify-authjs:" } = options;
  const send = (command: string, ...args: string[]) => sendCommand(client, command, ...args);
  const keyOf = (user: string) => `${prefix}sessions:${user}`;
  const sessionField = (id: string) => `session:${id}`;
  const endField = (id: string) => `end:${id}`;
  /** @param change `unless` names a field with which nothing is set, `remove` one that is deleted. */
  const set = async (
    user: string,
    field: string,
    value: unknown,
    life: number,
    change: { remove?: string; unless?: string },
  ) => {
    const now = Date.now();
    const until = `${now + life}:${JSON.stringify(value)}`;
    const { remove = "", unless = "" } = change;
    await send("EVAL", SET, "1", keyOf(user), field, until, `${now}`, `${life}`, remove, unless);
  };
  return {
    async get(user, id) {
      const fields = await send("HMGET", keyOf(user), endField(id), "epoch", sessionField(id));
      const [end, epoch, record] = fields as (string | null)[];
      return {
        ended: end !== null && end !== undefined,
        epoch: parse<SessionEpoch>(epoch),
        record: parse<SessionRecord>(record),
      };
    },
    async list(user) {
      // In a script the answer is a list, whichever version of the protocol the client speaks.
      const all = await send("EVAL", 'return redis.call("hgetall", KEYS[1])', "1", keyOf(user)) as string[];
      const values = all.filter((_value, index) => index % 2 === 1 && all[index - 1]!.startsWith("session:"));
      return {
        records: values.map((value) => parse<SessionRecord>(value)!),
        epoch: parse<SessionEpoch>(all[all.indexOf("epoch") + 1 || all.length]),
      };
    },
    put: (user, record, life) =>
      set(user, sessionField(record.id), record, life, { unless: endField(record.id) }),
    end: (user, id, life) => set(user, endField(id), true, life, { remove: sessionField(id) }),
    endAll: (user, epoch, life) => set(user, "epoch", epoch, life, {}),
  };
}

function parse<T>(value: string | null | undefined): T | undefined {
  return value ? JSON.parse(value.slice(value.indexOf(":") + 1)) : undefined;
}
