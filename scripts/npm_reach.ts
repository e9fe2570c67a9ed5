/** Leaves out of a built package what its entry points never load: declarations of internal modules above all. */
import { readdir, readFile, rm } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import type { PackageJson } from "./package_json.ts";

/** Of code that was built: a template with a source has imports of `.ts`. */
const IMPORT = /(?:\bfrom|\bimport\(|^import)\s*"(\.[^"]+\.js)"/gm;

/** Removes every file of `esm/` that is neither imported from an entry point nor the other half of one that is. */
export async function removeUnreached(outDir: string, { exports, bin }: PackageJson): Promise<void> {
  const reached = new Set<string>();
  for (const target of Object.values(exports)) {
    if (typeof target === "string") continue;
    await collect(outDir, target.types, reached);
    await collect(outDir, target.default, reached);
  }
  for (const target of Object.values(bin)) await collect(outDir, target, reached);
  for (const entry of await readdir(join(outDir, "esm"), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const code = path.replace(/\.map$/, "");
    // A module of types alone is code of nothing, which a resolver may look for all the same
    const declarations = code.replace(/\.js$/, ".d.ts");
    if (entry.isFile() && !reached.has(code) && !reached.has(declarations)) await rm(path);
  }
}

async function collect(directory: string, file: string, reached: Set<string>): Promise<void> {
  const path = normalize(join(directory, file));
  if (reached.has(path)) return;
  reached.add(path);
  for (const [, specifier = ""] of (await readFile(path, "utf8")).matchAll(IMPORT)) {
    const imported = path.endsWith(".d.ts") ? specifier.replace(/\.js$/, ".d.ts") : specifier;
    await collect(dirname(path), imported, reached);
  }
}
