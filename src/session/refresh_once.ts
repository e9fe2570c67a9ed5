/**
 * Refreshing a token in one process of several, by the refresh lock: the others get the result from its
 * store.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { clearInterval, setInterval, setTimeout } from "node:timers";
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

/** How long a result is left at least, in milliseconds: for those who are waiting for it. */
const RESULT_TTL_MS = 2_000;

/** What is done once for a token. */
export interface Refresh<Opened, Outcome extends { readonly sealed?: string | undefined }> {
  /** Refreshes the token; what it returns as `sealed` is left for the others. */
  work(): Promise<Outcome>;
  /** Decodes what another process refreshed the token to; `undefined` where it cannot be used. */
  open(sealed: string): Promise<Opened | undefined>;
  /** Reads the session of that token. */
  join(opened: Opened, sealed: string): Promise<Outcome>;
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
export async function refreshOnce<Opened, Outcome extends { readonly sealed?: string | undefined }>(
  store: SharedStore,
  token: string,
  refresh: Refresh<Opened, Outcome>,
): Promise<Outcome> {
  const result = new ResultPlace(store, token);
  const held = new HeldLock(store, result);
  const wait = new Wait(store.waitLimit);
  let successor: Successor<Opened> | undefined;
  try {
    while (!await held.acquire()) {
      const found = await result.read();
      successor = await successorIn(found, refresh);
      wait.heard(found?.beat);
      if (successor !== undefined || wait.isOver) break;
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS * (0.5 + Math.random())));
    }
    if (successor === undefined) {
      const [found, hasEnded] = await Promise.all([result.read(), refresh.hasEnded()]);
      if (hasEnded) return refresh.ended;
      // Without a grace a result is for those who waited for it.
      if (wait.hasBegun || store.grace > 0) successor = await successorIn(found, refresh);
    }
    if (successor === undefined) {
      held.keep();
      const outcome = await refresh.work();
      await held.stopBeats();
      if (outcome.sealed !== undefined && !await refresh.hasEnded()) await result.leave(outcome.sealed);
      return outcome;
    }
  } finally {
    await held.release();
  }
  return await refresh.join(successor.opened, successor.sealed);
}

interface Successor<Opened> {
  readonly sealed: string;
  readonly opened: Opened;
}

async function successorIn<Opened>(
  found: Message | undefined,
  refresh: Pick<Refresh<Opened, never>, "open">,
): Promise<Successor<Opened> | undefined> {
  const sealed = found?.token;
  const opened = sealed === undefined ? undefined : await refresh.open(sealed);
  return opened === undefined ? undefined : { sealed: sealed!, opened };
}

/** What is left for the others: the result, or while it is worked on a number that changes. */
interface Message {
  readonly token?: string;
  readonly beat?: number;
}

/** Where the result of refreshing a token is left. */
class ResultPlace {
  readonly #place: Place;
  readonly #store: SharedStore;
  #told = false;

  constructor(store: SharedStore, token: string) {
    this.#store = store;
    this.#place = placeOf(token, "refresh");
  }

  get name(): string {
    return this.#place.name;
  }

  async read(): Promise<Message | undefined> {
    const value = await this.#store.lock.get(this.name);
    const text = this.#place.open(value);
    if (text !== undefined) return JSON.parse(text);
    if (value && !this.#told) {
      this.#told = true;
      this.#store.onError(
        new Error(
          "A value in the refresh lock's store was not written for it; the session is refreshed anew.",
        ),
      );
    }
  }

  async leave(token: string): Promise<void> {
    await this.#put({ token }, Math.max(this.#store.grace, RESULT_TTL_MS));
  }

  async beat(beat: number, milliseconds: number): Promise<void> {
    await this.#put({ beat }, milliseconds);
  }

  async #put(message: Message, milliseconds: number): Promise<void> {
    await this.#store.lock.put(this.name, this.#place.seal(JSON.stringify(message)), milliseconds);
  }
}

/** The lock of one token, as one read holds it. */
class HeldLock {
  readonly #store: SharedStore;
  readonly #result: ResultPlace;
  readonly #owner = randomUUID();
  /**
   * In milliseconds. Several times in it the others hear of the work, and no less often than they would stop
   * waiting.
   */
  readonly #ttl: number;
  #isHeld = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #beating: Promise<unknown> = Promise.resolve();

  constructor(store: SharedStore, result: ResultPlace) {
    this.#store = store;
    this.#result = result;
    this.#ttl = Math.max(3, Math.min(LOCK_TTL_MS, Math.floor(store.waitLimit)));
  }

  async acquire(): Promise<boolean> {
    const { lock, isExtensible } = this.#store;
    this.#isHeld = await lock.acquire(
      this.#result.name,
      this.#owner,
      isExtensible ? this.#ttl : WORK_LIMIT_MS,
    );
    return this.#isHeld;
  }

  /** Holds the lock, and has the others hear of it, until the work is done or counts as hung. */
  keep(): void {
    if (!this.#isHeld) return;
    const until = Date.now() + WORK_LIMIT_MS;
    let beat = 0;
    this.#timer = setInterval(() => {
      if (Date.now() > until) return clearInterval(this.#timer);
      // What a logger of the application throws must not end the process.
      this.#beating = Promise.allSettled([this.#beating, this.#beat(++beat)]);
    }, this.#ttl / 3);
    this.#timer.unref();
  }

  async #beat(beat: number): Promise<void> {
    const isOwn = await this.#store.lock.extend(this.#result.name, this.#owner, this.#ttl);
    // The lock expired while this process was suspended, and another one may hold it.
    if (!isOwn) return clearInterval(this.#timer);
    await this.#result.beat(beat, this.#ttl);
  }

  /** Stops the beats, one of which could overwrite the result. */
  async stopBeats(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
  }

  async release(): Promise<void> {
    await this.stopBeats();
    if (this.#isHeld) await this.#store.lock.release(this.#result.name, this.#owner);
  }
}

/** How long another process is still waited for. */
class Wait {
  readonly #limit: number;
  #until: number;
  #beat: number | undefined;
  hasBegun = false;

  /** @param limit Milliseconds for which nothing may be heard of it. */
  constructor(limit: number) {
    this.#limit = limit;
    this.#until = Date.now() + limit;
  }

  get isOver(): boolean {
    return Date.now() >= this.#until;
  }

  /**
   * What was heard: the first may be left over from a process that died since; a change is a sign of life.
   */
  heard(beat: number | undefined): void {
    this.hasBegun = true;
    if (beat !== undefined && this.#beat !== undefined && beat !== this.#beat) {
      this.#until = Date.now() + this.#limit;
    }
    this.#beat = beat ?? this.#beat;
  }
}
