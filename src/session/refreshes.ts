/**
 * Tokens that are being renewed or were renewed a moment ago, so that ten requests with one token refresh it once.
 *
 * A provider that rotates refresh tokens takes the second use of one for theft and ends every session of the user. A page
 * sends its requests together, and those that left the browser before the new cookie came still carry the old one.
 *
 * @module
 */
import type { JWT } from "@auth/core/jwt";
import { ownString } from "../jwt/token_cache.ts";

/** What became of a token. */
export interface JwtRead {
  /** What the `jwt` callback made of the claims; null ends the session. */
  readonly token: JWT | null;
  /** What the `session` callback returned. */
  readonly session: unknown;
  /** When the session ends if nobody reads it again. */
  readonly expires: Date;
  /** The token to put in the browser, where it is not the one that came. */
  readonly sealed?: string;
  /** Why the claims could not be sealed. */
  readonly error?: Error;
  /** How often the session ended by now, where it did: the callback said so, or it signed out meanwhile. */
  readonly endings?: number;
}

/** Characters of tokens held at most, a few megabytes: beyond it the oldest are forgotten before their time. */
const CAPACITY = 2 ** 22;

/** What took the place of a token, and until when that is known. */
interface Renewed {
  by: string;
  readonly until: number;
}

/** The refreshes of one configuration in this process. */
export class Refreshes<T> {
  readonly #grace: number;
  readonly #running = new Map<string, Promise<T>>();
  readonly #renewed = new Map<string, Renewed>();
  /** In characters, taking successors to be as long as what they replace. */
  #size = 0;

  /** @param grace Milliseconds for which a renewed token still leads to its successor. */
  constructor(grace: number) {
    this.#grace = grace;
  }

  /** The token that took the place of this one, or this one. */
  newest(token: string): string {
    const renewed = this.#current(token);
    if (renewed === undefined) return token;
    // A client that keeps sending its first token must not make the way longer with each request.
    for (let next; (next = this.#current(renewed.by)) !== undefined;) renewed.by = next.by;
    return renewed.by;
  }

  /** Remembers that a token was renewed. */
  remember(token: string, by: string): void {
    if (this.#grace <= 0 || token === by) return;
    this.#forget(token);
    // With a codec of the application's own a token can come back; as the newest it leads nowhere, so ways have an end.
    this.#forget(by);
    this.#size += 2 * token.length;
    this.#renewed.set(ownString(token), { by, until: Date.now() + this.#grace });
    this.#forgetOld();
  }

  /** What is being made of this token right now. */
  running(token: string): Promise<T> | undefined {
    return this.#running.get(token);
  }

  /** Runs `work`, to be found by {@linkcode running} until it is done. */
  async run(token: string, work: () => Promise<T>): Promise<T> {
    const running = work();
    this.#running.set(token, running);
    try {
      return await running;
    } finally {
      this.#running.delete(token);
    }
  }

  #current(token: string): Renewed | undefined {
    const renewed = this.#renewed.get(token);
    return renewed !== undefined && renewed.until > Date.now() ? renewed : undefined;
  }

  /** All have the same grace, so the map is in the order in which they end. */
  #forgetOld(): void {
    const now = Date.now();
    for (const [token, { until }] of this.#renewed) {
      if (until > now && this.#size <= CAPACITY) break;
      this.#forget(token);
    }
  }

  #forget(token: string): void {
    if (this.#renewed.delete(token)) this.#size -= 2 * token.length;
  }
}
