/** Tells which test files can run against the built package on Node. */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";

/** A test file, with the support files that it imports. */
export interface TestFile {
  /** Its path below the directory of the tests. */
  name: string;
  /** Every bare specifier that it or its support files import. */
  imports: string[];
  /** What ties it to Deno or to this checkout, such as `Deno.readTextFile`. */
  tie: string | undefined;
  /** Whether it reads files from beside itself. */
  readsFiles: boolean;
  /** Whether it needs internal modules, which the published package has joined. */
  internal: boolean;
}

/**
 * Any `Deno` API but `Deno.test`, the repository's own scripts, examples, documentation and deno.json, the projects of the migrations,
 * and the drivers of adapters, which not every release of Node runs.
 */
const TIES = [
  /\bDeno\.(?!test\b)\w*/,
  /(?:\.\.\/)+(?:scripts|examples|bench|docs)\/[^"]*/,
  /(?:\.\.\/)+deno\.json/,
  /\/migration\//,
  /\bbetter-sqlite3\b/,
];

const IMPORT = /(?:from|import\(|^import)\s*"([^"]+)"/gm;

/** A program that a test starts as a process of its own. */
const PROGRAM = /new URL\(\s*"(\.[^"]+\.ts)"/gm;

/** Reads every test file of a directory and of those below it. */
export async function readTestFiles(directory: string): Promise<TestFile[]> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith("_test.ts"));
  return await Promise.all(names.sort().map((name) => readTestFile(directory, name)));
}

async function readTestFile(directory: string, name: string): Promise<TestFile> {
  const sources = new Map<string, string>();
  await collect(directory, name, sources);
  const text = [...sources.values()].join("\n");
  return {
    name,
    imports: [...new Set(importsOf(text).filter((specifier) => !specifier.startsWith(".")))],
    tie: TIES.map((tie) => text.match(tie)?.[0]).find(Boolean),
    readsFiles: text.includes("import.meta"),
    internal: /"(?:\.\.\/)+src\//.test(text),
  };
}

/** Reads a file and all others of the tests that it imports or starts. */
async function collect(directory: string, path: string, sources: Map<string, string>): Promise<void> {
  if (sources.has(path) || path.startsWith("..")) return;
  const source = await readFile(join(directory, path), "utf8");
  sources.set(path, source);
  const programs = [...source.matchAll(PROGRAM)].map(([, path = ""]) => path);
  for (const specifier of [...importsOf(source), ...programs].filter((path) => /^\..*\.ts$/.test(path))) {
    await collect(directory, normalize(join(dirname(path), specifier)), sources);
  }
}

function importsOf(source: string): string[] {
  return [...source.matchAll(IMPORT)].map(([, specifier = ""]) => specifier);
}
