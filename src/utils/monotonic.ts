/** On Node the global of that name is a getter, which takes as long as the clock itself. */
const { performance } = globalThis;

/**
 * Milliseconds by a clock that is never set: for how long something takes, or is kept in this process. The
 * time of day jumps if a machine's clock is corrected or a virtual machine is resumed; a wait measured by
 * it would last for as long.
 */
export function monotonicNow(): number {
  return performance.now();
}
