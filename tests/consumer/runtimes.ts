/** Finds the runtimes that the package is checked on. */
import { tmpdir } from "node:os";
import process from "node:process";
import { BUN_FLOOR, DENO_FLOOR, NODE_FLOOR } from "../../scripts/package_json.ts";
import { run } from "./process.ts";

/** A runtime that is there to be used. */
export interface Runtime {
  /** Its name and version. */
  name: string;
  /** The path of its program. */
  command: string;
  /** What comes before the file to run. */
  args: string[];
}

/** The npm packages that hold a runtime's program: the oldest that package.json's `engines` allows, and later releases. */
const PACKAGES = [
  `node@${NODE_FLOOR}`,
  "node@22",
  "node@24",
  "node@26",
  `bun@${BUN_FLOOR}`,
  "bun@1",
  `deno@${DENO_FLOOR}`,
];

const DENO_ARGS = ["run", "--allow-all", "--no-config", "--node-modules-dir=manual"];

/**
 * Finds every runtime, this Deno too. One that cannot be had is reported, and is an error if `CI` is set.
 *
 * @param nodes These releases of Node alone, by their major version.
 */
export async function findRuntimes(nodes?: readonly string[]): Promise<Runtime[]> {
  const found: Runtime[] = [];
  const wanted = (name: string) => nodes?.some((major) => name.match(/^node@(\d+)/)?.[1] === major) ?? true;
  for (const name of PACKAGES.filter(wanted)) {
    try {
      found.push(await findRuntime(name));
    } catch (error) {
      if (process.env.CI) throw error;
      console.warn(`NOT RUN: ${name} cannot be had here. ${String(error).trim().split("\n").at(-1)}`);
    }
  }
  if (nodes) return found;
  return [...found, { name: `Deno ${process.versions.deno}`, command: process.execPath, args: DENO_ARGS }];
}

async function findRuntime(packageName: string): Promise<Runtime> {
  const [program = packageName] = packageName.split("@");
  const isDeno = program === "deno";
  const versions = `process.versions.${program}`;
  const print = `console.log(JSON.stringify([process.execPath, ${versions}]))`;
  const args = ["--yes", `--package=${packageName}`, program, ...isDeno ? ["eval"] : ["-e"], print];
  const [command, version] = JSON.parse(await run("npx", args, { cwd: tmpdir() }));
  const name = `${program[0]?.toUpperCase()}${program.slice(1)} ${version}`;
  return { name, command, args: isDeno ? DENO_ARGS : [] };
}
