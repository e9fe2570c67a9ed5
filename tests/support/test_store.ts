/**
 * A store in this process, for tests in which configurations play several processes.
 *
 * @module
 */
import { memoryStore, type Store } from "fastify-authjs";

/** The store, and what a test looks at. */
export interface TestStore extends Store {
  /** The methods that were called, in order. */
  readonly calls: string[];
  /** Every key that was asked for. */
  readonly keys: Set<string>;
  /** Everything that was set, by its key. */
  readonly values: Map<string, string>;
  /** The owners of locks by key. */
  readonly owners: Map<string, string>;
}

/** Makes the store. It answers after a moment, and no value or lock in it runs out. */
export function testStore(): TestStore {
  const sets = memoryStore();
  const keys = new Set<string>();
  const owners = new Map<string, string>(), values = new Map<string, string>();
  const calls: string[] = [];
  const called = async (name: string, ...asked: readonly string[]) => {
    calls.push(name);
    for (const key of asked) keys.add(key);
    await new Promise((resolve) => setTimeout(resolve, 1));
  };
  return {
    calls,
    keys,
    values,
    owners,
    async lock(key, owner) {
      await called("lock", key);
      if (owners.has(key)) return false;
      owners.set(key, owner);
      return true;
    },
    async unlock(key, owner) {
      await called("unlock", key);
      if (owners.get(key) === owner) owners.delete(key);
    },
    async set(key, value) {
      await called("set", key);
      values.set(key, value);
    },
    async get(asked) {
      await called("get", ...asked);
      return asked.map((key) => values.get(key));
    },
    members: (key) => sets.members(key),
    add: (key, member, milliseconds) => sets.add(key, member, milliseconds),
    remove: (key, member) => sets.remove(key, member),
  };
}
