/** Repeats what a database did not answer, for nobody who waits. */
import { setTimeout } from "node:timers/promises";
import { monotonicNow } from "../utils/monotonic.ts";
import { isUnanswered } from "./failure.ts";

/** For how long it is tried again, in milliseconds. */
const TRIED_FOR_MS = 10 * 60_000;

/** The pauses before another attempt, in milliseconds: each is twice the one before. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Tries until the database answers. Never rejects, and keeps no process running.
 *
 * @param giveUp Is told why no attempt succeeded.
 */
export async function tryAgain(
  attempt: () => Promise<void>,
  giveUp: (error: unknown) => void,
): Promise<void> {
  const until = monotonicNow() + TRIED_FOR_MS;
  for (let pause = FIRST_PAUSE_MS;; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    await setTimeout(pause, undefined, { ref: false });
    try {
      return await attempt();
    } catch (error) {
      if (isUnanswered(error) && monotonicNow() < until) continue;
      return quietly(() => giveUp(error));
    }
  }
}

/** A logger of the application that throws would end the process, and there is no other place to say it. */
function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // Nobody waits.
  }
}
