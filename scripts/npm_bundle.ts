/**
 * Joins the code of a built package to a few files. Node takes a third of a millisecond to find and link a module, and an
 * application loads two hundred of ours when it starts.
 */
import { build, type Metafile } from "esbuild";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { PackageJson } from "./package_json.ts";

/** Replaces the code in `esm/`: the entry points keep their names, what they share is in `esm/shared/`. */
export async function bundle(outDir: string, { exports, bin }: PackageJson): Promise<void> {
  const modules = Object.values(exports).flatMap((target) =>
    typeof target === "string" ? [] : target.default
  );
  const entryPoints = [...new Set([...modules, ...Object.values(bin)])].map((path) => join(outDir, path));
  const { outputFiles, metafile } = await build({
    absWorkingDir: outDir,
    entryPoints,
    outdir: join(outDir, "esm"),
    outbase: join(outDir, "esm"),
    bundle: true,
    splitting: true,
    chunkNames: `${SHARED}/[name]-[hash]`,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    metafile: true,
    write: false,
  });
  const esm = join(outDir, "esm");
  for (const entry of await readdir(esm, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith(".js")) await rm(join(entry.parentPath, entry.name));
  }
  assertOwnNames(outputFiles.map(({ text }) => text).join("\n"));
  const names = sharedNames(metafile);
  await mkdir(join(esm, SHARED), { recursive: true });
  for (const { path, text } of outputFiles) {
    const name = names.get(basename(path));
    const target = name === undefined ? path : join(esm, SHARED, name);
    const code = [...names].reduce((code, [from, to]) => code.replaceAll(from, to), text);
    await writeFile(target, code);
  }
}

/** Names of classes are in logs, and a second class of the same name gets another one. */
function assertOwnNames(code: string): void {
  const names = new Set(
    [...code.matchAll(/^(?:export )?(?:var (\w+) = )?class (\w+)/gm)].map(([, variable, name]) =>
      variable ?? name!
    ),
  );
  const renamed = [...names].find((name) => /\d$/.test(name) && names.has(name.replace(/\d+$/, "")));
  if (renamed !== undefined) {
    throw new Error(`Two classes are called ${renamed.replace(/\d+$/, "")}: rename one`);
  }
}

/** Below `esm/`. */
const SHARED = "shared";

/** Names without a hash for the shared files: two builders, whose code differs in its formatting, agree on them. */
function sharedNames({ outputs }: Metafile): Map<string, string> {
  const names = new Map<string, string>();
  for (const [output, { inputs }] of Object.entries(outputs)) {
    if (!output.includes(`/${SHARED}/`)) continue;
    // One that only imports others has no code of its own.
    const [first = `imports-${names.size}.js`] = Object.keys(inputs).sort();
    names.set(basename(output), basename(first));
  }
  if (new Set(names.values()).size < names.size) throw new Error("Two shared files would have the same name");
  return names;
}
