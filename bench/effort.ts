/**
 * How long it is measured.
 *
 * @module
 */

/** How often and for how long something is measured. */
export interface Effort {
  /** Rounds are repeated for so many seconds … */
  readonly seconds: number;
  /** … but at least so often … */
  readonly least: number;
  /** … and at most so often. */
  readonly most: number;
  /** Seconds of load in a round, for each contestant. */
  readonly load: number;
}

/** What each section gets of the time, in parts of all of it. */
const SHARES = { reads: 0.16, http: 0.5, operations: 0.26, start: 0.08 } as const;

/** A section of the measurements. */
export type Section = keyof typeof SHARES;

/**
 * How long a section is measured.
 *
 * @param seconds For all sections, on all runtimes.
 * @param parts How often each section is measured: on each runtime, in each pass.
 */
export function effortOf(section: Section, seconds: number, parts: number): Effort {
  return { seconds: seconds * SHARES[section] / parts, least: 2, most: 30, load: LOADS[section] };
}

/** Seconds of load for one contestant. */
const LOADS = { reads: 0.08, http: 0.7, operations: 0.25, start: 0 } as const;

/**
 * Repeats a round as long as the effort says. The first one warms up, within that time.
 *
 * @param round Is told whether it counts.
 */
export async function repeat(effort: Effort, round: (warm: boolean) => Promise<void>): Promise<void> {
  const end = performance.now() + effort.seconds * 1000;
  let took = 0;
  for (let done = -1; done < effort.most; done++) {
    const start = performance.now();
    if (done >= effort.least && start + took > end) return;
    await round(done >= 0);
    took = performance.now() - start;
  }
}
