/** What the processes of an application share. */

/**
 * What the processes of an application share, such as `redisStore()` of `fastify-authjs/redis` or
 * `memoryStore()`. Keys are texts of any length; values, locks and sets are apart. `milliseconds` is how long
 * what is written counts: it is not returned after that, and can be deleted. A call that fails rejects.
 */
export interface Store {
  /** The values of keys, in their order; nothing for one that has none. */
  get(keys: readonly string[]): Promise<readonly (string | null | undefined)[]>;
  /** Sets the value of a key, in place of an earlier one. */
  set(key: string, value: string, milliseconds: number): Promise<void>;
  /**
   * Acquires a lock, unless it is held.
   *
   * @param key What is locked. It has no value: locks are apart from values.
   * @param owner The new owner: only it may release the lock.
   * @param milliseconds The time after which the lock expires, if its owner has died.
   * @returns Whether it was acquired.
   */
  lock(key: string, owner: string, milliseconds: number): Promise<boolean>;
  /** Releases a lock, if its owner still holds it. */
  unlock(key: string, owner: string): Promise<void>;
  /** The members of a set that still count, in any order. */
  members(key: string): Promise<readonly string[]>;
  /** Adds a member to a set. */
  add(key: string, member: string, milliseconds: number): Promise<void>;
  /** Removes a member of a set. */
  remove(key: string, member: string): Promise<void>;
}

/** The part of a client of the package `ioredis` that is used. */
export interface IoRedisClient {
  /** Sends a command. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** The part of a connected client of the package `redis` that is used. */
export interface NodeRedisClient {
  /** Sends a command. */
  sendCommand(args: string[]): Promise<unknown>;
}
