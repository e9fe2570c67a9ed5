/**
 * The texts of tokens opened a moment ago. A browser sends the same token with every request until it is
 * renewed, and looking it up costs a twentieth of opening it.
 *
 * Times are checked and callbacks run at each read.
 *
 * A user can sign in any number of times and send all those tokens in turn. The tokens of one user therefore
 * get a share of the cache: they displace one another before they displace those of other users.
 *
 * @module
 */
import type { JWT } from "@auth/core/jwt";
import { Buffer } from "node:buffer";
import type { Opened } from "./jwe.ts";

/** Characters of tokens and texts held, by default: some thousand users in a few megabytes. */
const CAPACITY = 2 ** 22;

/** One user may hold one part in so many: by default some two hundred tokens. */
const SHARES = 32;

/** How many buckets users are hashed to; the users of a bucket have one share. A power of two. */
const USER_BUCKETS = 2 ** 12;

/** The marks of tokens that came once, in regions by the user's bucket; how many of both, powers of two. */
const REGIONS = 2 ** 5;
const PLACES = 2 ** 8;

/** How many characters of a name or of claims are looked at. */
const HASHED = 512;

interface Entry {
  readonly token: string;
  readonly opened: Opened;
  readonly bucket: number;
}

/** A bounded map from token to text that forgets the oldest first. */
export class TokenCache {
  readonly #capacity: number;
  readonly #share: number;
  /**
   * By the end of the token, its authentication tag: hashing a long token whole costs more than parsing it.
   */
  readonly #entries = new Map<string, Entry>();
  /** Kept, since a new iterator would pass over the holes that deleted entries left. */
  readonly #oldest = this.#entries.keys();
  /** A mark for each place: that of the latest token there that was not worth remembering yet. */
  readonly #marks = new Int32Array(REGIONS * PLACES);
  /** Characters that went by since the marks of a region were last wiped. */
  readonly #passed = new Int32Array(REGIONS);
  /** Characters held: in all, and by bucket; and the ends of a bucket's tokens, the oldest first. */
  #size = 0;
  readonly #sizeOf = new Int32Array(USER_BUCKETS);
  readonly #endsOf = new Map<number, Set<string>>();

  /**
   * @param capacity Characters held at most.
   * @param share Characters held at most of one user.
   */
  constructor(capacity: number = CAPACITY, share: number = capacity / SHARES) {
    this.#capacity = capacity;
    this.#share = share;
  }

  /** What the token held, if it was opened lately. */
  get(token: string): Opened | undefined {
    const entry = this.#entries.get(endOf(token));
    // The whole token is compared: a forged one may have the same end.
    return entry !== undefined && entry.token === token ? entry.opened : undefined;
  }

  /**
   * Remembers what a token held, once it comes for the second time: a token that comes once would only
   * displace others, and copying costs a third of opening. Only tokens that authenticated belong here.
   *
   * @param claims The claims of the token, which say whose it is.
   */
  set(token: string, opened: Opened, claims: JWT): void {
    const size = sizeOf(token, opened);
    const bucket = userBucketOf(claims);
    if (size > this.#share || !this.#comesAgain(token, size, bucket)) return;
    const end = endOf(token);
    this.#forget(end);
    const ends = this.#endsOf.get(bucket) ?? new Set();
    for (const oldest of ends) {
      if (this.#sizeOf[bucket]! + size <= this.#share) break;
      this.#forget(oldest);
    }
    this.#entries.set(end, { token: ownString(token), opened, bucket });
    this.#endsOf.set(bucket, ends.add(end));
    this.#size += size;
    this.#sizeOf[bucket]! += size;
    while (this.#size > this.#capacity) this.#forget(this.#oldest.next().value!);
  }

  /**
   * Whether a token came before, and no more characters since than the cache can hold. Each region counts for
   * itself, so that one user's tokens wipe few marks of other users.
   */
  #comesAgain(token: string, size: number, bucket: number): boolean {
    const region = bucket & (REGIONS - 1);
    const mark = markOf(token);
    const place = region * PLACES + (mark & (PLACES - 1));
    if (this.#marks[place] === mark) return true;
    this.#passed[region]! += size;
    if (this.#passed[region]! > this.#capacity / REGIONS) {
      this.#marks.fill(0, region * PLACES, (region + 1) * PLACES);
      this.#passed[region] = size;
    }
    this.#marks[place] = mark;
    return false;
  }

  #forget(end: string): void {
    const entry = this.#entries.get(end);
    if (!entry) return;
    const { token, opened, bucket } = entry;
    const size = sizeOf(token, opened);
    const ends = this.#endsOf.get(bucket)!;
    this.#entries.delete(end);
    ends.delete(end);
    if (ends.size === 0) this.#endsOf.delete(bucket);
    this.#size -= size;
    this.#sizeOf[bucket]! -= size;
  }
}

/**
 * A number for the user. Without a database core makes a random `sub` for each sign-in, so an address or a
 * name is used instead. Without these, all claims are used but those that differ in each token.
 */
function userBucketOf(claims: JWT): number {
  const { sub, email, name } = claims;
  const named = sub && !RANDOM.test(sub) ? sub : email || name;
  const user = typeof named === "string" ? named : withoutStamps(claims);
  let hash = user.length;
  for (let at = 0; at < Math.min(user.length, HASHED); at++) hash = hash * 31 + user.charCodeAt(at) | 0;
  return (hash ^ hash >>> 16) & (USER_BUCKETS - 1);
}

/** As `crypto.randomUUID()` makes them; a database may make its ids so, too. */
const RANDOM = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

function withoutStamps({ iat: _iat, exp: _exp, jti: _jti, ...claims }: JWT): string {
  return JSON.stringify(claims);
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

const sizeOf = (token: string, { text }: Opened) => token.length + text.length;

/** A token as a string of its own: it is a slice of its Cookie header, and would keep all of it in memory. */
export function ownString(token: string): string {
  return Buffer.from(token, "latin1").toString("latin1");
}
