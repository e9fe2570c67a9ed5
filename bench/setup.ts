/**
 * What the benchmarks run on: the built package beside its peers in `bench/measured/`, and the runtimes.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

async function run(command: string, args: string[], cwd: string): Promise<string> {
  return (await promisify(execFile)(command, args, { cwd, maxBuffer: 2 ** 26 })).stdout;
}

/** Has one of the measured programs run, and gives what it prints as JSON. */
export async function runMeasured<T>(
  { command }: Runtime,
  file: string,
  ...parameters: (string | number)[]
): Promise<T> {
  const [program, ...args] = [...command, file, ...parameters.map(String)];
  const env = { ...process.env, NODE_ENV: "production" };
  const options = { cwd: directory, env, maxBuffer: 2 ** 26, timeout: 30 * 60_000 };
  const { stdout } = await promisify(execFile)(program!, args, options);
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

/**
 * Installs the peers, and the package as npm would deliver it.
 *
 * @param built The directory of a package that is built already; without one it is built here.
 */
export async function install(built: string | undefined): Promise<void> {
  if (built === undefined) {
    await run(process.execPath, ["task", "build:npm"], root);
  }
  const work = await mkdtemp(join(tmpdir(), "fastify-authjs-bench-"));
  try {
    const packed = await run(
      "npm",
      ["pack", "--json", `--pack-destination=${work}`],
      built ?? join(root, "npm"),
    );
    const tarball = join(work, JSON.parse(packed)[0].filename);
    const options = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund"];
    await run("npm", ["install", ...options, tarball], directory);
  } finally {
    await rm(work, { recursive: true });
  }
}

/** Finds the runtimes. One that cannot be had is an error: a table with a hole in it compares nothing. */
export async function findRuntimes(): Promise<Runtime[]> {
  const nodes = await Promise.all(NODES.map(async (major): Promise<Runtime> => {
    const print = "console.log(JSON.stringify([process.versions.node, process.execPath]))";
    const found = await run("npx", ["--yes", `--package=node@${major}`, "node", "-e", print], tmpdir());
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
  const manifest = async (path: string) =>
    JSON.parse(await readFile(join(directory, path, "package.json"), "utf8"));
  const names = Object.keys((await manifest("")).dependencies).filter((name) => name !== "react");
  const versions = await Promise.all(
    names.map(async (name) => (await manifest(`node_modules/${name}`)).version),
  );
  return Object.fromEntries(names.map((name, index) => [name, versions[index]]));
}
