/** Builds the npm package with `deno pack`, in the layout that dnt gives. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { NpmBuild } from "./build_npm.ts";

const run = promisify(execFile);

/** Fills `outDir` with `esm/**`. */
export async function build({ root, outDir }: NpmBuild): Promise<void> {
  await mkdir(outDir, { recursive: true });
  const work = await mkdtemp(join(outDir, ".pack-"));
  // The archive is named relative to the working directory: GNU tar takes the colon of `C:\` for a host's name
  const archive = "package.tgz";
  const options = ["--allow-dirty", "--quiet", "--output", join(work, archive)];
  await run(Deno.execPath(), ["pack", ...options], { cwd: root });
  await run("tar", ["-xzf", archive], { cwd: work });
  const unpacked = join(work, "package");
  await removeAllButCode(unpacked);
  await rename(unpacked, join(outDir, "esm"));
  await rm(work, { recursive: true });
}

/**
 * Removes what no entry point imports and `deno pack` adds as it is, the papers, which lie beside `esm/`, and its own
 * package.json, which lacks what deno.json cannot say (peers, engines, …); the caller writes the whole one.
 */
async function removeAllButCode(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && !/\.(?:js|d\.ts)$/.test(entry.name)) await rm(join(entry.parentPath, entry.name));
  }
}
