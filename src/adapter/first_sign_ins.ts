/**
 * First sign-ins of one user at the same time, such as in two tabs, one after the other.
 *
 * Each would find neither the user nor the account and create both, and the database would refuse the second
 * one. Here the second one looks up what the first has written, and core decides about it as always: an
 * account of that provider signs in, another one with the same address is refused.
 */
import type { Adapter } from "@auth/core/adapters";
import { createHash, randomUUID } from "node:crypto";
import { withDeadline } from "../utils/deadline.ts";
import { DEFAULT_ADAPTER_TIMEOUT } from "./bind.ts";
import { acquireInTurn, type Lock } from "./single_use.ts";

/** How long a sign-in is waited for if calls of the adapter have no limit, in milliseconds. */
const LONGEST_WAIT_MS = 120_000;

/** The sign-ins under way that have found no user or account. */
export interface FirstSignIns {
  /** By the name of what was looked up: settles when no sign-in goes on without it any more. */
  readonly underWay: Map<string, Promise<unknown>>;
  /** Milliseconds that a call of the adapter may take; 0 for no limit. */
  readonly timeout: number | undefined;
}

/** One sign-in, whose look-ups wait for those that have found nothing, as long as a call may take. */
export class FirstSignIn {
  /** The adapter for core. */
  readonly adapter: Adapter;

  readonly #underWay: FirstSignIns["underWay"];
  readonly #lock: Lock | undefined;
  readonly #limit: number;
  readonly #owner = randomUUID();
  #isAlone = true;
  /** What keeps others waiting, and how it ends. */
  readonly #held = new Map<string, () => unknown>();

  /** @param lock With it, sign-ins of other processes are waited for, too. */
  constructor(adapter: Adapter, { underWay, timeout }: FirstSignIns, lock: Lock | undefined) {
    this.#underWay = underWay;
    this.#lock = lock;
    this.#limit = (timeout ?? DEFAULT_ADAPTER_TIMEOUT) || LONGEST_WAIT_MS;
    const { getUserByAccount, getUserByEmail } = adapter;
    this.adapter = {
      ...adapter,
      ...(getUserByAccount && {
        getUserByAccount: (account) => {
          const key = ["account", account.provider, account.providerAccountId];
          return this.#lookUp(key, () => getUserByAccount(account));
        },
      }),
      ...(getUserByEmail && {
        getUserByEmail: (email) => this.#lookUp(["email", email], () => getUserByEmail(email)),
      }),
    };
  }

  /** Whether no other one is under way that was waited for in vain. */
  get isAlone(): boolean {
    return this.#isAlone;
  }

  /** Lets the next one look. Never rejects. */
  async end(): Promise<void> {
    await Promise.allSettled([...this.#held.keys()].map((name) => this.#leave(name)));
  }

  async #lookUp<T>(key: readonly string[], look: () => T | PromiseLike<T>): Promise<T> {
    const name = nameOf(key);
    if (this.#held.has(name)) return await look();
    await this.#enter(name);
    let found: T | undefined;
    try {
      found = await look();
      if (found === null && await this.#acquire(name)) found = await look();
      return found;
    } finally {
      if (found !== null) await this.#leave(name);
    }
  }

  /** Waits for the sign-ins before. */
  async #enter(name: string): Promise<void> {
    const underWay = this.#underWay;
    const before = underWay.get(name);
    let end!: () => void;
    const own = new Promise<void>((resolve) => end = resolve);
    const over = Promise.all([before, own]);
    underWay.set(name, over);
    over.then(() => {
      if (underWay.get(name) === over) underWay.delete(name);
    });
    this.#held.set(name, end);
    if (before === undefined) return;
    await withDeadline(before, this.#limit, () => new Error()).catch(() => this.#isAlone = false);
  }

  /** Waits for those of other processes. Whether they may have written what is looked up. */
  async #acquire(name: string): Promise<boolean> {
    const lock = this.#lock;
    if (lock === undefined) return false;
    if (!await acquireInTurn(lock, name, this.#owner, this.#limit)) return this.#isAlone = false;
    const end = this.#held.get(name)!;
    this.#held.set(name, () => lock.unlock(name, this.#owner).finally(end));
    return true;
  }

  async #leave(name: string): Promise<void> {
    const end = this.#held.get(name);
    this.#held.delete(name);
    await end?.();
  }
}

/** The name of a look-up, from which no address can be told. */
function nameOf(key: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(["first sign-in", ...key])).digest("base64url");
}
