/**
 * The measurements without HTTP: one session read, in the ways that `reads.js` knows.
 *
 * @module
 */
import type { Effort } from "./effort.ts";
import { runMeasured, type Runtime } from "./setup.ts";
import { median } from "./statistics.ts";

/** Microseconds a read, by the names of the cases in `reads.js`. */
export type Reads = Record<
  | "hand"
  | "first"
  | "again"
  | "observed"
  | "recorded"
  | "callbacks"
  | "portCallbacks"
  | "signedOut"
  | "providers"
  | "chunks"
  | "chunksAgain"
  | "handChunks"
  | "parallel"
  | "parallelAgain"
  | "port"
  | "portOne"
  | "portProviders"
  | "portChunks",
  number
>;

/** What is compared with what. "Again" is a token seen a moment ago, "first" one not seen before. */
const RATIOS = {
  portOverAgain: ["port", "parallelAgain"],
  portOverFirst: ["port", "parallel"],
  portOverHand: ["port", "hand"],
  againOverHand: ["again", "hand"],
  firstOverHand: ["first", "hand"],
  observedGrowth: ["observed", "again"],
  providersGrowth: ["providers", "first"],
  chunksAgainGrowth: ["chunksAgain", "again"],
  chunksGrowth: ["chunks", "first"],
  handChunksGrowth: ["handChunks", "hand"],
} as const satisfies Record<string, [keyof Reads, keyof Reads]>;

/** How a read compares: medians of what each round found. */
export interface ReadResult {
  microseconds: Reads;
  ratios: Record<keyof typeof RATIOS, number>;
}

/** Measures on one runtime. */
export async function measureReads(
  runtime: Runtime,
  { seconds, load }: Effort,
): Promise<ReadResult> {
  const measured: Reads[] = await runMeasured(runtime, "reads.js", seconds, load * 1000);
  const medians = <T extends string>(names: T[], value: (round: Reads, name: T) => number) =>
    Object.fromEntries(
      names.map((name) => [name, median(measured.map((round) => value(round, name)))]),
    ) as Record<T, number>;
  return {
    microseconds: medians(Object.keys(measured[0]!) as (keyof Reads)[], (round, name) => round[name]),
    ratios: medians(Object.keys(RATIOS) as (keyof typeof RATIOS)[], (round, name) => {
      const [over, under] = RATIOS[name];
      return round[over] / round[under];
    }),
  };
}
