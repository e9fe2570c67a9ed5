/**
 * The texts of tokens opened a moment ago. A browser sends the same token with every request until it is renewed, and
 * looking it up costs a twentieth of opening it.
 *
 * It holds nothing that its token does not hold: who has the token gets the same text by opening it. Times are checked and
 * callbacks run at each read.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Opened } from "./jwe.ts";

/** Characters of tokens and texts held, by default: some thousand users in a few megabytes. */
const CAPACITY = 2 ** 22;

/** A bounded map from token to text that forgets what came first. */
export class TokenCache {
  readonly #capacity: number;
  readonly #entries = new Map<string, Opened>();
  #size = 0;

  constructor(capacity: number = CAPACITY) {
    this.#capacity = capacity;
  }

  /** What the token held, if it was opened lately. */
  get(token: string): Opened | undefined {
    return this.#entries.get(token);
  }

  /** Remembers what a token held. Only tokens that authenticated belong here. */
  set(token: string, opened: Opened): void {
    this.#forget(token);
    this.#entries.set(ownString(token), opened);
    this.#size += token.length + opened.text.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#capacity) break;
      this.#forget(oldest);
    }
  }

  #forget(token: string): void {
    const opened = this.#entries.get(token);
    if (!opened) return;
    this.#entries.delete(token);
    this.#size -= token.length + opened.text.length;
  }
}

/** A token as a string of its own: it is a slice of its Cookie header, and would keep all of it in memory. */
export function ownString(token: string): string {
  return Buffer.from(token, "latin1").toString("latin1");
}
