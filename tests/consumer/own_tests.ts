/** Runs the project's own test files against the installed package. */
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readTestFiles, type TestFile } from "../../scripts/portable_tests.ts";
import { install } from "./consumer.ts";
import type { Result } from "./matrix.ts";
import { run } from "./process.ts";

const tests = fileURLToPath(new URL("../", import.meta.url));
const denoConfig = fileURLToPath(new URL("../../deno.json", import.meta.url));

/** How long one test file may take. */
const FILE_MILLISECONDS = 5 * 60_000;

/** Copies the tests into a consumer project, installs what they import, and runs those that are not tied to Deno. */
export async function runOwnTests(node: string, project: string): Promise<Result> {
  const all = await readTestFiles(tests);
  for (const { name, tie } of all) if (tie) console.log(`     on Deno only: ${name}, for its ${tie}`);
  const portable = all.filter(({ tie }) => !tie);

  const skipped = join(tests, "consumer");
  await cp(tests, join(project, "own/tests"), { recursive: true, filter: (source) => source !== skipped });
  await install(project, await packagesOf(portable));
  const flags = [
    "--no-warnings",
    // Stripping types alone leaves out what TypeScript adds to the language, such as parameter properties
    "--experimental-transform-types",
    "--import=./register.mjs",
    "--test",
    "--test-reporter=tap",
    // A failed test may leave a server listening, which would keep its process alive
    "--test-force-exit",
    `--test-timeout=${FILE_MILLISECONDS}`,
  ];
  const files = portable.map(({ name }) => join("tests", name));
  return toResult(await run(node, [...flags, ...files], { cwd: join(project, "own") }).catch(String));
}

/** The npm packages that the tests import, at the ranges that deno.json gives them. */
async function packagesOf(files: TestFile[]): Promise<string[]> {
  const { imports }: { imports: Record<string, string> } = JSON.parse(await readFile(denoConfig, "utf8"));
  const names = new Set(files.flatMap(({ imports }) => imports).map(packageName));
  return Object.entries(imports)
    .filter(([name, target]) => names.has(name) && target.startsWith("npm:"))
    .map(([, target]) => target.slice("npm:".length));
}

/** `@scope/name/path` and `name/path` without the path. */
function packageName(specifier: string): string {
  return specifier.match(/^(?:@[^/]+\/)?[^/]+/)?.[0] ?? specifier;
}

/** Reads the counts and the failures, each with its error, from a TAP report. */
function toResult(output: string): Result {
  const count = (name: string) =>
    Number(output.match(new RegExp(`^# ${name} (\\d+)$`, "m"))?.[1] ?? Number.NaN);
  if (Number.isNaN(count("pass"))) throw new Error(output);
  if (count("skipped") > 0) console.log(`     ${count("skipped")} tests say that they were not run`);
  const failed = [...output.matchAll(/^ *not ok \d+ - [^]*?^ *\.\.\.$/gm)].map(([report]) => report);
  return { passed: count("pass"), failed };
}
