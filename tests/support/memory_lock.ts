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
  /** Everything that was put, by its key. */
  readonly values: Map<string, string>;
  /** Who holds which key. */
  readonly owners: Map<string, string>;
}

/** Makes the lock. It answers after a moment, has no `extend()`, and nothing in it runs out. */
export function memoryLock(): MemoryLock {
  const owners = new Map<string, string>(), values = new Map<string, string>();
  const calls: string[] = [];
  const called = async (name: string) => {
    calls.push(name);
    await new Promise((resolve) => setTimeout(resolve, 1));
  };
  return {
    calls,
    values,
    owners,
    async acquire(key, owner) {
      await called("acquire");
      if (owners.has(key)) return false;
      owners.set(key, owner);
      return true;
    },
    async release(key, owner) {
      await called("release");
      if (owners.get(key) === owner) owners.delete(key);
    },
    async put(key, value) {
      await called("put");
      values.set(key, value);
    },
    async get(key) {
      await called("get");
      return values.get(key);
    },
  };
}
