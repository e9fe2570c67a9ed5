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

/** How many tokens that came once are told apart, more or less; a power of two. */
const PLACES = 2 ** 13;

interface Entry {
  readonly token: string;
  readonly opened: Opened;
}

/** A bounded map from token to text that forgets what came first. */
export class TokenCache {
  readonly #capacity: number;
  /** By the end of the token, which is its tag and so its own: to hash all of a long token costs more than to parse it. */
  readonly #entries = new Map<string, Entry>();
  /** Goes on where it stopped: a new iterator would pass over the holes that all the forgotten ones left. */
  readonly #oldest = this.#entries.keys();
  /** A mark for each place: that of the latest token there that was not worth remembering yet. */
  readonly #marks = new Int32Array(PLACES);
  /** Characters that went by since the marks were last wiped. */
  #passed = 0;
  #size = 0;

  constructor(capacity: number = CAPACITY) {
    this.#capacity = capacity;
  }

  /** What the token held, if it was opened lately. */
  get(token: string): Opened | undefined {
    const entry = this.#entries.get(endOf(token));
    // All of it counts: another token may end the same, as one does whose contents somebody changed.
    return entry !== undefined && entry.token === token ? entry.opened : undefined;
  }

  /**
   * Remembers what a token held, once it comes for the second time: whom nobody hears of again would only displace
   * others, and copying costs a third of opening. Only tokens that authenticated belong here.
   */
  set(token: string, opened: Opened): void {
    if (!this.#comesAgain(token, sizeOf({ token, opened }))) return;
    const entry = { token: ownString(token), opened };
    const end = endOf(entry.token);
    this.#forget(end);
    this.#entries.set(end, entry);
    this.#size += sizeOf(entry);
    while (this.#size > this.#capacity) this.#forget(this.#oldest.next().value!);
  }

  /** Again means before as much went by as can be held: of those who return later, none would be found here. */
  #comesAgain(token: string, size: number): boolean {
    const mark = markOf(token);
    const place = mark & (PLACES - 1);
    if (this.#marks[place] === mark) return true;
    this.#passed += size;
    if (this.#passed > this.#capacity) {
      this.#marks.fill(0);
      this.#passed = size;
    }
    this.#marks[place] = mark;
    return false;
  }

  #forget(end: string): void {
    const entry = this.#entries.get(end);
    if (!entry) return;
    this.#entries.delete(end);
    this.#size -= sizeOf(entry);
  }
}

/** A number from the end of a tag, which is as good as random. */
function markOf(token: string): number {
  let mark = 0;
  for (let at = Math.max(0, token.length - 6); at < token.length; at++) {
    mark = mark * 31 + token.charCodeAt(at) | 0;
  }
  return mark;
}

const endOf = (token: string) => token.slice(-32);

const sizeOf = ({ token, opened }: Entry) => token.length + opened.text.length;

/** A token as a string of its own: it is a slice of its Cookie header, and would keep all of it in memory. */
export function ownString(token: string): string {
  return Buffer.from(token, "latin1").toString("latin1");
}
