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
  /** The same before the rounds, to warm it up. */
  readonly warmUp: number;
}

/** How long a server is loaded: for so many seconds, or until each request was sent so often. */
export type Extent = { readonly seconds: number } | { readonly turns: number };

/**
 * How long a contestant is loaded before the rounds: code that has just started gets time to become fast, and of many
 * users each is seen twice.
 */
export function warmUpOf({ warmUp }: Effort, manyUsers = false): Extent {
  return manyUsers ? { turns: 2 } : { seconds: warmUp };
}

/** What each section gets of the time, in parts of all of it. */
const SHARES = { reads: 0.12, http: 0.56, operations: 0.26, start: 0.06 } as const;

/** A section of the measurements. */
export type Section = keyof typeof SHARES;

/**
 * How long a section is measured.
 *
 * @param seconds For all sections, on all runtimes.
 * @param parts How often each section is measured: on each runtime, in each pass.
 */
export function effortOf(section: Section, seconds: number, parts: number): Effort {
  const own = seconds * SHARES[section] / parts;
  const [least, most, turns] = LOADS[section];
  const load = Math.min(most, Math.max(least, own / (turns * 7)));
  // Of an operation that takes milliseconds, twice the load of a round is too little to become fast.
  const warmUp = section === "operations" ? Math.max(own / turns, 2 * load) : 2 * load;
  return { seconds: own, least: 2, most: 30, load, warmUp };
}

/** The least and the most seconds of load for one contestant, and about how many of them a round has. */
const LOADS = {
  reads: [0.02, 0.08, 16],
  http: [0.2, 0.5, 33],
  operations: [0.25, 0.3, 42],
  start: [0, 0, 4],
} as const;

/** What is repeated. */
export interface Repeated {
  /** Comes first, within the time of the effort. */
  readonly warmUp: () => Promise<void>;
  /** What counts. */
  readonly round: () => Promise<void>;
}

/** Repeats a round as long as the effort says. */
export async function repeat(effort: Effort, { warmUp, round }: Repeated): Promise<void> {
  const end = performance.now() + effort.seconds * 1000;
  await warmUp();
  let took = 0;
  for (let done = 0; done < effort.most; done++) {
    const start = performance.now();
    if (done >= effort.least && start + took > end) return;
    await round();
    took = performance.now() - start;
  }
}
