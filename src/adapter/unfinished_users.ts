/**
 * Users of first sign-ins that are under way. The process or the database may end between the write of a user and
 * that of its account, and the user would keep its address from every later sign-in. So each sign-in records which
 * user it has created for which account, and the next one with that account goes on with that user.
 */
import type { AdapterAccount } from "@auth/core/adapters";
import type { Store } from "../types.ts";

export type AccountId = Pick<AdapterAccount, "provider" | "providerAccountId">;

/** How long a record is kept, in milliseconds. */
const RECORD_LIFE_MS = 60 * 60_000;

/** Where the text of a key is kept, and how it is sealed there. */
type PlaceOf = (key: string) => {
  readonly name: string;
  seal(text: string): string;
  open(value: string | null | undefined): string | undefined;
};

/** Each is recorded under its account and under its user. */
export class UnfinishedUsers {
  readonly #store: Pick<Store, "get" | "set">;
  readonly #placeOf: PlaceOf;

  constructor(store: Pick<Store, "get" | "set">, placeOf: PlaceOf) {
    this.#store = store;
    this.#placeOf = placeOf;
  }

  async add(account: AccountId, userId: string): Promise<void> {
    const key = keyOfAccount(account);
    await this.#set(key, userId);
    await this.#set(keyOfUser(userId), key);
  }

  /** The id of the user that was created for an account, and has none yet as far as is recorded. */
  async find(account: AccountId): Promise<string | undefined> {
    const key = keyOfAccount(account);
    const userId = await this.#get(key);
    if (userId === undefined) return undefined;
    return await this.#get(keyOfUser(userId)) === key ? userId : undefined;
  }

  /** The user is finished: an account was linked to it, or it was deleted. */
  async delete(userId: string): Promise<void> {
    await this.#set(keyOfUser(userId), "", 1);
  }

  async #get(key: string): Promise<string | undefined> {
    const { name, open } = this.#placeOf(key);
    const [value] = await this.#store.get([name]);
    return open(value);
  }

  async #set(key: string, text: string, milliseconds = RECORD_LIFE_MS): Promise<void> {
    const { name, seal } = this.#placeOf(key);
    await this.#store.set(name, seal(text), milliseconds);
  }
}

function keyOfAccount({ provider, providerAccountId }: AccountId): string {
  return JSON.stringify(["account", provider, providerAccountId]);
}

function keyOfUser(userId: string): string {
  return JSON.stringify(["user", userId]);
}
