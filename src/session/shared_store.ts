/** The store of a configuration, as sessions use it: without it where it fails, as in one process. */
import type { LoggerInstance } from "@auth/core/types";
import type { Store } from "../types.ts";
import { withDeadline } from "../utils/deadline.ts";
import { monotonicNow } from "../utils/monotonic.ts";

/** How long a call may take before it is done without, in milliseconds. */
export const STORE_TIMEOUT_MS = 2_000;

/** How long a store that does not answer at all is done without, in milliseconds: each read would wait for it. */
const SILENCE_MS = 5_000;

/** The calls of a store, none of which rejects. */
export type OpenStore = Pick<Store, "lock" | "unlock" | "get" | "set">;

/** Who learns of failures of a call. */
interface Failures {
  report(cause: unknown): void;
  /** It has not answered in time; what it does then comes late. */
  onLate(): void;
}

/**
 * A store that fails open: while it is down sessions are read and refreshed, and sign-in links used, without it.
 * A call that fails is tried again with the next one; while one has no answer, others are made only now and then.
 */
export class SharedStore {
  readonly #store: Store;
  #isDown = false;
  #isSilent = false;
  /** When the next call is made while the store is silent, by {@linkcode monotonicNow}. */
  #nextCall = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The store, whose failures go to a log. */
  reportingTo(logger: () => Pick<LoggerInstance, "error">): OpenStore {
    const store = this.#store;
    const attempt = <T>(name: keyof Store, call: () => Promise<T>, otherwise: T, onLate = () => {}) => {
      const report = (cause: unknown) => {
        const problem =
          `The store's ${name}() failed; sessions are refreshed and sign-in links used without it.`;
        logger().error(new Error(problem, { cause }));
      };
      return this.#attempt(call, otherwise, { report, onLate });
    };
    return {
      lock: (key, owner, milliseconds) => {
        let isLate = false;
        const call = async () => {
          const isAcquired = await store.lock(key, owner, milliseconds);
          // What it was for went on without it.
          if (isAcquired && isLate) await store.unlock(key, owner);
          return isAcquired;
        };
        return attempt("lock", call, true, () => void (isLate = true));
      },
      unlock: (...args) => attempt("unlock", () => store.unlock(...args), undefined),
      set: (...args) => attempt("set", () => store.set(...args), undefined),
      get: (keys) => attempt("get", () => store.get(keys), []),
    };
  }

  async #attempt<T>(call: () => Promise<T>, otherwise: T, { report, onLate }: Failures): Promise<T> {
    if (this.#isSilent) {
      if (monotonicNow() < this.#nextCall) return otherwise;
      this.#nextCall = monotonicNow() + SILENCE_MS;
    }
    const answer = (async () => await call())();
    const hear = () => void (this.#isSilent = false);
    answer.then(hear, hear);
    const late = () => {
      onLate();
      this.#isSilent = true;
      this.#nextCall = monotonicNow() + SILENCE_MS;
      return new Error(`no answer within ${STORE_TIMEOUT_MS} ms`);
    };
    try {
      const result = await withDeadline(answer, STORE_TIMEOUT_MS, late);
      this.#isDown = false;
      return result;
    } catch (cause) {
      if (!this.#isDown) report(cause);
      this.#isDown = true;
      return otherwise;
    }
  }
}
