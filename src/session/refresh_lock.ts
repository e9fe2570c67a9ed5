/**
 * What several processes share: one of them refreshes a session and the others get its result, a sign-out at
 * one of them counts at all, and a sign-in link is used at one of them at a time.
 */
import { withDeadline } from "../utils/deadline.ts";
import { monotonicNow } from "../utils/monotonic.ts";
import type { RefreshLock } from "../types.ts";

/** The refresh lock, and how it is used. */
export interface SharedStore {
  /** Never rejects. */
  readonly lock: Required<RefreshLock>;
  /** Whether the lock can be held for longer than it was acquired for. */
  readonly isExtensible: boolean;
  /** Milliseconds for which a token that was refreshed leads to the one that took its place. */
  readonly grace: number;
  /** Milliseconds for which another process is waited for while nothing is heard of it. */
  readonly waitLimit: number;
  /** Is told of values that do not open. */
  readonly onError: (error: Error) => void;
}

/** How long the lock may take to answer before it is done without, in milliseconds. */
const LOCK_TIMEOUT_MS = 2_000;

/** How long a lock that failed is done without, in milliseconds: each read would wait for it. */
const LOCK_PAUSE_MS = 5_000;

/**
 * A lock that fails open: while it is down sessions are read and refreshed, and sign-in links used, without
 * it, as in one process.
 */
export class FailOpenLock {
  readonly #lock: RefreshLock;
  /** Until when it is done without, in milliseconds of {@linkcode monotonicNow}. */
  #pausedUntil = -Infinity;

  constructor(lock: RefreshLock) {
    this.#lock = lock;
  }

  /** Whether a lock that is held can be held for longer. */
  get isExtensible(): boolean {
    return typeof this.#lock.extend === "function";
  }

  /** The lock, with its failures told to `onError`. No method of it rejects. */
  reportingTo(onError: (error: Error) => void): Required<RefreshLock> {
    const lock = this.#lock;
    const attempt = <T>(name: keyof RefreshLock, work: () => Promise<T>, otherwise: T) =>
      this.#attempt(name, work, otherwise, onError);
    return {
      acquire: (...args) => attempt("acquire", () => lock.acquire(...args), true),
      extend: (...args) => attempt("extend", async () => await lock.extend?.(...args) ?? true, true),
      release: (...args) => attempt("release", () => lock.release(...args), undefined),
      put: (...args) => attempt("put", () => lock.put(...args), undefined),
      get: (...args) => attempt("get", () => lock.get(...args), undefined),
    };
  }

  async #attempt<T>(
    name: string,
    work: () => Promise<T>,
    otherwise: T,
    onError: (error: Error) => void,
  ): Promise<T> {
    if (monotonicNow() < this.#pausedUntil) return otherwise;
    try {
      const late = () => new Error(`no answer within ${LOCK_TIMEOUT_MS} ms`);
      return await withDeadline((async () => await work())(), LOCK_TIMEOUT_MS, late);
    } catch (cause) {
      const isNews = monotonicNow() >= this.#pausedUntil;
      this.#pausedUntil = monotonicNow() + LOCK_PAUSE_MS;
      if (isNews) {
        onError(
          new Error(
            `The refresh lock's ${name}() failed; sessions are refreshed and sign-in links used without it.`,
            { cause },
          ),
        );
      }
      return otherwise;
    }
  }
}
