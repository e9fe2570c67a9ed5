/** Users that cannot sign in, because the database failed during the sign-in that created them. */
import { setTimeout } from "node:timers/promises";
import { isUnanswered } from "./failure.ts";
import { monotonicNow } from "../utils/monotonic.ts";

/** The most users that are kept; the oldest is dropped first. */
const MAXIMUM = 1000;

/** For how long their removal is tried again, in milliseconds. */
const TRIED_FOR_MS = 10 * 60_000;

/** The pauses before another attempt, in milliseconds: each is twice the one before. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;

/** How a user is removed. */
export interface Removal {
  /** Removes the user, if there is one that cannot sign in. Rejects where the database fails again. */
  readonly attempt: () => Promise<void>;
  /** Is told where no attempt succeeded. */
  readonly giveUp: (error: unknown) => void;
}

/** A removal, and until when it is tried. */
type Tried = Removal & { readonly until: number };

/**
 * The users that could not be deleted. A later sign-in in this process with the same address deletes them,
 * and so do attempts while the process runs, since other processes do not know of them.
 */
export class UnfinishedUsers {
  /** By their ids, with what is still tried. */
  readonly #removals = new Map<string, Tried | undefined>();
  readonly #triedFor: number;
  readonly #firstPause: number;
  #isTrying = false;

  /** @param times In milliseconds: for how long a removal is tried again, and the first pause. */
  constructor({ triedFor = TRIED_FOR_MS, firstPause = FIRST_PAUSE_MS } = {}) {
    this.#triedFor = triedFor;
    this.#firstPause = firstPause;
  }

  /** @param removal How to remove it while the process runs; without one only its next sign-in does. */
  add(id: string, removal?: Removal): void {
    const until = monotonicNow() + this.#triedFor;
    this.#removals.set(String(id), removal && { ...removal, until });
    if (this.#removals.size > MAXIMUM) this.#dropOldest();
    if (removal !== undefined && !this.#isTrying) void this.#tryAgain();
  }

  /** Whether a user is unfinished; one whose address was verified since is not. */
  has({ id, emailVerified }: { id: string; emailVerified?: unknown }): boolean {
    return this.#removals.has(String(id)) && !emailVerified;
  }

  delete(id: string): void {
    this.#removals.delete(String(id));
  }

  #dropOldest(): void {
    const [id, removal] = this.#removals.entries().next().value!;
    this.delete(id);
    if (removal !== undefined) giveUp(removal, new Error(`Over ${MAXIMUM} users have to be removed.`));
  }

  /** Never rejects. Its timers keep no process running. */
  async #tryAgain(): Promise<void> {
    this.#isTrying = true;
    for (
      let pause = this.#firstPause;
      this.#tried().length > 0;
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS)
    ) {
      await setTimeout(pause, undefined, { ref: false });
      for (const [id, removal] of this.#tried()) {
        if (!await this.#attempt(id, removal)) break;
      }
    }
    this.#isTrying = false;
  }

  #tried(): [id: string, removal: Tried][] {
    return [...this.#removals].filter((entry): entry is [string, Tried] => entry[1] !== undefined);
  }

  /** @returns Whether the database has answered. */
  async #attempt(id: string, removal: Tried): Promise<boolean> {
    try {
      await removal.attempt();
      if (this.#removals.has(id)) this.#removals.set(id, undefined);
      return true;
    } catch (error) {
      // Its next sign-in may have removed it meanwhile.
      if (this.#removals.delete(id)) {
        const isOver = monotonicNow() >= removal.until;
        // Last in turn, so that one that never succeeds keeps no other waiting.
        this.#removals.set(id, isOver ? undefined : removal);
        if (isOver) giveUp(removal, error);
      }
      return !isUnanswered(error);
    }
  }
}

/** Nobody waits for this: a logger of the application that throws would end the process. */
function giveUp(removal: Removal, error: unknown): void {
  try {
    removal.giveUp(error);
  } catch {
    // There is no other place to say it.
  }
}
