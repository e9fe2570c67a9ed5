/**
 * Refreshes under way, and tokens that were replaced a moment ago: ten requests with one token refresh it
 * once.
 *
 * A provider that rotates refresh tokens takes the second use of one for theft and ends every session of the
 * user. But a page sends its requests together, and those that left the browser before the new cookie came
 * carry the old token.
 */
import type { JWT } from "@auth/core/jwt";
import type { MaybePromise } from "../utils/maybe_promise.ts";
import { withDeadline } from "../utils/deadline.ts";
import { monotonicNow } from "../utils/monotonic.ts";
import { ownString } from "../utils/own_string.ts";
import { bucketOf, newBuckets } from "./token_buckets.ts";

/** Why the tokens of a provider could not be refreshed. */
export interface RefreshFailure {
  /** The id of the provider. */
  readonly provider: string;
  readonly cause: unknown;
}

/** The result of reading a token. */
export interface JwtRead {
  /** What the `jwt` callback made of the claims; null ends the session. */
  readonly token: JWT | null;
  /** What the `session` callback returned. */
  readonly session: unknown;
  /** When the session ends if it is not read again, as it says so. */
  readonly expires: string;
  /** The new token for the browser, where it differs from the one that came. */
  readonly sealed?: string;
  /** Why the claims could not be sealed. */
  readonly error?: Error;
  /** Where a refresh failed: requests that carry the token may have asked for that of another provider. */
  readonly refreshFailure?: RefreshFailure;
  /** How often the session ended by now, where it did: the callback said so, or it signed out meanwhile. */
  readonly endings?: number;
}

/**
 * Characters of tokens held at most, a few megabytes: beyond it the oldest are forgotten before their time.
 */
const CAPACITY = 2 ** 22;

/** What replaced a token, and until when that is remembered. */
interface Replacement {
  by: string;
  readonly until: number;
}

/** The refreshes of one configuration in this process, each with a result of type `T`. */
export class Refreshes<T> {
  readonly #grace: number;
  readonly #running = new Map<string, Promise<T>>();
  /** The updates under way (`POST <prefix>/session`), each with the token that it gives. */
  readonly #updates = new Map<string, Promise<string | undefined>>();
  readonly #replaced = new Map<string, Replacement>();
  /** How many replaced tokens each bucket has. */
  readonly #counts = newBuckets();
  /** In characters, taking successors to be as long as what they replace. */
  #size = 0;

  /** @param grace Milliseconds for which a replaced token still leads to its successor. */
  constructor(grace: number) {
    this.#grace = grace;
  }

  /** The token that replaced this one, or this one. */
  newest(token: string): string {
    const replaced = this.#current(token);
    if (replaced === undefined) return token;
    // Shortens the chain: a client may keep sending its first token.
    for (let next; (next = this.#current(replaced.by)) !== undefined;) replaced.by = next.by;
    return replaced.by;
  }

  /** Remembers that a token was replaced. */
  remember(token: string, by: string): void {
    if (this.#grace <= 0 || token === by) return;
    this.#forget(token);
    // The application's codec may make a token again; as the newest it has no successor, so there is no
    // cycle.
    this.#forget(by);
    this.#size += 2 * token.length;
    this.#counts[bucketOf(token)]!++;
    this.#replaced.set(ownString(token), { by, until: monotonicNow() + this.#grace });
    this.#forgetOld();
  }

  /** The refresh of this token that is under way. */
  running(token: string): Promise<T> | undefined {
    return this.#running.size === 0 ? undefined : this.#running.get(token);
  }

  /** Runs `work`, to be found by {@linkcode running} until it is done. */
  run(token: string, work: () => MaybePromise<T>): MaybePromise<T> {
    const running = work();
    if (!(running instanceof Promise)) return running;
    this.#running.set(token, running);
    return running.finally(() => this.#running.delete(token));
  }

  /**
   * Updates the session of this token, once the refresh and the updates of it that are under way are done.
   * Refreshes that begin meanwhile are to wait for it: of two new tokens, one would lack what the other has.
   *
   * @param work Is given the newest token.
   * @param given The token in its result.
   */
  async update<R>(
    token: string,
    work: (newest: string) => Promise<R>,
    given: (result: R) => string | undefined,
  ): Promise<R> {
    let newest = this.newest(token);
    for (let pending; (pending = this.#pending(newest)) !== undefined;) {
      newest = this.newest(await pending ?? newest);
    }
    const result = work(newest);
    this.#updates.set(newest, result.then(given).catch(() => undefined));
    try {
      return await result;
    } finally {
      this.#updates.delete(newest);
    }
  }

  /** The token that replaces this one when what is under way is done. A refresh that fails leaves it. */
  #pending(token: string): Promise<string | undefined> | undefined {
    return this.#updates.get(token) ??
      this.#running.get(token)?.then(
        (result) => (result as Pick<JwtRead, "sealed"> | undefined)?.sealed,
        () => undefined,
      );
  }

  /** Whether the session of this token is being updated. */
  isUpdated(token: string): boolean {
    return this.#updates.size > 0 && this.#updates.has(token);
  }

  /**
   * The newest token, once the updates that are under way are done.
   *
   * @param limit Milliseconds that are waited at most: a callback may ask for the session that it updates.
   */
  async updated(token: string, limit: number): Promise<string> {
    const until = monotonicNow() + limit;
    let newest = this.newest(token);
    for (let update; (update = this.#updates.get(newest)) !== undefined;) {
      const left = until - monotonicNow();
      if (left <= 0) break;
      const late = () => new Error(`The session is being updated for over ${limit} ms.`);
      newest = this.newest(await withDeadline(update, left, late).catch(() => undefined) ?? newest);
    }
    return newest;
  }

  #current(token: string): Replacement | undefined {
    const replaced = this.#counts[bucketOf(token)] === 0 ? undefined : this.#replaced.get(token);
    return replaced !== undefined && replaced.until > monotonicNow() ? replaced : undefined;
  }

  /** All have the same grace, so the map is in the order in which they end. */
  #forgetOld(): void {
    const now = monotonicNow();
    for (const [token, { until }] of this.#replaced) {
      if (until > now && this.#size <= CAPACITY) break;
      this.#forget(token);
    }
  }

  #forget(token: string): void {
    if (!this.#replaced.delete(token)) return;
    this.#counts[bucketOf(token)]!--;
    this.#size -= 2 * token.length;
  }
}
