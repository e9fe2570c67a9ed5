/** Waits, and the clock that they are measured by. */
import { setTimeout as wait } from "node:timers/promises";

/** On Node the global of that name is a getter, which takes as long as the clock itself. */
const { performance } = globalThis;

/**
 * Milliseconds by a clock that is never set: for how long something takes, or is kept in this process. The time of day
 * jumps if a machine's clock is corrected or a virtual machine is resumed; a wait measured by it would last for as
 * long.
 */
export function monotonicNow(): number {
  return performance.now();
}

/** Waits before a lock that another holds is tried again: some 40 ms, not all processes at once. */
export async function pollPause(): Promise<void> {
  await wait(40 * (0.5 + Math.random()));
}

/**
 * Settles as the promise does, or rejects after a time. The work itself is not stopped; its result is ignored.
 * @param milliseconds The time; 0 or less for no limit.
 */
export async function withDeadline<T>(work: PromiseLike<T>, milliseconds: number, onTimeout: () => Error): Promise<T> {
  if (milliseconds <= 0) return await work;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      timer = setTimeout(() => reject(onTimeout()), milliseconds);
      work.then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
  }
}
