/**
 * What this process knows of the sessions in use. Requests that left the browser before a new cookie came carry the
 * old token, and whoever rotates refresh tokens takes the second use of one for theft.
 */
import type { JWT } from "@auth/core/jwt";
import { LRUCache } from "lru-cache";
import { monotonicNow, withDeadline } from "../utils/time.ts";
import { ownString } from "../utils/text.ts";

/** How long a request may be under way, in milliseconds: the end of a session is remembered as long. */
export const REQUEST_LIMIT_MS = 15 * 60_000;

/** Milliseconds for which a replaced token leads to the newest one: a slow connection brings it late. */
export const GRACE_MS = 30_000;

/** How many results of other processes are followed: with one that the store has lost they may lead in a circle. */
export const MOST_TURNS = 16;

/** How many ends, and how many characters of replaced tokens, are remembered: some megabytes of each. */
const MOST_ENDED = 2 ** 16, MOST_REPLACED = 2 ** 22;

interface End {
  /** Signing in once more with a token of an ended session ends it again. */
  times: number;
  /** When it ended first, and when it did so, or its tokens were used, last: from then on it is remembered. */
  readonly at: number;
  latest: number;
}

/** What a read makes of a token, for all requests that carry it at the same time. */
export interface JwtRead {
  /** What the `jwt` callback made of the claims; null ends the session. */
  readonly token: JWT | null;
  readonly session: unknown;
  readonly expires: string;
  /** The new token for the browser, if it differs from the one that came. */
  readonly sealed?: string | undefined;
  /** Whether another request made that one: its reply has it, too. */
  readonly isJoined?: boolean;
  readonly error?: Error;
  /** How often the session has ended, if this read ended it. */
  readonly endings?: number;
}

/** What a read or an update gives: the token that the session has then, if it is a new one. */
type Outcome = Pick<JwtRead, "sealed">;

export class LiveSessions {
  readonly #successors = new LRUCache<string, string>({
    maxSize: MOST_REPLACED,
    sizeCalculation: (_by, token) => token.length,
    ttl: GRACE_MS,
    ttlResolution: 0,
  });
  /** The reads under way by their tokens: others of the same token join what it gives. */
  readonly reads: Map<string, Promise<JwtRead>> = new Map();
  readonly updates: Map<string, Promise<Outcome>> = new Map();
  /** Whether a callback has returned a promise: others may wait for something, too. */
  hasAsyncCallbacks = false;
  /** By names of sessions: what is told of a new token, or else that this process may have ended the session. */
  readonly watches: Map<string, Set<(by?: string) => unknown>> = new Map();
  /** By names, in the order in which they are forgotten. */
  readonly #ends = new Map<string, End>();
  /** When a session ended whose end was forgotten before its time. */
  #forgotten = -Infinity;

  newest(token: string): string {
    let newest = token;
    for (let by; (by = this.#successors.get(newest)) !== undefined;) newest = by;
    return newest;
  }

  replace(name: string, token: string, by: string): void {
    if (token === by) return;
    // The application's codec may make a token again, which then is the newest.
    this.#successors.delete(by);
    this.#successors.set(ownString(token), ownString(by));
    this.tell(name, by);
  }

  /** Updates a session alone, since of two new tokens one would lack what the other has. */
  async update<Result extends Outcome>(
    name: string,
    token: string,
    work: (newest: string) => Promise<Result>,
  ): Promise<Result> {
    let newest = this.newest(token);
    for (let pending; (pending = this.updates.get(name) ?? this.reads.get(newest)) !== undefined;) {
      newest = await this.#after(pending, newest);
    }
    const updating = work(newest).finally(() => this.updates.delete(name));
    this.updates.set(name, updating);
    return await updating;
  }

  /** The newest token after the updates under way, for which a read waits at most `limit` milliseconds. */
  async updated(name: string, token: string, limit: number): Promise<string> {
    const until = monotonicNow() + limit;
    let newest = this.newest(token);
    for (let left = limit; left > 0 && this.updates.has(name); left = until - monotonicNow()) {
      newest = await this.#after(withDeadline(this.updates.get(name)!, left, () => new Error()), newest);
    }
    return newest;
  }

  async #after(underWay: Promise<Outcome>, token: string): Promise<string> {
    const { sealed = token } = await underWay.catch((): Outcome => ({}));
    return this.newest(sealed);
  }

  endings(name: string): number {
    return this.#ends.get(name)?.times ?? 0;
  }

  /** Whether a session ended, for what began at a time: a later end that was forgotten may have been its own. */
  hasEndedSince(name: string, began: number): boolean {
    return this.#ends.has(name) || this.#forgotten >= began;
  }

  /** For how many milliseconds a session has ended, which its tokens in use have remembered for longer. */
  endedFor(name: string): number | undefined {
    const end = this.#ends.get(name);
    if (end === undefined) return undefined;
    this.#keepEnd(name, end);
    return monotonicNow() - end.at;
  }

  /** Returns how often the session has ended. */
  end(name: string): number {
    const end = this.#ends.get(name) ?? { times: 0, at: monotonicNow(), latest: 0 };
    end.times++;
    this.#keepEnd(name, end);
    this.tell(name);
    return end.times;
  }

  tell(name: string, by?: string): void {
    for (const watch of this.watches.get(name) ?? []) watch(by);
  }

  /** Begins a session: the application's codec may give it the token of one that ended. */
  begin(name: string): void {
    this.#ends.delete(name);
  }

  #keepEnd(name: string, end: End): void {
    const now = monotonicNow();
    end.latest = now;
    this.#ends.delete(name);
    this.#ends.set(name, end);
    for (const [oldest, { latest }] of this.#ends) {
      const isOver = latest + REQUEST_LIMIT_MS <= now;
      if (!isOver && this.#ends.size <= MOST_ENDED) break;
      // Not now: with made-up cookies anyone has ends forgotten all the time.
      if (!isOver) this.#forgotten = latest;
      this.#ends.delete(oldest);
    }
  }
}
