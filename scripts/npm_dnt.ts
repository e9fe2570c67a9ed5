/** Builds the npm package with dnt and, if asked, runs the portable tests against it on Node. */
import { build as dnt } from "@deno/dnt";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { NpmBuild } from "./build_npm.ts";
import { readTestFiles } from "./portable_tests.ts";

/** Fills `outDir` with `esm/**`: what is published, and nothing else. */
export async function build({ root, outDir, config, package: fields, test }: NpmBuild): Promise<void> {
  await dnt({
    cwd: root,
    // With the packages of the tests, too; `deno.ts` has written it
    configFile: "deno.full.json",
    outDir,
    entryPoints: Object.entries(config.exports).map(([name, path]) => ({ name, path })),
    package: fields,
    esModule: true,
    scriptModule: false,
    declaration: "inline",
    // dnt's own polyfills are for older targets than any Node that Fastify 5 runs on
    compilerOptions: {
      target: "ES2023",
      lib: ["ES2023", "DOM", "DOM.Iterable"],
      sourceMap: true,
      inlineSources: true,
    },
    polyfills: false,
    shims: test ? { deno: { test: "dev" } } : {},
    mappings: {
      fastify: { name: "fastify", version: fields.peerDependencies.fastify!, peerDependency: true },
    },
    test,
    testPattern: `tests/{${await testNames(join(root, "tests"))}}`,
    // `deno task check` checks the sources, and the tests of the package what is declared
    typeCheck: false,
    // `deno test` gives every file an isolate of its own
    testIsolation: "process",
    postBuild: () => removeAdditions(join(outDir, "esm")),
  });
  for (
    const path of [...await testOutput(outDir), ".npmignore", "src", "node_modules", "package-lock.json"]
  ) {
    await rm(join(outDir, path), { recursive: true, force: true });
  }
}

/** The tests that are code alone: dnt copies no other files. */
async function testNames(directory: string): Promise<string> {
  const files = (await readTestFiles(directory)).filter(({ tie, readsFiles }) => !tie && !readsFiles);
  return files.map(({ name }) => name).join(",");
}

/**
 * Removes what dnt adds to the code: polyfills and a copy of `globalThis`, neither of which any Node that Fastify 5 runs
 * on needs, and a package.json without a name, behind which the package could not import itself by its own.
 */
async function removeAdditions(esm: string): Promise<void> {
  const files = (await readdir(esm, { recursive: true })).filter((file) => /\.(?:js|d\.ts)$/.test(file));
  for (const file of files) {
    const path = join(esm, file);
    const text = await readFile(path, "utf8");
    const plain = text
      // The lines stay, for the source maps
      .replace(/^import "[^"]*\/_dnt\.polyfills\.js";$/m, "")
      .replace(/^import \* as dntShim from "[^"]*\/_dnt\.shims\.js";$/m, "")
      .replaceAll("dntShim.dntGlobalThis", "globalThis");
    if (/_dnt\.(?:polyfills|shims)\.js/.test(plain)) throw new Error(`${file} needs what dnt adds`);
    if (plain !== text) await writeFile(path, plain);
  }
  const additions = files.filter((file) => /^_dnt\.(?:polyfills|shims)\./.test(file));
  for (const file of [...additions, "package.json"]) await rm(join(esm, file));
}

/** What dnt wrote to run the tests. It lists those files in `.npmignore`, so what is left is what is published. */
async function testOutput(outDir: string): Promise<string[]> {
  return (await readFile(join(outDir, ".npmignore"), "utf8")).split("\n").filter(Boolean);
}
