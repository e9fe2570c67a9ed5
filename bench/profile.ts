/**
 * Where the time of a read goes: a CPU profile of nothing but reads, by `profile.js`.
 *
 * @module
 */
import { runMeasured, type Runtime } from "./setup.ts";

/** Functions and their share of the time, spent in themselves; the largest first. */
export type Shares = [name: string, share: number][];

/** The profiles of a token that has to be opened and of one seen a moment ago. */
export interface Profile {
  runtime: string;
  first: Shares;
  again: Shares;
}

/** How many entries are kept of each. */
const TOP = 15;

/** Profiles both kinds of session reads on one runtime. */
export async function profileReads(runtime: Runtime, milliseconds: number): Promise<Profile> {
  const shares = async (name: string): Promise<Shares> =>
    (await runMeasured<Shares>(runtime, "profile.js", name, milliseconds)).slice(0, TOP);
  return { runtime: runtime.name, first: await shares("first"), again: await shares("again") };
}
