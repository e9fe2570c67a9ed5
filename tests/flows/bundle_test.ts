/** Bundlers find all that an application imports, without the packages that it does not use. */
import { assert, assertEquals } from "@std/assert";
import { build, type BuildResult } from "esbuild";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { packageJson } from "../../scripts/package_json.ts";

const root = new URL("../../", import.meta.url);
const config = JSON.parse(await readFile(new URL("deno.json", root), "utf8"));
const optional = Object.keys(packageJson(config).peerDependenciesMeta);

/** Bundles an entry point, for which no optional peer is installed. */
async function bundle(entry: string): Promise<BuildResult> {
  return await build({
    entryPoints: [fileURLToPath(new URL(entry, root))],
    bundle: true,
    write: false,
    logLevel: "silent",
    platform: "node",
    format: "esm",
    plugins: [{
      name: "installed",
      setup({ onResolve }) {
        // All packages but optional peers, which esbuild looks for, and finds nowhere.
        onResolve({ filter: /^(?:@[\w-]+\/)?[\w-]/ }, ({ path }) => {
          const isOptional = optional.some((name) => path === name || path.startsWith(`${name}/`));
          return isOptional ? undefined : { path, external: true };
        });
      },
    }],
  });
}

for (
  const entry of [
    "mod.ts",
    "src/client/mod.ts",
    "src/testing/mod.ts",
    "providers/github.ts",
    "providers/credentials.ts",
  ]
) {
  Deno.test(`no optional peer stops a bundler: ${entry}`, async () => {
    assert(optional.length > 3);
    assertEquals((await bundle(entry)).warnings, []);
  });
}
