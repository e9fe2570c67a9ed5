/**
 * Refreshing a token in one process of several, by the refresh lock: the others get the result from its
 * store.
 */
import { randomUUID } from "node:crypto";
import { clearInterval, setInterval, setTimeout } from "node:timers";
import { monotonicNow } from "../utils/monotonic.ts";
import type { SharedStore } from "./refresh_lock.ts";
import { type Place, placeOf } from "./sealed_value.ts";

/**
 * How long the lock is held at a time, in milliseconds: a process that died is no longer waited for after
 * that.
 */
const LOCK_TTL_MS = 6_000;

/**
 * How long refreshing one session may take before it counts as hung, in milliseconds: others may then try. It
 * is also how long a lock that cannot be extended is held.
 */
const WORK_LIMIT_MS = 120_000;

/** How often a waiting process looks for the result, in milliseconds. */
const POLL_INTERVAL_MS = 40;

/** How long a result is left at least, in milliseconds: for the requests that wait for it. */
const RESULT_TTL_MS = 2_000;

/** What is done once for a token. */
export interface Refresh<Outcome extends { readonly sealed?: string | undefined }> {
  /** Refreshes the token; what it returns as `sealed` is left for the others. */
  work(): Promise<Outcome>;
  /** Reads the session of what another process refreshed the token to; `undefined` where it cannot. */
  join(sealed: string): Promise<Outcome | undefined>;
  /** Whether the session ended, as far as this process or the store knows. */
  hasEnded(): Promise<boolean>;
  /** The outcome if it did. */
  readonly ended: Outcome;
}

/**
 * Refreshes a token in one process at a time.
 *
 * A process that waits does so as long as the other one is heard of, and for `waitLimit` where it is not;
 * then it refreshes the token by itself. It does the same with a result that it cannot open or decode.
 */
export async function refreshOnce<Outcome extends { readonly sealed?: string | undefined }>(
  store: SharedStore,
  token: string,
  refresh: Refresh<Outcome>,
): Promise<Outcome> {
  const shared = new SharedRefresh(store, token);
  const join = async (result: string | undefined) =>
    result === undefined ? undefined : await refresh.join(result);
  let heardAt = monotonicNow();
  let lastBeat: number | undefined;
  let hasWaited = false;
  try {
    while (!await shared.acquire()) {
      hasWaited = true;
      const { token: result, beat } = await shared.read();
      const outcome = await join(result);
      if (outcome !== undefined) return outcome;
      // The first may be left over from a process that died since; a change is a sign of life.
      if (beat !== undefined && lastBeat !== undefined && beat !== lastBeat) heardAt = monotonicNow();
      lastBeat = beat ?? lastBeat;
      if (monotonicNow() - heardAt >= store.waitLimit) break;
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS * (0.5 + Math.random())));
    }
    const [{ token: result }, hasEnded] = await Promise.all([shared.read(), refresh.hasEnded()]);
    if (hasEnded) return refresh.ended;
    // Without a grace a result is for the requests that waited for it.
    const joined = hasWaited || store.grace > 0 ? await join(result) : undefined;
    if (joined !== undefined) return joined;
    shared.keep();
    const outcome = await refresh.work();
    await shared.stopBeats();
    if (outcome.sealed !== undefined && !await refresh.hasEnded()) await shared.leave(outcome.sealed);
    return outcome;
  } finally {
    await shared.release();
  }
}

/** What is left for the others: the new token, or while it is worked on a number that changes. */
interface Message {
  readonly token?: string;
  readonly beat?: number;
}

/** The refresh of one token, as the processes see it: the lock, and the value in the store. */
class SharedRefresh {
  readonly #store: SharedStore;
  readonly #place: Place;
  readonly #owner = randomUUID();
  /**
   * In milliseconds. Several times in it the others hear of the work, and no less often than they would stop
   * waiting.
   */
  readonly #ttl: number;
  #isHeld = false;
  #hasReported = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #beating: Promise<unknown> = Promise.resolve();

  constructor(store: SharedStore, token: string) {
    this.#store = store;
    this.#place = placeOf(token, "refresh");
    this.#ttl = Math.max(3, Math.min(LOCK_TTL_MS, Math.floor(store.waitLimit)));
  }

  async acquire(): Promise<boolean> {
    const { lock, isExtensible } = this.#store;
    const ttl = isExtensible ? this.#ttl : WORK_LIMIT_MS;
    return this.#isHeld = await lock.acquire(this.#place.name, this.#owner, ttl);
  }

  async read(): Promise<Message> {
    const value = await this.#store.lock.get(this.#place.name);
    const text = this.#place.open(value);
    if (text !== undefined) return JSON.parse(text);
    if (value && !this.#hasReported) {
      this.#hasReported = true;
      const problem =
        "A value in the refresh lock's store was not written for it; the session is refreshed anew.";
      this.#store.onError(new Error(problem));
    }
    return {};
  }

  /** Holds the lock, and has the others hear of it, until the work is done or counts as hung. */
  keep(): void {
    if (!this.#isHeld) return;
    const until = monotonicNow() + WORK_LIMIT_MS;
    let beat = 0;
    this.#timer = setInterval(() => {
      if (monotonicNow() > until) return clearInterval(this.#timer);
      // What a logger of the application throws must not end the process.
      this.#beating = Promise.allSettled([this.#beating, this.#beat(++beat)]);
    }, this.#ttl / 3);
    this.#timer.unref();
  }

  async #beat(beat: number): Promise<void> {
    const isOwn = await this.#store.lock.extend(this.#place.name, this.#owner, this.#ttl);
    if (!isOwn) return this.#giveUp();
    await this.#put({ beat }, this.#ttl);
  }

  /** The lock expired. Its work goes on: a refresh token that is used up is of no use to another process. */
  #giveUp(): void {
    clearInterval(this.#timer);
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const problem =
      `The refresh lock was lost during a refresh: the process was suspended for over ${this.#ttl} ms, or ` +
      "the lock's store was restarted or has its clock set ahead. Another process may refresh the same session, which " +
      "a provider that takes each refresh token once refuses.";
    this.#store.onError(new Error(problem));
  }

  /** Stops the beats, one of which could overwrite the result. */
  async stopBeats(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
  }

  async leave(token: string): Promise<void> {
    await this.#put({ token }, Math.max(this.#store.grace, RESULT_TTL_MS));
  }

  async #put(message: Message, milliseconds: number): Promise<void> {
    await this.#store.lock.put(this.#place.name, this.#place.seal(JSON.stringify(message)), milliseconds);
  }

  async release(): Promise<void> {
    await this.stopBeats();
    if (this.#isHeld) await this.#store.lock.release(this.#place.name, this.#owner);
  }
}
