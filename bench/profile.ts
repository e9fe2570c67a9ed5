/**
 * Where the time of a read goes: a CPU profile of nothing but reads, by `profile.js`.
 *
 * @module
 */
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { directory, type Runtime } from "./setup.ts";

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

/** Profiles both ways of reading on one runtime. */
export async function profileReads(runtime: Runtime, milliseconds: number): Promise<Profile> {
  const shares = async (name: string): Promise<Shares> => {
    const [program, ...args] = [...runtime.command, "profile.js", name, `${milliseconds}`];
    const env = { ...process.env, NODE_ENV: "production" };
    const { stdout } = await promisify(execFile)(program!, args, { cwd: directory, env, maxBuffer: 2 ** 26 });
    return JSON.parse(stdout).slice(0, TOP);
  };
  return { runtime: runtime.name, first: await shares("first"), again: await shares("again") };
}
