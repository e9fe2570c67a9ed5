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
  /** Seconds of load for each contestant before the rounds, to warm it up. */
  readonly warmUp: number;
}

/** How long a server is loaded: for so many seconds, for so many requests, or until each request was sent so often. */
export type Extent = { readonly seconds: number } | { readonly amount: number } | { readonly turns: number };

/**
 * Requests that a server gets before the rounds, at least: as many as a run has time for. V8 goes on compiling and
 * collecting for longer. Of the instructions of the callback at a provider, alone on Node 24, that takes 43 % for ours
 * and 34 % for the port after 1,500 requests, 21 % and 30 % after 3,000, and compiling still a tenth after 8,000.
 */
const WARM = 3000;

/**
 * Loads a contestant before the rounds: for the time of the effort, and until it has had as many requests as it
 * needs at least, or until each of many users was seen twice.
 *
 * @param load Gives the number of requests that were sent.
 */
export async function warmUp(
  effort: Effort,
  load: (extent: Extent) => Promise<number>,
  manyUsers = false,
): Promise<void> {
  if (manyUsers) return void await load({ turns: 2 });
  const sent = await load({ seconds: effort.warmUp });
  if (sent < WARM) await load({ amount: WARM - sent });
}

/** What each section gets of the time, in parts of all of it. */
const SHARES = { reads: 0.11, http: 0.42, operations: 0.38, start: 0.09 } as const;

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
  return { seconds: own, least: 2, most: 30, load, warmUp: 2 * load };
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
