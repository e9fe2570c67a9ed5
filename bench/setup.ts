/** What the benchmarks run on: the built package beside its peers in `bench/measured/`, and the runtimes. */
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The directory of what is measured: the peers are installed there. */
export const directory = fileURLToPath(new URL("measured/", import.meta.url));
const root = fileURLToPath(new URL("..", import.meta.url));

/** A runtime that is measured. */
export interface Runtime {
  /** Its name and version. */
  name: string;
  /** The program and what comes before the file to run. */
  command: string[];
}

/** The Node releases that are measured, beside the Deno that runs this. */
const NODES = ["20", "24"];

export const run = promisify(execFile);

/** Runs one of the measured programs, and gives what it prints as JSON. */
export async function runMeasured<T>({ command }: Runtime, file: string, parameter: string): Promise<T> {
  const [program, ...args] = [...command, file, parameter];
  const env = { ...process.env, NODE_ENV: "production" };
  const { stdout } = await run(program!, args, { cwd: directory, env, timeout: 60_000 });
  return JSON.parse(stdout);
}

/**
 * Installs the peers, and the package as npm would deliver it.
 *
 * @param built The directory of a package that is built already; without one it is built here.
 */
export async function install(built: string | undefined): Promise<void> {
  if (built === undefined) {
    await run(process.execPath, ["task", "build:npm"], { cwd: root, maxBuffer: 2 ** 26 });
  }
  const cwd = built === undefined ? join(root, "npm") : resolve(built);
  const packed = await run("npm", ["pack", "--json"], { cwd, maxBuffer: 2 ** 26 });
  const tarball = join(cwd, JSON.parse(packed.stdout)[0].filename);
  // Core would have another release of @simplewebauthn/server.
  const options = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--legacy-peer-deps"];
  await run("npm", ["install", ...options, tarball], { cwd: directory });
  await rm(tarball);
}

/** Finds the runtimes. One that cannot be had is an error: a table with a hole in it compares nothing. */
export async function findRuntimes(): Promise<Runtime[]> {
  const nodes = await Promise.all(NODES.map(async (major): Promise<Runtime> => {
    const print = "console.log(JSON.stringify([process.versions.node, process.execPath]))";
    const args = ["--yes", `--package=node@${major}`, "node", "-e", print];
    const { stdout: found } = await run("npx", args, { cwd: tmpdir() });
    const [version, command] = JSON.parse(found);
    return { name: `Node ${version}`, command: [command] };
  }));
  const flags = ["run", "--allow-all", "--no-config", "--node-modules-dir=manual"];
  const deno = {
    name: `Deno ${process.versions.deno}`,
    command: [process.execPath, ...flags],
  };
  return [...nodes, deno];
}

/** The versions of the packages that were measured, as installed. */
export async function installedVersions(): Promise<Record<string, string>> {
  const manifest = async (path: string) => JSON.parse(await readFile(join(directory, path, "package.json"), "utf8"));
  const names = Object.keys((await manifest("")).dependencies).filter((name) => name !== "react");
  const versions = await Promise.all(
    names.map(async (name) => (await manifest(`node_modules/${name}`)).version),
  );
  return Object.fromEntries(names.map((name, index) => [name, versions[index]]));
}
