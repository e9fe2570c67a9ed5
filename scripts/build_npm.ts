/**
 * Builds the npm package into `npm/`, ready for `npm publish ./npm`.
 *
 * dnt builds it, and runs the tests on Node, wherever JSR answers. Elsewhere `deno pack` builds the same layout:
 * `esm/**` with declarations beside the code, under the same package.json. `--with=dnt` or `--with=pack` chooses one.
 */
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { jsrAnswers } from "./deno.ts";
import { type DenoConfig, type PackageJson, packageJson } from "./package_json.ts";

/** What a builder is told. */
export interface NpmBuild {
  /** The checkout. */
  root: string;
  /** The package's directory, empty at the start. */
  outDir: string;
  config: DenoConfig;
  package: PackageJson;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const outDir = join(root, "npm");

async function main(): Promise<void> {
  const builder = await chooseBuilder(process.argv.slice(2));
  const config: DenoConfig = JSON.parse(await readFile(join(root, "deno.json"), "utf8"));
  const build: NpmBuild = { root, outDir, config, package: packageJson(config) };

  await rm(outDir, { recursive: true, force: true });
  await builder(build);
  await writeFile(join(outDir, "package.json"), JSON.stringify(build.package, null, 2) + "\n");
  for (const file of ["README.md", "LICENSE", "CHANGELOG.md"]) await cp(join(root, file), join(outDir, file));
  console.log(`npm/ holds ${build.package.name}@${build.package.version}`);
}

async function chooseBuilder(args: string[]): Promise<(build: NpmBuild) => Promise<void>> {
  const asked = args.find((arg) => arg.startsWith("--with="))?.slice("--with=".length);
  const name = asked ?? (await jsrAnswers() ? "dnt" : "pack");
  if (name !== "dnt" && name !== "pack") throw new Error(`--with takes "dnt" or "pack", not "${name}"`);
  if (!asked && name === "pack") {
    console.warn("JSR does not answer: building with `deno pack` instead of dnt");
  }
  // The name is computed to keep dnt, which only JSR has, out of this module's graph
  return (await import(`./npm_${name}.ts`)).build;
}

if (import.meta.main) await main();
