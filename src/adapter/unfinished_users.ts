/**
 * Users of first sign-ins that are under way. Between the write of a user and that of its account the process may end,
 * or the database: the user would keep its e-mail address from every later sign-in. So each sign-in records which user
 * it has created for which account, and the next one with that account goes on with that user.
 */
import type { AdapterAccount } from "@auth/core/adapters";
import { monotonicNow } from "../utils/monotonic.ts";

/** An account at a provider. */
export type AccountId = Pick<AdapterAccount, "provider" | "providerAccountId">;

/** How long a record is kept, in milliseconds. */
export const RECORD_LIFE_MS = 60 * 60_000;

/** Where records are kept: texts by their keys. An empty one is none. */
export interface RecordPlaces {
  get(key: string): string | undefined | Promise<string | undefined>;
  put(key: string, value: string): void | Promise<void>;
}

/** The most texts that are kept in memory; the oldest is dropped first. */
const MAXIMUM = 2000;

/** Records in this process, if processes share no store. */
export class MemoryPlaces implements RecordPlaces {
  readonly #values = new Map<string, { readonly value: string; readonly until: number }>();

  get(key: string): string | undefined {
    const kept = this.#values.get(key);
    return kept === undefined || kept.until <= monotonicNow() ? undefined : kept.value;
  }

  put(key: string, value: string): void {
    this.#values.delete(key);
    if (value !== "") this.#values.set(key, { value, until: monotonicNow() + RECORD_LIFE_MS });
    if (this.#values.size > MAXIMUM) this.#values.delete(this.#values.keys().next().value!);
  }
}

/** The records, each under its account and under its user. */
export class UnfinishedUsers {
  readonly #places: RecordPlaces;

  constructor(places: RecordPlaces) {
    this.#places = places;
  }

  /** Records that a user was created for an account. */
  async add(account: AccountId, userId: string): Promise<void> {
    await this.#places.put(keyOfAccount(account), userId);
    await this.#places.put(keyOfUser(userId), keyOfAccount(account));
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
    await this.#places.put(keyOfUser(userId), "");
  }
}

function keyOfAccount({ provider, providerAccountId }: AccountId): string {
  return JSON.stringify(["account", provider, providerAccountId]);
}

function keyOfUser(userId: string): string {
  return JSON.stringify(["user", userId]);
}
