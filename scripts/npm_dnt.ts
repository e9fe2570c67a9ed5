/** Builds the npm package with dnt and runs the portable tests against it on Node. */
import { build as dnt } from "@deno/dnt";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { NpmBuild } from "./build_npm.ts";
import { readTestFiles } from "./portable_tests.ts";

/** Fills `outDir` with `esm/**`: what is published, and nothing else. */
export async function build({ root, outDir, config, package: fields }: NpmBuild): Promise<void> {
  await dnt({
    cwd: root,
    outDir,
    entryPoints: Object.entries(config.exports).map(([name, path]) => ({ name, path })),
    package: { ...fields, name: fields.name, version: fields.version },
    esModule: true,
    scriptModule: false,
    declaration: "inline",
    // dnt's own polyfills are for older targets than any Node that Fastify 5 runs on
    compilerOptions: { target: "ES2023", lib: ["ES2023", "DOM", "DOM.Iterable"] },
    polyfills: false,
    shims: { deno: { test: "dev" } },
    mappings: {
      fastify: { name: "fastify", version: fields.peerDependencies.fastify, peerDependency: true },
    },
    test: true,
    testPattern: `tests/{${await testNames(join(root, "tests"))}}`,
    // `deno task check` checks the tests, by stricter rules than dnt's
    filterDiagnostic: ({ file }) => !file?.fileName.includes("/src/tests/"),
    // `deno test` gives every file an isolate of its own
    testIsolation: "process",
  });
  await removeTests(outDir);
}

/** The tests that are code alone: dnt copies no other files. */
async function testNames(directory: string): Promise<string> {
  const files = (await readTestFiles(directory)).filter(({ tie, readsFiles }) => !tie && !readsFiles);
  return files.map(({ name }) => name).join(",");
}

/** Removes what dnt wrote to run the tests. It lists those files in `.npmignore`, so what is left is what is published. */
async function removeTests(outDir: string): Promise<void> {
  const ignored = (await readFile(join(outDir, ".npmignore"), "utf8")).split("\n").filter(Boolean);
  for (const path of [...ignored, ".npmignore", "node_modules", "package-lock.json"]) {
    await rm(join(outDir, path), { recursive: true, force: true });
  }
}
