/** What sign-ins under way keep in this process, with the interface of the store that processes share. */
import { LRUCache } from "lru-cache";
import type { Store } from "../types.ts";

/** Unlike `memoryStore()`, it drops the oldest values, and a lock lasts as long as the sign-in. */
export function signInMemory(): Pick<Store, "get" | "set" | "lock" | "unlock"> {
  const values = new LRUCache<string, string>({ max: 2000, ttlResolution: 0 });
  const owners = new Map<string, string>();
  return {
    get: (keys) => Promise.resolve(keys.map((key) => values.get(key))),
    set: (key, value, milliseconds) => Promise.resolve(void values.set(key, value, { ttl: milliseconds })),
    lock(key, owner) {
      const isFree = !owners.has(key);
      if (isFree) owners.set(key, owner);
      return Promise.resolve(isFree);
    },
    unlock: (key, owner) => Promise.resolve(void (owners.get(key) === owner && owners.delete(key))),
  };
}
