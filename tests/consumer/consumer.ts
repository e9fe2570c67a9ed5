/** Makes a fresh project that installs the packed package, as any user's does. */
import { createHash } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { denoFlags } from "../support/deno_flags.ts";
import { run } from "./process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const fixtures = fileURLToPath(new URL("fixtures", import.meta.url));

/** Builds the package as the release does, told by arguments of `build:npm`, and gives the path of its tarball. */
export async function buildTarball(args: string[]): Promise<string> {
  console.log(
    await run(process.execPath, ["run", "-A", ...denoFlags(), "scripts/build_npm.ts", ...args], {
      cwd: root,
    }),
  );
  return await findTarball(join(root, "dist"));
}

/** The tarball of a directory that holds it and its checksum, which must be right. */
export async function findTarball(path: string): Promise<string> {
  const directory = resolve(path);
  const [checksum, name] = (await readFile(join(directory, "SHA256SUMS"), "utf8")).trim().split(/\s+/);
  if (!name) throw new Error(`${directory}/SHA256SUMS names no file`);
  const tarball = join(directory, name);
  const actual = createHash("sha256").update(await readFile(tarball)).digest("hex");
  if (actual !== checksum) throw new Error(`${tarball} is not what SHA256SUMS says: its sha256 is ${actual}`);
  return tarball;
}

/** Makes an empty directory of this run's own. */
export async function makeWorkDirectory(): Promise<string> {
  return await mkdtemp(join(tmpdir(), "fastify-authjs-consumer-"));
}

/** Makes a project with the fixtures in it. */
export async function makeProject(directory: string): Promise<string> {
  await cp(fixtures, directory, { recursive: true });
  await writeFile(
    join(directory, "package.json"),
    JSON.stringify({ name: "consumer", private: true, type: "module" }),
  );
  return directory;
}

/** Installs packages into a project, with further options of npm. */
export async function install(project: string, packages: string[], options: string[] = []): Promise<void> {
  const quiet = ["--no-audit", "--no-fund", "--no-progress"];
  await run("npm", ["install", ...quiet, "--save-exact", ...options, ...packages], { cwd: project });
}

/** The package.json of an installed package, as far as the checks read it. */
export interface Manifest {
  name: string;
  version: string;
  exports: Record<string, string | Record<string, string>>;
  bin: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, unknown>;
}

/** Reads the package.json of an installed package. */
export async function readManifest(project: string, name: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(project, "node_modules", name, "package.json"), "utf8"));
}

/** The packages installed in a project, and their size. */
export interface Footprint {
  packages: number;
  bytes: number;
}

/** Measures what is installed in a project. */
export async function measure(project: string): Promise<Footprint> {
  const lock = JSON.parse(await readFile(join(project, "node_modules/.package-lock.json"), "utf8"));
  const names = Object.keys(lock.packages);
  const sizes = await Promise.all(names.map((name) => directorySize(join(project, name))));
  return { packages: names.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** Sums up the files of one package; those nested in its node_modules are counted by themselves. */
async function directorySize(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) bytes += entry.name === "node_modules" ? 0 : await directorySize(path);
    else if (entry.isFile()) bytes += (await stat(path)).size;
  }
  return bytes;
}
