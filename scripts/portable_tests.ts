/** Tells which test files can run against the built package on Node. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** What ties a test to Deno or to this checkout: any `Deno` API but `Deno.test`, and the repository's own scripts. */
const TIES = [/\bDeno\.(?!test\b)/, /from "\.\.\/(?:scripts|examples|bench)\//];

/** Why a test file cannot run on Node, or undefined when it can. */
export function tieToDeno(source: string): string | undefined {
  return TIES.map((tie) => source.match(tie)?.[0]).find(Boolean);
}

/** The names of the test files in a directory that run on Node as well as on Deno. */
export async function portableTests(directory: string): Promise<string[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith("_test.ts")).sort();
  const sources = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  return names.filter((_, index) => !tieToDeno(sources[index] ?? ""));
}
