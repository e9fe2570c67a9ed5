/**
 * Builds the modules of the npm package with TypeScript's compiler, file by file: what dnt would make of the sources, to
 * compare with where there is no dnt. It is never published.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import ts from "typescript";
import type { NpmBuild } from "./build_npm.ts";

const OPTIONS: ts.CompilerOptions = {
  // That of `npm_dnt.ts`
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  // For declarations of one file at a time
  declaration: true,
  isolatedDeclarations: true,
};

/** Fills `outDir` with `esm/**`. */
export async function build({ root, outDir }: NpmBuild): Promise<void> {
  for (const file of await sources(root)) {
    const target = join(outDir, "esm", file.slice(0, -".ts".length));
    const text = withBuiltNames(await readFile(join(root, file), "utf8"));
    const options = { fileName: file, compilerOptions: OPTIONS };
    await mkdir(dirname(target), { recursive: true });
    await writeFile(`${target}.js`, ts.transpileModule(text, options).outputText);
    await writeFile(`${target}.d.ts`, ts.transpileDeclaration(text, options).outputText);
  }
}

async function sources(root: string): Promise<string[]> {
  const files = ["mod.ts"];
  for (const directory of ["src", "providers"]) {
    const names = await readdir(join(root, directory), { recursive: true });
    files.push(...names.filter((name) => name.endsWith(".ts")).map((name) => join(directory, name)));
  }
  return files;
}

/** A source that imports modules by the names of the files that are made of them. */
function withBuiltNames(source: string): string {
  const imports = ts.preProcessFile(source).importedFiles.filter(({ fileName }) => fileName.startsWith("."));
  return imports.reverse().reduce((text, { fileName, pos }) => {
    const start = pos + 1; // `pos` is that of the quote
    return text.slice(0, start) + fileName.replace(/\.ts$/, ".js") + text.slice(start + fileName.length);
  }, source);
}
