/**
 * Users of first sign-ins that are under way. Between the write of a user and that of its account the process may end,
 * or the database: the user would keep its e-mail address from every later sign-in. So each sign-in records which user
 * it has created for which account, and the next one with that account goes on with that user.
 */
import type { AdapterAccount } from "@auth/core/adapters";
import { LRUCache } from "lru-cache";

/** An account at a provider. */
export type AccountId = Pick<AdapterAccount, "provider" | "providerAccountId">;

/** How long a record is kept, in milliseconds. */
export const RECORD_LIFE_MS = 60 * 60_000;

/** Where records are kept: texts by their keys. An empty one is none. */
export interface RecordPlaces {
  get(key: string): string | undefined | Promise<string | undefined>;
  set(key: string, value: string): unknown;
}

/** Places in this process, if processes share no store. */
export function memoryPlaces(): RecordPlaces {
  return new LRUCache<string, string>({ max: 2000, ttl: RECORD_LIFE_MS, ttlResolution: 0 });
}

/** The records, each under its account and under its user. */
export class UnfinishedUsers {
  readonly #places: RecordPlaces;

  constructor(places: RecordPlaces) {
    this.#places = places;
  }

  /** Records that a user was created for an account. */
  async add(account: AccountId, userId: string): Promise<void> {
    await this.#places.set(keyOfAccount(account), userId);
    await this.#places.set(keyOfUser(userId), keyOfAccount(account));
  }

  /** The id of the user that was created for an account, and has none yet as far as is recorded. */
  async find(account: AccountId): Promise<string | undefined> {
    const key = keyOfAccount(account);
    const userId = await this.#places.get(key);
    if (!userId) return undefined;
    return await this.#places.get(keyOfUser(userId)) === key ? userId : undefined;
  }

  /** The user is finished: an account was linked to it, or it was deleted. */
  async delete(userId: string): Promise<void> {
    await this.#places.set(keyOfUser(userId), "");
  }
}

function keyOfAccount({ provider, providerAccountId }: AccountId): string {
  return JSON.stringify(["account", provider, providerAccountId]);
}

function keyOfUser(userId: string): string {
  return JSON.stringify(["user", userId]);
}
