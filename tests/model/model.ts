/**
 * What must hold of a session, whatever else runs: it is of its user, gone after its end, and no update of it is lost.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";

/** What a read shows of a session. */
export interface Seen {
  readonly sid: string;
  readonly user: { readonly name: string };
  readonly fields: Readonly<Partial<Record<string, number>>>;
}

/** A change of a field. It counts from when its request was sent; those that were answered later may undo it. */
export interface Update {
  readonly field: string;
  readonly value: number | undefined;
  readonly sent: number;
  /** When it was answered: only then may no read lack it. */
  answered: number;
}

/** A session as its user may expect it. Times are counted in requests and answers. */
export class ModelSession {
  /** When the first request that ends it was sent. */
  ending = Infinity;
  /** When the first of these was answered. */
  ended = Infinity;
  /** Whether its browser may have lost it: replies to requests with another session came beside its sign-in. */
  mayBeLost = false;
  readonly updates: Update[] = [];
  /** Whether it goes on when the browser is closed, if its sign-in said so. */
  remembered: boolean | undefined;

  /** @param sid What its reads show. */
  constructor(readonly user: string, readonly sid: string) {}

  /** Throws if its cookie is now to be kept by the browser for longer or shorter than was said. */
  checkCookies(lines: readonly string[]): void {
    if (this.mayBeLost || this.remembered === undefined) return;
    for (const line of lines.filter((each) => /^[^=]*session-token(?:\.\d+)?=[^;]/.test(each))) {
      assertEquals(/; expires=/i.test(line), this.remembered, line);
    }
  }

  /** Throws if a read that was sent then must not give this. */
  check(seen: Seen | null, sent: number, now: number): void {
    if (seen === null) {
      return assert(this.mayBeLost || this.ending < now, "a session that had not ended was lost");
    }
    assert(sent < this.ended, "a session came back after its end");
    assertEquals([seen.user.name, seen.sid], [this.user, this.sid], "another session");
    for (const field of new Set(this.updates.map((update) => update.field))) {
      const ofField = this.updates.filter((update) => update.field === field);
      const isOver = (update: Update | undefined) =>
        ofField.some((later) => later.answered < sent && later.sent > (update?.answered ?? 0));
      const shown = ofField.find(({ value }) => value === seen.fields[field]);
      assert(shown !== undefined || seen.fields[field] === undefined, "a value that was never given");
      assert(!isOver(shown), `an update of ${field} was lost: ${JSON.stringify([seen, sent, ofField])}`);
    }
  }
}
