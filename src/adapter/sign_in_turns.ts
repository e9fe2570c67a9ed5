/**
 * What sign-ins do one after the other, in this process and in those that share a store. Some adapters look a sign-in
 * link up and delete it in two steps, so that each of several requests at once may find it. First sign-ins of one user
 * at the same time would each create the user; here the second one looks up what the first has written.
 */
import type { Adapter, AdapterAccount } from "@auth/core/adapters";
import { LRUCache } from "lru-cache";
import { hash, randomUUID } from "node:crypto";
import type { Place } from "../store/sealed_value.ts";
import type { Store } from "../types.ts";
import { monotonicNow, pollPause } from "../utils/time.ts";
import { wrapMethods } from "./bind.ts";
import { AdapterFailure } from "./failure.ts";

/** How long a turn is waited for if calls of the adapter have no limit, in milliseconds. */
const LONGEST_WAIT_MS = 120_000;

/** How much longer than its work may take a lock is held, in milliseconds, if its process dies. */
const LOCK_SLACK_MS = 1_000;

type Lock = Pick<Store, "lock" | "unlock">;

export type SignInMemory = Lock & Pick<Store, "get" | "set">;

export class SignInTurns {
  readonly adapter: Adapter;
  /** Whether no other first sign-in is under way that was waited for in vain. */
  isAlone = true;
  readonly #limit: number;
  readonly #owner = randomUUID();
  /** By the name of what keeps others waiting: the locks that are held for it. */
  readonly #held = new Map<string, Lock[]>();

  /** @param options `timeout` is how long a call of the adapter may take, in milliseconds; 0 for no limit. */
  constructor(
    adapter: Adapter,
    private readonly options: { readonly memory: Lock; readonly store: Lock | undefined; readonly timeout: number },
  ) {
    this.#limit = options.timeout || LONGEST_WAIT_MS;
    this.adapter = wrapMethods<Adapter>(adapter, {
      useVerificationToken: (use) => (link) =>
        this.#useLink(nameOf("sign-in link", link.identifier, link.token), async () => await use(link)),
      getUserByAccount: (get) => (account) => {
        const name = nameOf("first sign-in", "account", account.provider, account.providerAccountId);
        return this.#lookUp(name, async () => await get(account));
      },
      getUserByEmail: (get) => (email) =>
        this.#lookUp(nameOf("first sign-in", "email", email), async () => await get(email)),
    });
  }

  /** Never rejects. */
  async end(): Promise<void> {
    await Promise.allSettled([...this.#held.keys()].map((name) => this.#leave(name)));
  }

  async #useLink<T>(name: string, use: () => Promise<T>): Promise<T> {
    const { memory, store } = this.options;
    try {
      for (const lock of store === undefined ? [memory] : [memory, store]) {
        if (await this.#enter(lock, name)) continue;
        throw new AdapterFailure("useVerificationToken", "unanswered", { timeout: this.#limit });
      }
      return await use();
    } finally {
      await this.#leave(name);
    }
  }

  /** Looks up what other first sign-ins may be about to write; they wait if there is nothing. */
  async #lookUp<T>(name: string, look: () => Promise<T>): Promise<T> {
    if (this.#held.has(name)) return await look();
    const { memory, store } = this.options;
    const enter = async (lock: Lock) => await this.#enter(lock, name) || (this.isAlone = false);
    let found: T | undefined;
    try {
      await enter(memory);
      found = await look();
      // Only now, so that the store is not asked for a user who is known.
      if (found === null && store !== undefined && await enter(store)) found = await look();
      return found;
    } finally {
      if (found !== null) await this.#leave(name);
    }
  }

  /** Acquires a lock once no other sign-in holds it. Whether that was in time. */
  async #enter(lock: Lock, name: string): Promise<boolean> {
    const held = this.#held.get(name) ?? [];
    this.#held.set(name, held);
    const until = monotonicNow() + this.#limit;
    while (!await lock.lock(name, this.#owner, this.#limit + LOCK_SLACK_MS)) {
      if (monotonicNow() >= until) return false;
      await pollPause();
    }
    held.push(lock);
    return true;
  }

  async #leave(name: string): Promise<void> {
    const locks = this.#held.get(name) ?? [];
    this.#held.delete(name);
    await Promise.all(locks.map((lock) => lock.unlock(name, this.#owner)));
  }
}

/** The name of what is locked or recorded, from which neither an address nor a token can be told. */
function nameOf(...parts: (string | undefined)[]): string {
  return hash("sha256", JSON.stringify(parts), "base64url");
}

/** Unlike `memoryStore()` it drops the oldest values, and a lock lasts as long as the sign-in. */
export function signInMemory(): SignInMemory {
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

export type AccountId = Pick<AdapterAccount, "provider" | "providerAccountId">;

const RECORD_LIFE_MS = 60 * 60_000;

/**
 * Users of first sign-ins that are under way. The process or the database may end between the write of a user and that
 * of its account. So each sign-in records which user it has created for which account, under both, and the next one
 * with that account goes on with that user.
 */
export class UnfinishedUsers {
  /** @param placeOf Where the text of a key is kept, and how it is sealed there. */
  constructor(
    private readonly store: Pick<Store, "get" | "set">,
    private readonly placeOf: (key: string) => Place,
  ) {}

  async add(account: AccountId, userId: string): Promise<void> {
    const key = nameOf("created for", account.provider, account.providerAccountId);
    await this.#set(key, userId);
    await this.#set(nameOf("unfinished user", userId), key);
  }

  /** The id of the user that was created for an account, and has none yet as far as is recorded. */
  async find(account: AccountId): Promise<string | undefined> {
    const key = nameOf("created for", account.provider, account.providerAccountId);
    const userId = await this.#get(key);
    return userId !== undefined && await this.#get(nameOf("unfinished user", userId)) === key ? userId : undefined;
  }

  /** The user is finished: an account was linked to it, or it was deleted. */
  async delete(userId: string): Promise<void> {
    await this.#set(nameOf("unfinished user", userId), "", 1);
  }

  async #get(key: string): Promise<string | undefined> {
    const { name, open } = this.placeOf(key);
    return open((await this.store.get([name]))[0]);
  }

  async #set(key: string, text: string, milliseconds = RECORD_LIFE_MS): Promise<void> {
    const { name, seal } = this.placeOf(key);
    await this.store.set(name, seal(text), milliseconds);
  }
}
