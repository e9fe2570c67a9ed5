/** A store in this process. */
import type { Store } from "../types.ts";
import { monotonicNow } from "../utils/time.ts";

/** Marks a store that other processes do not see. */
export const IN_PROCESS: unique symbol = Symbol("fastify-authjs.memoryStore");

/** The members of a set, and until when each counts. */
type Members = Map<string, number>;

/**
 * Makes a `store` that keeps everything in this process: for tests, and for an application with one process. With a
 * restart it forgets which sessions were ended, and these are valid again until they expire.
 *
 * @returns The value for `store`.
 *
 * @example
 * ```ts
 * import { type FastifyAuthConfig, memoryStore } from "fastify-authjs";
 *
 * const config: FastifyAuthConfig = {
 *   providers: [],
 *   secret: "a string of 32 characters or more",
 *   store: memoryStore(),
 *   revocable: true,
 * };
 * ```
 */
export function memoryStore(): Store {
  const values = new Expiring<string>();
  const locks = new Expiring<string>();
  const sets = new Expiring<Members>();
  const store: Store = {
    get: (keys) => Promise.resolve(keys.map((key) => values.get(key))),
    set: (key, value, milliseconds) => Promise.resolve(values.set(key, value, monotonicNow() + milliseconds)),
    lock(key, owner, milliseconds) {
      const isFree = locks.get(key) === undefined;
      if (isFree) locks.set(key, owner, monotonicNow() + milliseconds);
      return Promise.resolve(isFree);
    },
    unlock(key, owner) {
      if (locks.get(key) === owner) locks.delete(key);
      return Promise.resolve();
    },
    members: (key) => Promise.resolve([...current(sets.get(key)).keys()]),
    add(key, member, milliseconds) {
      const members = current(sets.get(key)).set(member, monotonicNow() + milliseconds);
      const last = [...members.values()].reduce((a, b) => Math.max(a, b));
      return Promise.resolve(sets.set(key, members, last));
    },
    remove(key, member) {
      const members = sets.get(key);
      members?.delete(member);
      if (members?.size === 0) sets.delete(key);
      return Promise.resolve();
    },
  };
  return Object.assign(store, { [IN_PROCESS]: true });
}

function current(members: Members = new Map()): Members {
  for (const [member, until] of members) if (until <= monotonicNow()) members.delete(member);
  return members;
}

/** Values that are forgotten when their time is over: some at each write, so that no write takes long. */
class Expiring<T> {
  readonly #values = new Map<string, { readonly value: T; readonly until: number }>();
  /** Goes round all of them. */
  #sweep = this.#values.entries();

  get(key: string): T | undefined {
    const found = this.#values.get(key);
    return found !== undefined && found.until > monotonicNow() ? found.value : undefined;
  }

  set(key: string, value: T, until: number): void {
    this.#values.set(key, { value, until });
    for (let swept = 0; swept < 2; swept++) {
      const next = this.#sweep.next();
      if (next.done) this.#sweep = this.#values.entries();
      else if (next.value[1].until <= monotonicNow()) this.#values.delete(next.value[0]);
    }
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}
