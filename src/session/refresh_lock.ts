/**
 * What several processes share so that one of them refreshes a session and the others get its result, and so that a
 * sign-out at one of them counts at all.
 *
 * @module
 */
import type { JWT } from "@auth/core/jwt";
import { requireTimeout, withDeadline } from "../utils/deadline.ts";
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthOptions } from "../types.ts";

/**
 * A lock and a store that several processes share, such as `redisLock()` of `fastify-authjs/redis`.
 *
 * Keys and values are opaque texts of up to some ten thousand characters in the alphabet of base64url. Values are sealed:
 * who reads the store learns no session token, and what somebody else wrote to it is not believed.
 */
export interface RefreshLock {
  /**
   * Takes the lock, unless somebody holds it.
   *
   * @param key What is locked.
   * @param owner Who takes it: only they may extend or release it.
   * @param milliseconds After how long it is free again by itself, should its owner have died.
   * @returns Whether it was taken.
   */
  acquire(key: string, owner: string, milliseconds: number): Promise<boolean>;
  /**
   * Holds the lock for longer: called every few seconds while a session is refreshed. A lock that lacks it is acquired
   * for two minutes at once.
   *
   * @param key What is locked.
   * @param owner Who holds it.
   * @param milliseconds From now on, after how long it is free again by itself.
   * @returns Whether it was still its owner's.
   */
  extend?(key: string, owner: string, milliseconds: number): Promise<boolean>;
  /** Gives the lock back, unless it is no longer its owner's. */
  release(key: string, owner: string): Promise<void>;
  /** Leaves a value for the others, for so many milliseconds. It replaces the one before. */
  put(key: string, value: string, milliseconds: number): Promise<void>;
  /** The value somebody left, if there is one. */
  get(key: string): Promise<string | null | undefined>;
}

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

/** How refreshing is shared, as the configuration says. */
export interface RefreshSettings {
  /** The lock, where there are several processes. */
  readonly lock: FailOpenLock | undefined;
  /** Whether the `jwt` callback is going to refresh a token with these claims. */
  readonly due: ((token: JWT) => boolean) | undefined;
  /** Milliseconds for which a token that was refreshed still leads to the one that took its place. */
  readonly grace: number;
  /** Milliseconds for which a process waits for another one of which nothing is heard. */
  readonly waitLimit: number;
}

/** Long enough for what a page requested together to arrive over a slow connection, in milliseconds. */
const DEFAULT_GRACE_MS = 30_000;

/** How long another process is waited for where requests to providers have no limit of their own, in milliseconds. */
const DEFAULT_WAIT_MS = 10_000;

/** How long the lock may take to answer before it is done without, in milliseconds. */
const LOCK_TIMEOUT_MS = 2_000;

/** How long a lock that failed is done without, in milliseconds: each read would wait for it. */
const LOCK_PAUSE_MS = 5_000;

/**
 * The settings of a configuration.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a lock that lacks a method, or a time that is none.
 */
export function refreshSettings(config: FastifyAuthOptions): RefreshSettings {
  const { refreshLock, refreshDue, refreshGrace, providerTimeout } = config;
  return {
    lock: refreshLock && new FailOpenLock(requireLock(refreshLock)),
    due: refreshDue,
    grace: requireTimeout("refreshGrace", refreshGrace) ?? DEFAULT_GRACE_MS,
    waitLimit: requireTimeout("providerTimeout", providerTimeout) || DEFAULT_WAIT_MS,
  };
}

const METHODS = ["acquire", "release", "put", "get"] as const;

function requireLock(lock: RefreshLock): RefreshLock {
  const missing = METHODS.filter((name) => typeof lock[name] !== "function");
  if (missing.length === 0) return lock;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `\`refreshLock\` lacks ${
      missing.map((name) => `${name}()`).join(", ")
    }: use redisLock() of "fastify-authjs/redis", or an object with these methods.`,
  );
}

/** A lock that fails open: while it is down sessions are read and refreshed without it, as in one process. */
export class FailOpenLock {
  readonly #lock: RefreshLock;
  /** Until when it is done without, in milliseconds since 1970. */
  #pausedUntil = 0;

  /** @param lock The lock of the configuration. */
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
    if (Date.now() < this.#pausedUntil) return otherwise;
    try {
      const late = () => new Error(`no answer within ${LOCK_TIMEOUT_MS} ms`);
      return await withDeadline((async () => await work())(), LOCK_TIMEOUT_MS, late);
    } catch (cause) {
      const isNews = Date.now() >= this.#pausedUntil;
      this.#pausedUntil = Date.now() + LOCK_PAUSE_MS;
      if (isNews) {
        onError(
          new Error(`The refresh lock's ${name}() failed; sessions are refreshed without it.`, { cause }),
        );
      }
      return otherwise;
    }
  }
}
