/**
 * Compares two builds of the npm package, file by file: the two builders, dnt and `deno pack`, must agree on what they
 * make of the sources, apart from what is {@link ACCOUNTED} for.
 *
 * @module
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { minify } from "terser";
import { publicTypes } from "./npm_types.ts";

/** What a comparison found. */
export interface Comparison {
  /** What is the same, a line each. */
  same: string[];
  /** What differs for a reason that is known, a line each. */
  accounted: string[];
  /** What differs and must not. */
  faults: string[];
}

/** Code that the builders write differently and that does the same. An entry that no longer differs is a fault. */
const ACCOUNTED: Record<string, string> = {
  "esm/src/oauth/discovery_cache.js":
    "deno pack sets a field in the constructor that has parameter properties",
};

/**
 * Compares two directories, each the package as it would be published.
 *
 * @param one A build.
 * @param other Another build of the same sources.
 * @param accounted The differences in code that are known, by file.
 */
export async function compareBuilds(
  one: string,
  other: string,
  accounted: Record<string, string> = ACCOUNTED,
): Promise<Comparison> {
  const result: Comparison = { same: [], accounted: [], faults: [] };
  await compareFileNames(one, other, result);
  await comparePackageJson(one, other, result);
  await compareCode(one, other, accounted, result);
  await compareTypes(one, other, result);
  return result;
}

/** A declaration file that only one build has is no fault: {@link compareTypes} compares what of them can be reached. */
async function compareFileNames(one: string, other: string, result: Comparison): Promise<void> {
  const [files, otherFiles] = [await listFiles(one), await listFiles(other)];
  const onlyOne = files.filter((file) => !otherFiles.includes(file));
  const onlyOther = otherFiles.filter((file) => !files.includes(file));
  result.same.push(`${files.length - onlyOne.length} files in both`);
  for (const [builder, extra] of [["the first", onlyOne], ["the second", onlyOther]] as const) {
    for (const file of extra) {
      if (file.endsWith(".d.ts")) {
        result.accounted.push(`${file} is in ${builder} alone: declarations that no entry point shows`);
      } else result.faults.push(`${file} is in ${builder} alone`);
    }
  }
}

async function comparePackageJson(one: string, other: string, result: Comparison): Promise<void> {
  const read = async (directory: string) =>
    JSON.parse(await readFile(join(directory, "package.json"), "utf8"));
  const [fields, otherFields] = [await read(one), await read(other)];
  for (const field of new Set([...Object.keys(fields), ...Object.keys(otherFields)])) {
    if (isDeepStrictEqual(fields[field], otherFields[field])) continue;
    result.faults.push(`package.json differs in "${field}"`);
  }
  result.same.push(`package.json: ${Object.keys(fields.exports).length} exports`);
}

async function compareCode(
  one: string,
  other: string,
  accounted: Record<string, string>,
  result: Comparison,
): Promise<void> {
  const otherFiles = await listFiles(other);
  const files = (await listFiles(one)).filter((file) => file.endsWith(".js") && otherFiles.includes(file));
  let same = 0;
  for (const file of files) {
    const differs = await minified(join(one, file)) !== await minified(join(other, file));
    const reason = accounted[file];
    if (!differs) same++;
    if (differs && reason) result.accounted.push(`${file} differs: ${reason}`);
    else if (differs) result.faults.push(`${file} differs after minifying`);
    else if (reason) result.faults.push(`${file} no longer differs: take it off the list`);
  }
  result.same.push(`${same} of ${files.length} files of code, after minifying`);
}

async function minified(file: string): Promise<string> {
  const { code = "" } = await minify(await readFile(file, "utf8"), { module: true });
  return code === "export{};" ? "" : code; // a module of types alone
}

async function compareTypes(one: string, other: string, result: Comparison): Promise<void> {
  const [types, otherTypes] = [await publicTypes(one), await publicTypes(other)];
  const names = new Set([...types.keys(), ...otherTypes.keys()]);
  for (const name of names) {
    if (types.get(name) === otherTypes.get(name)) continue;
    result.faults.push(
      `the declaration of ${name} differs:\n  ${types.get(name)}\n  ${otherTypes.get(name)}`,
    );
  }
  result.same.push(`${names.size} declarations that the entry points show`);
}

async function listFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1).replaceAll("\\", "/"))
    .sort();
}
