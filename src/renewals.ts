/**
 * Tokens that are being renewed or were renewed a moment ago, so that ten requests with one token refresh it once.
 *
 * A provider that rotates refresh tokens takes the second use of one for theft and ends every session of the user. A page
 * sends its requests together, and those that left the browser before the new cookie came still carry the old one.
 *
 * @module
 */

/** Renewed tokens remembered at most: beyond it the oldest are forgotten before their time. */
const MAX_RENEWED = 5_000;

/** A renewed token and its successor. */
interface Renewed {
  readonly by: string;
  readonly until: number;
}

/** The renewals of one configuration in this process. */
export class Renewals<T> {
  readonly #grace: number;
  readonly #running = new Map<string, Promise<T>>();
  readonly #renewed = new Map<string, Renewed>();

  /** @param grace Milliseconds for which a renewed token still leads to its successor. */
  constructor(grace: number) {
    this.#grace = grace;
  }

  /** The token that took the place of this one, or this one. */
  newest(token: string): string {
    const now = Date.now();
    for (let hops = 0; hops < MAX_RENEWED; hops++) {
      const renewed = this.#renewed.get(token);
      if (!renewed || renewed.until < now) break;
      token = renewed.by;
    }
    return token;
  }

  /** Remembers that a token was renewed. */
  remember(token: string, by: string): void {
    if (this.#grace <= 0 || token === by) return;
    this.#forgetOld();
    this.#renewed.delete(token);
    this.#renewed.set(token, { by, until: Date.now() + this.#grace });
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

  /** All have the same grace, so the map is in the order in which they end. */
  #forgetOld(): void {
    const now = Date.now();
    for (const [token, { until }] of this.#renewed) {
      if (until >= now && this.#renewed.size < MAX_RENEWED) break;
      this.#renewed.delete(token);
    }
  }
}
