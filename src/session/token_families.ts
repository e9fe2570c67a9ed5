/**
 * Which tokens are of one session, and which sessions ended a moment ago.
 *
 * A session changes its token with each renewal. A request that was sent with one of them may still be under
 * way when the session ends: what it read must not reach the browser any more, and a token it makes must not
 * be a session again.
 */
import { createHash } from "node:crypto";
import { monotonicNow } from "../utils/monotonic.ts";
import { bucketOf, newBuckets } from "./token_buckets.ts";

/**
 * How long tokens are remembered, in milliseconds: from its renewal, its end or its latest use after the end.
 * A request that takes longer, from leaving the browser to its reply, is not known to be of a session that
 * ended.
 */
export const REQUEST_LIMIT_MS = 15 * 60_000;

/** How many tokens are remembered, a few megabytes: beyond it the oldest are forgotten before their time. */
const CAPACITY = 2 ** 15;

/** What the tokens of one session share. */
interface Family {
  /** Its name in the store of the refresh lock, where that was needed. */
  id?: string;
  /** How often it was ended: signing in once more with a token of an ended session ends it again. */
  endings: number;
  /** When it was ended first. */
  endedAt: number;
  /** Those of its tokens that are remembered. */
  readonly members: Set<Member>;
}

interface Member {
  readonly family: Family;
  readonly until: number;
  /** The bucket it is counted in. */
  readonly bucket: number;
}

/** The sessions of one configuration in this process. */
export class TokenFamilies {
  /** By a digest of the whole token: a forged one may have the tag of another. */
  readonly #members = new Map<string, Member>();
  /** How many tokens of ended sessions each bucket has. */
  readonly #ended = newBuckets();

  /** How often the session of this token ended; 0 for one that has not ended or is not known. */
  endings(token: string): number {
    return this.#endedFamily(token)?.endings ?? 0;
  }

  /**
   * For how many milliseconds the session of this token has ended. The token is still in use, so it is
   * remembered for longer.
   */
  endedFor(token: string): number | undefined {
    const family = this.#endedFamily(token);
    if (family === undefined) return undefined;
    this.#remember(token, family);
    return monotonicNow() - family.endedAt;
  }

  /** Ends the session of this token: it and all others of the session. Returns how often it has ended. */
  end(token: string): number {
    const family = this.#familyOf(token);
    if (family.endings++ === 0) {
      family.endedAt = monotonicNow();
      for (const { bucket } of family.members) this.#ended[bucket]!++;
    }
    this.#remember(token, family);
    return family.endings;
  }

  /** Begins a session. The application's own codec may give it the token of a session that ended. */
  begin(token: string): void {
    this.#forget(digestOf(token));
  }

  /** Remembers that a token was renewed: both are of one session. */
  join(token: string, successor: string): void {
    const family = this.#familyOf(token);
    this.#remember(token, family);
    this.#remember(successor, family);
  }

  /** The name of this token's session, where it is known. */
  idOf(token: string): string | undefined {
    return this.#member(token)?.family.id;
  }

  /** Remembers the name of this token's session. */
  name(token: string, id: string): void {
    const family = this.#familyOf(token);
    family.id = id;
    this.#remember(token, family);
  }

  #endedFamily(token: string): Family | undefined {
    const family = this.#ended[bucketOf(token)] === 0 ? undefined : this.#member(token)?.family;
    return family !== undefined && family.endings > 0 ? family : undefined;
  }

  #member(token: string): Member | undefined {
    const member = this.#members.get(digestOf(token));
    return member !== undefined && member.until > monotonicNow() ? member : undefined;
  }

  #familyOf(token: string): Family {
    return this.#member(token)?.family ?? { endings: 0, endedAt: 0, members: new Set() };
  }

  /** All are remembered equally long, so the map is in the order in which they are forgotten. */
  #remember(token: string, family: Family): void {
    const key = digestOf(token);
    this.#forget(key);
    const member = { family, until: monotonicNow() + REQUEST_LIMIT_MS, bucket: bucketOf(token) };
    this.#members.set(key, member);
    family.members.add(member);
    if (family.endings > 0) this.#ended[member.bucket]!++;
    this.#forgetOld();
  }

  #forgetOld(): void {
    const now = monotonicNow();
    for (const [key, { until }] of this.#members) {
      if (until > now && this.#members.size <= CAPACITY) break;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    const member = this.#members.get(key);
    if (member === undefined) return;
    this.#members.delete(key);
    member.family.members.delete(member);
    if (member.family.endings > 0) this.#ended[member.bucket]!--;
  }
}

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
