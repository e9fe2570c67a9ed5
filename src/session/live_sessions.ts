/**
 * What this process knows of the sessions that are in use, by their names: the newest token of each, what is
 * under way, and that it has ended.
 *
 * A page sends its requests together, and those that left the browser before a new cookie came carry the old
 * token. A provider that rotates refresh tokens takes the second use of one for theft, and nothing that was
 * read before a session ended may bring it back.
 */
import { withDeadline } from "../utils/deadline.ts";
import { monotonicNow } from "../utils/monotonic.ts";
import { ownString } from "../utils/own_string.ts";

/**
 * How long the end of a session is remembered, in milliseconds, from the latest use of one of its tokens: for
 * as long a request may be under way.
 */
export const REQUEST_LIMIT_MS = 15 * 60_000;

/** How many ends are remembered, a few megabytes: beyond it the oldest are forgotten before their time. */
const MOST_ENDED = 2 ** 16;

/** Characters of replaced tokens that are remembered: beyond it the oldest are forgotten before their time. */
const MOST_REPLACED = 2 ** 22;

/** A session that is in use. */
interface LiveSession<Read> {
  /** The newest token, once another was replaced. */
  newest: string;
  /** The tokens that it replaced a moment ago, and until when each leads to it. */
  readonly replaced: Map<string, number>;
  /** The reads under way, by their tokens. */
  readonly reads: Map<string, Promise<Read>>;
  /** The update under way, with the token that it gives. */
  update?: Promise<string | undefined> | undefined;
}

/** The end of a session. */
interface End {
  /** Signing in once more with a token of an ended session ends it again. */
  times: number;
  /** When it ended first. */
  readonly at: number;
  /** Until when that is remembered. */
  until: number;
}

/** The sessions of one configuration in this process. */
export class LiveSessions<Read extends { readonly sealed?: string | undefined }> {
  readonly #grace: number;
  /** In the order in which they were renewed. */
  readonly #sessions = new Map<string, LiveSession<Read>>();
  /** In the order in which they are forgotten. */
  readonly #ends = new Map<string, End>();
  /** In characters. */
  #replacedSize = 0;
  /** When an end was forgotten before its time. */
  #forgotAt = -Infinity;

  /** @param grace Milliseconds for which a replaced token still leads to the newest one. */
  constructor(grace: number) {
    this.#grace = grace;
  }

  /** The newest token of a session in place of one of its tokens. */
  newest(name: string, token: string): string {
    const session = this.#sessions.get(name);
    const until = session?.replaced.get(token);
    return until !== undefined && until > monotonicNow() ? session!.newest : token;
  }

