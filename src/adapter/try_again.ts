/** Repeats what a database did not answer, for nobody who waits. */
import { setTimeout } from "node:timers/promises";
import { monotonicNow } from "../utils/monotonic.ts";
import { isUnanswered } from "./failure.ts";

/** For how long it is tried again, in milliseconds. */
const TRIED_FOR_MS = 10 * 60_000;

/** The pauses before another attempt, in milliseconds: each is twice the one before. */
const FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 5_000;

/** Tries until the database answers, and keeps no process running. Rejects as the last attempt did. */
export async function tryAgain(attempt: () => Promise<void>): Promise<void> {
  const until = monotonicNow() + TRIED_FOR_MS;
  for (let pause = FIRST_PAUSE_MS;; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    await setTimeout(pause, undefined, { ref: false });
    try {
      return await attempt();
    } catch (error) {
      if (!isUnanswered(error) || monotonicNow() >= until) throw error;
    }
  }
}
