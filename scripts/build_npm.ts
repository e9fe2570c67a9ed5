/**
 * Builds the npm package: the directory `npm/`, and from it the tarball that is tested and published, in `dist/` beside
 * its checksum. `npm/modules/`, which is not in the tarball, is the package before its modules were joined
 * (`npm_join.ts`).
 *
 * dnt builds it if JSR answers, else `deno pack`: what either makes passes the tests of the package.
 * `--with=dnt` or `--with=pack` chooses one; with `--test`, dnt also runs the tests on Node.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { jsrAnswers } from "./deno.ts";
import { joinModules } from "./npm_join.ts";
import { removeUnreached } from "./npm_reach.ts";
import { type DenoConfig, type PackageJson, packageJson } from "./package_json.ts";

/** What a builder is told. */
export interface NpmBuild {
  /** The checkout. */
  root: string;
  /** The package's directory, empty at the start. */
  outDir: string;
  config: DenoConfig;
  package: PackageJson;
  /** Whether to run the tests as well. */
  test: boolean;
}

/** What builds the package. */
type Builder = "dnt" | "pack";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Where in the directory of the package its modules are as the builder made them. */
export const MODULES = "modules";

/**
 * Builds the package into a directory, with a file for each module of the sources. What was there is removed. Tests of
 * internal modules need no more.
 */
export async function buildModules(builder: Builder, outDir: string, test = false): Promise<PackageJson> {
  // The name is computed to keep dnt, which only JSR has, out of this module's graph
  const { build } = await import(`./npm_${builder}.ts`);
  const config: DenoConfig = JSON.parse(await readFile(join(root, "deno.json"), "utf8"));
  const fields = packageJson(config);
  await rm(outDir, { recursive: true, force: true });
  await build({ root, outDir, config, package: fields, test } satisfies NpmBuild);
  await removeUnreached(outDir, fields);
  for (const command of Object.values(fields.bin)) await makeCommand(join(outDir, command));
  await writePapers(outDir, fields);
  return fields;
}

/** Builds the package into a directory, as `npm publish` takes it. What was there is removed. */
export async function buildNpm(builder: Builder, outDir: string, test = false): Promise<PackageJson> {
  await rm(outDir, { recursive: true, force: true });
  const modules = join(outDir, MODULES);
  const fields = await buildModules(builder, modules, test);
  await cp(join(modules, "esm"), join(outDir, "esm"), { recursive: true });
  await joinModules(outDir, fields);
  for (const command of Object.values(fields.bin)) await chmod(join(outDir, command), 0o755);
  await writePapers(outDir, fields);
  return fields;
}

async function writePapers(outDir: string, fields: PackageJson): Promise<void> {
  await writeFile(join(outDir, "package.json"), JSON.stringify(fields, null, 2) + "\n");
  for (const file of ["README.md", "LICENSE", "CHANGELOG.md"]) await cp(join(root, file), join(outDir, file));
}

/** npm links the commands of a package as they are: their first line says what runs them. */
async function makeCommand(path: string): Promise<void> {
  await writeFile(path, `#!/usr/bin/env node\n${await readFile(path, "utf8")}`, { mode: 0o755 });
}

/** Packs the directory into `dist/`, with its checksum, and gives the tarball's path. */
async function pack(directory: string): Promise<string> {
  const dist = join(root, "dist");
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist);
  const options = { cwd: directory, shell: process.platform === "win32" }; // npm is a script on Windows
  const args = ["pack", "--json", `--pack-destination=${dist}`];
  const { stdout } = await promisify(execFile)("npm", args, options);
  const tarball = join(dist, basename(JSON.parse(stdout)[0].filename));
  const checksum = createHash("sha256").update(await readFile(tarball)).digest("hex");
  await writeFile(join(dist, "SHA256SUMS"), `${checksum}  ${basename(tarball)}\n`);
  return tarball;
}

async function chooseBuilder(asked: string | undefined): Promise<Builder> {
  if (asked === "dnt" || asked === "pack") return asked;
  if (asked) throw new Error(`--with takes "dnt" or "pack", not "${asked}"`);
  if (await jsrAnswers()) return "dnt";
  console.warn("JSR does not answer: building with `deno pack` instead of dnt");
  return "pack";
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { with: { type: "string" }, test: { type: "boolean" } } });
  const builder = await chooseBuilder(values.with);
  if (values.test && builder === "pack") {
    throw new Error("--test needs dnt: `deno task test:npm` tests any build");
  }
  const outDir = join(root, "npm");
  const { name, version } = await buildNpm(builder, outDir, values.test);
  console.log(`npm/ holds ${name}@${version}, built with ${builder === "dnt" ? "dnt" : "deno pack"}`);
  console.log(`${await pack(outDir)}, sha256 in SHA256SUMS beside it`);
}

if (import.meta.main) await main();
