/**
 * A refresh lock in this process, for tests in which configurations play several processes.
 *
 * @module
 */
import type { RefreshLock } from "fastify-authjs/redis";

/** The lock, and what a test looks at. */
export interface MemoryLock extends RefreshLock {
  /** The methods that were called, in order. */
  readonly calls: string[];
  /** Every key that was asked for. */
  readonly keys: Set<string>;
  /** Everything that was put, by its key. */
  readonly values: Map<string, string>;
  /** The owners by key. */
  readonly owners: Map<string, string>;
}

/**
 * Makes the lock. Nothing in it runs out.
 *
 * @param options.extends Whether it has `extend()`.
 * @param options.moment Milliseconds after which it answers, 1 unless given.
 */
export function memoryLock(options: { extends?: boolean; moment?: number } = {}): MemoryLock {
  const { moment = 1 } = options;
  const keys = new Set<string>();
  const owners = new Map<string, string>(), values = new Map<string, string>();
  const calls: string[] = [];
  const called = async (name: string, key: string) => {
    calls.push(name);
    keys.add(key);
    if (moment > 0) await new Promise((resolve) => setTimeout(resolve, moment));
  };
  return {
    calls,
    keys,
    values,
    owners,
    ...(options.extends && {
      async extend(key: string, owner: string) {
        await called("extend", key);
        return owners.get(key) === owner;
      },
    }),
    async acquire(key, owner) {
      await called("acquire", key);
      if (owners.has(key)) return false;
      owners.set(key, owner);
      return true;
    },
    async release(key, owner) {
      await called("release", key);
      if (owners.get(key) === owner) owners.delete(key);
    },
    async put(key, value) {
      await called("put", key);
      values.set(key, value);
    },
    async get(key) {
      await called("get", key);
      return values.get(key);
    },
  };
}
