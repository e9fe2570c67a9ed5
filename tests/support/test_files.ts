/** Finds test files by the names that the documentation uses. */
import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";

const tests = new URL("../", import.meta.url);

const paths = (await readdir(tests, { recursive: true })).filter((path) => path.endsWith(".ts"));

/** Reads the file of this name, which may have folders before it; fails if none or several have it. */
export async function readTestFile(name: string): Promise<string> {
  const found = paths.filter((path) => path === name || basename(path) === name);
  if (found.length !== 1) throw new Error(`${name}: ${found.join(", ") || "no such file"} in tests/`);
  return await readFile(new URL(found[0]!, tests), "utf8");
}