  /** Remembers the token that replaced another. */
  replace(name: string, token: string, by: string): void {
    if (this.#grace <= 0 || token === by) return;
    const session = this.#sessionOf(name);
    const now = monotonicNow();
    // The application's codec may make a token again.
    this.#forgetToken(session, by);
    this.#forgetToken(session, token);
    for (const [replaced, until] of session.replaced) {
      if (until > now) break;
      this.#forgetToken(session, replaced);
    }
    session.newest = ownString(by);
    session.replaced.set(ownString(token), now + this.#grace);
    this.#replacedSize += token.length;
    this.#sessions.delete(name);
    this.#sessions.set(name, session);
    this.#forgetReplaced(now);
  }

  /**
   * Reads a token once for all requests that ask for it at the same time.
   *
   * @param join Makes of that read what another request gets.
   */
  async read(
    name: string,
    token: string,
    work: () => Promise<Read>,
    join: (read: Read) => Promise<Read>,
  ): Promise<Read> {
    const session = this.#sessionOf(name);
    const underWay = session.reads.get(token);
    if (underWay !== undefined) return await join(await underWay);
    const reading = work();
    session.reads.set(token, reading);
    try {
      return await reading;
    } finally {
      session.reads.delete(token);
      this.#forgetIdle(name, session);
    }
  }

  /**
   * Updates a session, once the updates and the read of its newest token that are under way are done. Reads
   * that begin meanwhile are to wait for it: of two new tokens, one would lack what the other has.
   *
   * @param work Is given the newest token.
   * @param given The token in its result.
   */
  async update<Result>(
    name: string,
    token: string,
    work: (newest: string) => Promise<Result>,
    given: (result: Result) => string | undefined,
  ): Promise<Result> {
    let newest = this.newest(name, token);
    for (let pending; (pending = this.#pending(name, newest)) !== undefined;) {
      newest = this.newest(name, await pending ?? newest);
    }
    const session = this.#sessionOf(name);
    const result = work(newest);
    session.update = result.then(given).catch(() => undefined);
    try {
      return await result;
    } finally {
      session.update = undefined;
      this.#forgetIdle(name, session);
    }
  }

  /** The token that what is under way gives. A read that fails leaves the one that it read. */
  #pending(name: string, token: string): Promise<string | undefined> | undefined {
    const session = this.#sessions.get(name);
    return session?.update ?? session?.reads.get(token)?.then(({ sealed }) => sealed, () => undefined);
  }

  /** Whether the session is being updated. */
  isUpdated(name: string): boolean {
    return this.#sessions.get(name)?.update !== undefined;
  }

  /**
   * The newest token, once the updates that are under way are done.
   *
   * @param limit Milliseconds that are waited at most: a callback may ask for the session that it updates.
   */
  async updated(name: string, token: string, limit: number): Promise<string> {
    const until = monotonicNow() + limit;
    let newest = this.newest(name, token);
    for (let update; (update = this.#sessions.get(name)?.update) !== undefined;) {
      const left = until - monotonicNow();
      if (left <= 0) break;
      const late = () => new Error(`The session is being updated for over ${limit} ms.`);
      newest = this.newest(name, await withDeadline(update, left, late).catch(() => undefined) ?? newest);
    }
    return newest;
  }

  /** How often a session ended; 0 for one that has not ended or is not known. */
  endings(name: string): number {
    return this.#ends.get(name)?.times ?? 0;
  }

  /**
   * Whether a session ended, for what began at a time: if an end was forgotten since, it may be that of this
   * session.
   *
   * @param began By {@linkcode monotonicNow}.
   */
  hasEndedSince(name: string, began: number): boolean {
    return this.#ends.has(name) || this.#forgotAt >= began;
  }

  /**
   * For how many milliseconds a session has ended. One of its tokens is still in use, so that this is
   * remembered for longer.
   */
  endedFor(name: string): number | undefined {
    const end = this.#ends.get(name);
    if (end === undefined) return undefined;
    this.#keepEnd(name, end);
    return monotonicNow() - end.at;
  }

  /** Ends a session. Returns how often it has ended. */
  end(name: string): number {
    const end = this.#ends.get(name) ?? { times: 0, at: monotonicNow(), until: 0 };
    end.times++;
    this.#keepEnd(name, end);
    return end.times;
  }

  /** Begins a session. The application's own codec may give it the token of one that ended. */
  begin(name: string): void {
    this.#ends.delete(name);
  }

  #keepEnd(name: string, end: End): void {
    const now = monotonicNow();
    end.until = now + REQUEST_LIMIT_MS;
    this.#ends.delete(name);
    this.#ends.set(name, end);
    for (const [oldest, { until }] of this.#ends) {
      if (until > now && this.#ends.size <= MOST_ENDED) break;
      if (until > now) this.#forgotAt = now;
      this.#ends.delete(oldest);
    }
  }

  #sessionOf(name: string): LiveSession<Read> {
    let session = this.#sessions.get(name);
    if (session === undefined) {
      session = { newest: "", replaced: new Map(), reads: new Map() };
      this.#sessions.set(name, session);
    }
    return session;
  }

  #forgetReplaced(now: number): void {
    for (const [name, session] of this.#sessions) {
      const isOver = [...session.replaced.values()].every((until) => until <= now);
      if (!isOver && this.#replacedSize <= MOST_REPLACED) break;
      for (const token of session.replaced.keys()) this.#forgetToken(session, token);
      this.#forgetIdle(name, session);
    }
  }

  #forgetToken({ replaced }: LiveSession<Read>, token: string): void {
    if (replaced.delete(token)) this.#replacedSize -= token.length;
  }

  #forgetIdle(name: string, { replaced, reads, update }: LiveSession<Read>): void {
    if (replaced.size === 0 && reads.size === 0 && update === undefined) this.#sessions.delete(name);
  }
}
