/**
 * A sign-in link signs in once, whatever the adapter does.
 *
 * Some adapters look a link up and delete it in two steps: of several requests at once, each may find it.
 */
import type { Adapter, VerificationToken } from "@auth/core/adapters";
import { createHash, randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Store } from "../types.ts";
import { withDeadline } from "../utils/deadline.ts";
import { monotonicNow } from "../utils/monotonic.ts";
import { DEFAULT_ADAPTER_TIMEOUT } from "./bind.ts";
import { AdapterFailure } from "./failure.ts";

/** How long a link may be in use if calls of the adapter have no limit, in milliseconds. */
const LONGEST_USE_MS = 120_000;

/** How much longer than its work may take the lock is held, in milliseconds, if its process dies. */
const LOCK_SLACK_MS = 1_000;

/** How often the lock is tried while another process holds it, in milliseconds. */
const POLL_INTERVAL_MS = 40;

/** The lock that processes share. */
export type Lock = Pick<Store, "lock" | "unlock">;

/** The sign-in links that are in use. */
export class SingleUse {
  readonly #limit: number;
  /** By the name of the link: settles when no request uses it any more. */
  readonly #uses = new Map<string, Promise<unknown>>();

  /** @param timeout Milliseconds that a call of the adapter may take; 0 for no limit. */
  constructor(timeout: number = DEFAULT_ADAPTER_TIMEOUT) {
    this.#limit = timeout || LONGEST_USE_MS;
  }

  /**
   * The adapter, whose `useVerificationToken()` runs once at a time for each link.
   *
   * @param lock With it, once at a time in all processes that share the lock.
   */
  wrap(adapter: Adapter, lock: Lock | undefined): Adapter {
    const use = adapter.useVerificationToken;
    if (use === undefined) return adapter;
    return {
      ...adapter,
      useVerificationToken: (link) => {
        const name = nameOf(link);
        const call = async () => await use(link);
        return this.#inTurn(name, lock === undefined ? call : () => this.#withLock(lock, name, call));
      },
    };
  }

  /** Runs `work` after the uses before it. */
  async #inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#uses.get(name);
    const turn = before === undefined
      ? work()
      : withDeadline(before, this.#limit, () => this.#unanswered()).then(work);
    const over = Promise.allSettled([before, turn]);
    this.#uses.set(name, over);
    try {
      return await turn;
    } finally {
      over.then(() => {
        if (this.#uses.get(name) === over) this.#uses.delete(name);
      });
    }
  }

  /** Runs `work` while this process holds the lock. */
  async #withLock<T>(lock: Lock, name: string, work: () => Promise<T>): Promise<T> {
    const owner = randomUUID();
    if (!await acquireInTurn(lock, name, owner, this.#limit)) throw this.#unanswered();
    try {
      return await work();
    } finally {
      await lock.unlock(name, owner);
    }
  }

  #unanswered(): AdapterFailure {
    return new AdapterFailure("useVerificationToken", "unanswered", { timeout: this.#limit });
  }
}

/** The name of a link, from which neither its token nor its address can be told. */
function nameOf({ identifier, token }: Pick<VerificationToken, "identifier" | "token">): string {
  return createHash("sha256").update(JSON.stringify(["sign-in link", identifier, token])).digest("base64url");
}

/**
 * Acquires the lock once no other process holds it.
 *
 * @param limit Milliseconds to wait at most, and that the work may take.
 * @returns Whether it was acquired.
 */
export async function acquireInTurn(
  lock: Lock,
  name: string,
  owner: string,
  limit: number,
): Promise<boolean> {
  const until = monotonicNow() + limit;
  while (!await lock.lock(name, owner, limit + LOCK_SLACK_MS)) {
    if (monotonicNow() >= until) return false;
    await setTimeout(POLL_INTERVAL_MS * (0.5 + Math.random()));
  }
  return true;
}
