/**
 * What several processes share so that one of them refreshes a session and the others get its result.
 *
 * @module
 */
import type { JWT } from "@auth/core/jwt";
import { createHash, randomUUID } from "node:crypto";
import { withDeadline } from "../deadline.ts";
import type { FastifyAuthOptions } from "../types.ts";

/**
 * A lock with a place for its result, such as `redisLock()` of `fastify-authjs/redis`.
 *
 * Values are session tokens, encrypted as the browser has them, and keys are digests: nothing in it can be read or used
 * to sign in without the old token.
 */
export interface RefreshLock {
  /**
   * Takes the lock, unless somebody holds it.
   *
   * @param key What is locked.
   * @param owner Who takes it: only they may release it.
   * @param milliseconds After how long it is free again by itself, should its owner have died.
   * @returns Whether it was taken.
   */
  acquire(key: string, owner: string, milliseconds: number): Promise<boolean>;
  /** Gives the lock back, unless it is no longer its owner's. */
  release(key: string, owner: string): Promise<void>;
  /** Leaves a result for the others. */
  put(key: string, value: string, milliseconds: number): Promise<void>;
  /** The result somebody left, if there is one. */
  get(key: string): Promise<string | null | undefined>;
}

/** How refreshing is shared, as the configuration says. */
export interface RefreshSettings {
  /** The lock, where there are several processes. */
  readonly lock: RefreshLock | undefined;
  /** Whether the `jwt` callback is going to refresh a token with these claims. */
  readonly due: ((token: JWT) => boolean) | undefined;
  /** Milliseconds for which a token that was refreshed still leads to the one that took its place. */
  readonly grace: number;
}

/** Long enough for what a page requested together to arrive over a slow connection. */
const REFRESH_GRACE = 30_000;

/** The settings of a configuration. */
export function refreshSettings(config: FastifyAuthOptions): RefreshSettings {
  const { refreshLock, refreshDue, refreshGrace = REFRESH_GRACE } = config;
  return { lock: refreshLock, due: refreshDue, grace: refreshGrace };
}

/** How long one process may take before the others stop waiting for it: a provider's answer and then some. */
const PATIENCE = 15_000;

/** How long the lock itself may take to answer before it is done without. */
const LOCK_TIMEOUT = 2_000;

/** How long a lock that failed is done without. */
const LOCK_PAUSE = 5_000;

/** How often a waiting process looks for the result. */
const POLL = 40;

/**
 * Does `work` in one process at a time.
 *
 * @param token What is being refreshed.
 * @param work Does it; what it returns as `sealed` is left for the others, for `grace` milliseconds.
 * @param join Goes on from the result of another process.
 */
export async function withRefreshLock<T extends { readonly sealed?: string | undefined }>(
  { lock, grace }: { readonly lock: RefreshLock; readonly grace: number },
  token: string,
  work: () => Promise<T>,
  join: (sealed: string) => Promise<T>,
): Promise<T> {
  const key = createHash("sha256").update(token).digest("base64url");
  const owner = randomUUID();
  const until = Date.now() + PATIENCE;
  let left: string | null | undefined;
  while (!await lock.acquire(key, owner, PATIENCE)) {
    left = await lock.get(key);
    if (left) return await join(left);
    if (Date.now() > until) return await work();
    await new Promise((resolve) => setTimeout(resolve, POLL * (0.5 + Math.random())));
  }
  try {
    left = await lock.get(key);
    if (!left) {
      const result = await work();
      // Left before the lock is released, so that whoever takes it next finds it.
      if (result.sealed !== undefined) await lock.put(key, result.sealed, grace);
      return result;
    }
  } finally {
    await lock.release(key, owner);
  }
  return await join(left);
}

/** Locks that failed, and until when they are done without: each read would wait for them. */
const failing = new WeakMap<RefreshLock, number>();

/**
 * The lock, made to fail as if nobody else used it: sessions go on without it while it is down, as with one process.
 *
 * @param onError Is told of the failure.
 */
export function tolerant(lock: RefreshLock, onError: (error: Error) => void): RefreshLock {
  const attempt = async <T>(name: keyof RefreshLock, work: () => Promise<T>, otherwise: T): Promise<T> => {
    if (Date.now() < (failing.get(lock) ?? 0)) return otherwise;
    try {
      const late = () => new Error(`no answer within ${LOCK_TIMEOUT} ms`);
      return await withDeadline((async () => await work())(), LOCK_TIMEOUT, late);
    } catch (cause) {
      failing.set(lock, Date.now() + LOCK_PAUSE);
      onError(
        new Error(`The refresh lock's ${name}() failed; sessions are refreshed without it.`, { cause }),
      );
      return otherwise;
    }
  };
  return {
    acquire: (...args) => attempt("acquire", () => lock.acquire(...args), true),
    release: (...args) => attempt("release", () => lock.release(...args), undefined),
    put: (...args) => attempt("put", () => lock.put(...args), undefined),
    get: (...args) => attempt("get", () => lock.get(...args), undefined),
  };
}
