/** Runs the project's own test files against the installed package. */
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { buildModules } from "../../scripts/build_npm.ts";
import { readTestFiles, type TestFile } from "../../scripts/portable_tests.ts";
import { install } from "./consumer.ts";
import type { Result } from "./matrix.ts";
import { run } from "./process.ts";

const tests = fileURLToPath(new URL("../", import.meta.url));
const denoConfig = fileURLToPath(new URL("../../scripts/packages/deno.json", import.meta.url));
const denoLock = fileURLToPath(new URL("../../scripts/packages/deno.lock", import.meta.url));

/** How long one test file may take: the slowest takes some two minutes beside another. */
const FILE_MILLISECONDS = 15 * 60_000;

/** What takes longest: a browser, databases, several processes, thousands of generated requests. */
const WEEKLY = new RegExp(
  "_browser_test|/database_|/(?:differential|faults|killed_sign_in|memory|model|provider_failures|refresh_once|" +
    "request_cost|session_differential|sign_in_order|single_use|token_cache)_test",
);

/** The test files that were made ready in a project. */
export interface OwnTests {
  directory: string;
  files: string[];
}

/** Below the tests: the package with a file for each module, and the tests that import internal ones. */
const MODULES = "modules";

/**
 * Copies the tests that are not tied to Deno into a consumer project, as JavaScript, and installs what they import. They
 * run against the installed package. Those that import internal modules, which it has joined, have a directory of their
 * own with a build of the same sources that has them: one process must not have both, since each has its own state.
 * @param names Runs only the tests of these names.
 * @param short Leaves to `deno task weekly` what takes longest, and runs on Deno with each commit.
 */
export async function prepareOwnTests(
  project: string,
  short: boolean,
  names: string[] | undefined,
): Promise<OwnTests> {
  const all = await readTestFiles(tests);
  for (const { name, tie } of all) if (tie) console.log(`     on Deno only: ${name}, for its ${tie}`);
  const weekly = short ? all.filter(({ name, tie }) => !tie && WEEKLY.test(name)) : [];
  for (const { name } of weekly) console.log(`     weekly: ${name}`);
  const isAsked = ({ name }: TestFile) => names?.includes(basename(name, "_test.ts")) ?? true;
  const portable = all.filter((each) => !each.tie && !weekly.includes(each) && isAsked(each));
  if (portable.length === 0) throw new Error(`No test that runs on Node is called ${names?.join(" or ")}`);
  if (names !== undefined) console.log(`     only: ${portable.map(({ name }) => name).join(", ")}`);
  const directory = join(project, "own");
  await compile(join(directory, "tests"), join(project, "node_modules/fastify-authjs/esm"));
  const modules = join(directory, MODULES, "node_modules/fastify-authjs");
  await buildModules("pack", modules);
  await compile(join(directory, MODULES, "tests"), join(modules, "esm"));
  // npm refuses a nodemailer that core does not name only beside a core of the project's own, which the tests import.
  await install(project, await packagesOf(portable), ["--legacy-peer-deps"]);
  const files = portable.map(({ name, internal }) =>
    join(internal ? MODULES : "", "tests", name.replace(/\.ts$/, ".js"))
  );
  return { directory, files };
}

/** Runs the tests on one Node. */
export async function runOwnTests(node: string, { directory, files }: OwnTests): Promise<Result> {
  const flags = [
    "--no-warnings",
    "--import=./deno_test.mjs",
    "--test",
    "--test-reporter=tap",
    // Most tests wait for servers
    `--test-concurrency=${availableParallelism() + 1}`,
    // A failed test may leave a server listening, which would keep its process alive
    "--test-force-exit",
    `--test-timeout=${FILE_MILLISECONDS}`,
  ];
  return toResult(await run(node, [...flags, ...files], { cwd: directory }).catch(String));
}

/** Writes every test and support file as the oldest Node takes it, importing the installed package. */
async function compile(outDir: string, installed: string): Promise<void> {
  const files = (await readdir(tests, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(tests, join(entry.parentPath, entry.name)))
    .filter((file) => !/^(?:consumer|migration)\b/.test(file));
  for (const file of files) {
    const target = join(outDir, file.replace(/\.ts$/, ".js"));
    await mkdir(dirname(target), { recursive: true });
    if (!file.endsWith(".ts")) {
      await cp(join(tests, file), target);
    } else {
      const source = await readFile(join(tests, file), "utf8");
      await writeFile(target, toJavaScript(source, target, outDir, installed));
    }
  }
}

function toJavaScript(source: string, target: string, outDir: string, installed: string): string {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const { outputText } = ts.transpileModule(source, { compilerOptions });
  const pathTo = (file: string) => {
    const path = relative(dirname(target), file).replaceAll("\\", "/");
    return path.startsWith(".") ? path : `./${path}`;
  };
  return outputText
    // In a string of its own: an import, or a program that a test starts
    .replace(/"(\.{1,2}\/[^"\n]+)\.ts"/g, (_, path: string) => {
      const file = join(dirname(target), `${path}.js`);
      const outside = relative(outDir, file).replace(/^\.\.[\\/]/, "");
      return JSON.stringify(pathTo(file.startsWith(outDir) ? file : join(installed, outside)));
    })
    .replace(
      /"@std\/([^"\n]+)"/g,
      (_, name: string) => JSON.stringify(pathTo(join(outDir, `support/std/${name}.js`))),
    )
    .replace(/"npm:\/?((?:@[^/"\n]+\/)?[^/@"\n]+)@[^/"\n]+/g, '"$1');
}

/** The npm packages that the tests import, at the versions in the lock file. */
async function packagesOf(files: TestFile[]): Promise<string[]> {
  const { imports }: { imports: Record<string, string> } = JSON.parse(await readFile(denoConfig, "utf8"));
  const { specifiers }: { specifiers: Record<string, string> } = JSON.parse(await readFile(denoLock, "utf8"));
  const locked = new Map(
    Object.entries(specifiers).map(([specifier, version]) => [
      specifier.replace(/^npm:/, "").replace(/@[^@/]*$/, ""),
      version.split("_")[0],
    ]),
  );
  const names = new Set(files.flatMap(({ imports }) => imports).map(packageName));
  return Object.entries(imports)
    .filter(([name, target]) => names.has(name) && target.startsWith("npm:"))
    .map(([name, target]) => locked.has(name) ? `${name}@${locked.get(name)}` : target.slice("npm:".length));
}

/** `@scope/name/path` and `name/path` without the path. */
function packageName(specifier: string): string {
  return specifier.match(/^(?:@[^/]+\/)?[^/]+/)?.[0] ?? specifier;
}

/** Reads the counts and the failures, each with its error, from a TAP report. */
function toResult(output: string): Result {
  const count = (name: string) => Number(output.match(new RegExp(`^# ${name} (\\d+)$`, "m"))?.[1] ?? Number.NaN);
  if (Number.isNaN(count("pass"))) throw new Error(output);
  if (count("skipped") > 0) console.log(`     ${count("skipped")} tests say that they were not run`);
  const failed = [...output.matchAll(/^ *not ok \d+ - [^]*?^ *\.\.\.$/gm)].map(([report]) => report);
  return { passed: count("pass"), failed };
}
