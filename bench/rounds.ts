/** Rounds of measurements, and what they say together. */
import type { Generator, Load, Server } from "./servers.ts";

/** The median of the rounds, and the range that half of them are in. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** What each contestant did in a round. */
export type Round = Readonly<Record<string, Load>>;

/** A figure of a value that each round has. */
export function figureOf<T>(rounds: readonly T[], value: (round: T) => number): Figure {
  const sorted = rounds.map(value).toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? NaN;
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}

/** Repeats a round for so many seconds, and three times at least. */
export async function repeat<T>(seconds: number, round: () => Promise<T>): Promise<T[]> {
  const rounds: T[] = [];
  const end = performance.now() + seconds * 1000;
  while (rounds.length < 3 || performance.now() < end) rounds.push(await round());
  return rounds;
}

/** A contestant that is loaded. */
export interface Loaded {
  readonly name: string;
  readonly server: Server;
  readonly asked: Parameters<Generator["load"]>[1];
}

/** Seconds of load for one contestant in a round. */
const LOAD = 0.5;

/**
 * Loads contestants in turns. Half of the time warms them up: until V8 has compiled what it runs, a sign-in takes
 * several times as long.
 *
 * @param seconds For all of them together.
 */
export async function loadInTurns(
  generator: Generator,
  loaded: readonly Loaded[],
  seconds: number,
): Promise<Round[]> {
  for (const { server, asked } of loaded) {
    await generator.load(server, asked, { seconds: Math.max(1, seconds / loaded.length / 2) });
    // Each of many users is known before the rounds.
    if (asked.manyUsers) await generator.load(server, asked, { turns: 1 });
  }
  return await repeat(seconds / 2, async () => {
    const round: Record<string, Load> = {};
    for (const { name, server, asked } of loaded) {
      round[name] = await generator.load(server, asked, { seconds: LOAD });
    }
    return round;
  });
}
