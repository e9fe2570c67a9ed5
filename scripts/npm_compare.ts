/**
 * Compares two builds of the npm package, file by file: the two builders, dnt and `deno pack`, must agree on what they
 * make of the sources, apart from internal declarations.
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

/**
 * Compares two directories, each the package as it would be published.
 *
 * @param one A build.
 * @param other Another build of the same sources.
 */
export async function compareBuilds(one: string, other: string): Promise<Comparison> {
  const result: Comparison = { same: [], accounted: [], faults: [] };
  await compareFileNames(one, other, result);
  await comparePackageJson(one, other, result);
  await compareCode(one, other, result);
  await compareTypes(one, other, result);
  return result;
}

/**
 * A declaration file that only one build has is no fault, nor is the code of its module where that is none:
 * {@link compareTypes} compares the declarations that can be reached.
 */
async function compareFileNames(one: string, other: string, result: Comparison): Promise<void> {
  const [files, otherFiles] = [await listFiles(one), await listFiles(other)];
  result.same.push(`${files.filter((file) => otherFiles.includes(file)).length} files in both`);
  for (
    const [builder, directory, own, others] of [
      ["the first", one, files, otherFiles],
      ["the second", other, otherFiles, files],
    ] as const
  ) {
    for (const file of own.filter((file) => !others.includes(file))) {
      if (file.endsWith(".d.ts")) {
        result.accounted.push(`${file} is in ${builder} alone: declarations that no entry point shows`);
      } else if (file.endsWith(".js") && await minified(join(directory, file)) === "") {
        result.accounted.push(`${file} is in ${builder} alone: a module of types, without code`);
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

async function compareCode(one: string, other: string, result: Comparison): Promise<void> {
  const otherFiles = await listFiles(other);
  const files = (await listFiles(one)).filter((file) => file.endsWith(".js") && otherFiles.includes(file));
  let same = 0;
  for (const file of files) {
    if (await minified(join(one, file)) === await minified(join(other, file))) same++;
    else result.faults.push(`${file} differs after minifying`);
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
    if (withoutPrivate(types.get(name)) === withoutPrivate(otherTypes.get(name))) {
      result.accounted.push(`the declaration of ${name} says in one alone that it has private members`);
      continue;
    }
    result.faults.push(
      `the declaration of ${name} differs:\n  ${types.get(name)}\n  ${otherTypes.get(name)}`,
    );
  }
  result.same.push(`${names.size} declarations that the entry points show`);
}

/** `deno pack` leaves out `#private`, which TypeScript writes for a class that has any `#member`. */
function withoutPrivate(declaration: string | undefined): string | undefined {
  return declaration?.replace(/#private; /g, "");
}

async function listFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1).replaceAll("\\", "/"))
    .sort();
}
