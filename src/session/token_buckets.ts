/**
 * Buckets that tokens are counted in, by their ends. Most tokens are in an empty one, and need no look-up by
 * the whole token, which would have to hash it.
 */

/** How many there are; a power of two. */
const BUCKETS = 2 ** 13;

/** The bucket of a token. Its end is, in core's format, as good as random. */
export function bucketOf(token: string): number {
  let bucket = 0;
  for (let at = Math.max(0, token.length - 4); at < token.length; at++) {
    bucket = bucket * 31 + token.charCodeAt(at) | 0;
  }
  return bucket & (BUCKETS - 1);
}

/** A count for each bucket. */
export function newBuckets(): Uint32Array {
  return new Uint32Array(BUCKETS);
}
