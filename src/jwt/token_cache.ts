/**
 * The texts of tokens opened a moment ago. A browser sends the same token with every request until it is
 * renewed, and looking it up costs a twentieth of opening it. Times are checked and callbacks run at each
 * read.
 *
 * A user can sign in any number of times and send all those tokens in turn. The tokens of one user therefore
 * get a share of the cache: they displace one another before they displace those of other users.
 */
import type { JWT } from "@auth/core/jwt";
import { ownString } from "../utils/own_string.ts";
import type { Opened } from "./jwe.ts";

/** One user may hold one part in so many: of four megabytes some two hundred tokens. */
const SHARES = 32;

/** How many buckets users are hashed to; the users of a bucket have one share. A power of two. */
const USER_BUCKETS = 2 ** 12;

/**
 * The probability that an unknown token is remembered where it displaces another: most are opened a few times
 * before. If all were remembered, more users in turn than the cache holds would displace one another. Of
 * 12,000 users' tokens half are found so, otherwise none; and what remembering costs, a third of opening, is
 * paid for a token that comes again.
 */
const ADMISSION = 1 / 8;

/** How many characters of a name or of claims are looked at. */
const HASHED = 512;

interface Entry {
  readonly token: string;
  readonly opened: Opened;
  readonly share: Share;
}

/** The tokens of the users in one bucket. */
interface Share {
  /** In characters. */
  size: number;
  /** Their ends, the oldest first. */
  readonly ends: Set<string>;
  /** Kept, since a new iterator would pass over the holes that deleted entries left. */
  readonly oldest: Iterator<string>;
}

function newShare(): Share {
  const ends = new Set<string>();
  return { size: 0, ends, oldest: ends.keys() };
}

/** A bounded map from token to text that forgets the oldest first. */
export class TokenCache {
  readonly #capacity: number;
  readonly #share: number;
  /**
   * By the end of the token, its authentication tag: hashing a long token whole costs more than parsing it.
   */
  readonly #entries = new Map<string, Entry>();
  /** Kept, like {@linkcode Share.oldest}. */
  readonly #oldest = this.#entries.keys();
  readonly #shares = new Map<number, Share>();
  /** In characters. */
  #size = 0;

  /**
   * @param capacity Characters of tokens and texts held at most, a byte each: four megabytes hold those of
   * some thousand users.
   * @param share Characters held at most of one user.
   */
  constructor(capacity: number, share: number = capacity / SHARES) {
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
   * May remember what a token held, if it does not yet. Only tokens that authenticated belong here.
   *
   * @param claims The claims of the token, which say whose it is.
   */
  set(token: string, opened: Opened, claims: JWT): void {
    const size = sizeOf(token, opened);
    const mayDisplace = Math.random() < ADMISSION;
    if (!mayDisplace && this.#size + size > this.#capacity) return;
    if (size > this.#share || this.#entries.get(endOf(token))?.opened === opened) return;
    const bucket = userBucketOf(claims);
    const share = this.#shares.get(bucket) ?? newShare();
    if (!mayDisplace && share.size + size > this.#share) return;
    const own = ownString(token);
    const end = endOf(own);
    this.#forget(end);
    while (share.size + size > this.#share) this.#forget(share.oldest.next().value!);
    this.#entries.set(end, { token: own, opened, share });
    this.#shares.set(bucket, share);
    share.ends.add(end);
    share.size += size;
    this.#size += size;
    while (this.#size > this.#capacity) this.#forget(this.#oldest.next().value!);
  }

  #forget(end: string): void {
    const entry = this.#entries.get(end);
    if (!entry) return;
    const { token, opened, share } = entry;
    const size = sizeOf(token, opened);
    this.#entries.delete(end);
    share.ends.delete(end);
    share.size -= size;
    this.#size -= size;
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

/**
 * 72 bits of the tag. V8 copies so few characters; a longer part would keep all of the header it is cut out
 * of.
 */
const endOf = (token: string) => token.slice(-12);

const sizeOf = (token: string, { text }: Opened) => token.length + text.length;
