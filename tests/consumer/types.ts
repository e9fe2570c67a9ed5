/** Type-checks apps that use the installed package. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Manifest, readManifest } from "./consumer.ts";
import type { Result } from "./matrix.ts";
import { run } from "./process.ts";

/** How an app resolves modules. Server code has no DOM; what a bundler bundles has. */
export const RESOLUTIONS = {
  NodeNext: { files: ["app.ts", "app.cts", "every_export.ts"], module: "NodeNext", lib: ["ES2023"] },
  Bundler: { files: ["app.ts", "every_export.ts"], module: "ESNext", lib: ["ES2023", "DOM", "DOM.Iterable"] },
} as const;

/**
 * Where errors may lie once the declarations of libraries are checked too. @auth/core publishes declarations that name
 * internal types it strips (`InternalOptions`, `RequestInternal`) and modules it does not depend on; those of
 * @simplewebauthn/server import a module whose types its `exports` hide.
 */
const EXCUSED = /^node_modules\/@(?:auth\/core|simplewebauthn\/server)\//;

/**
 * Compiles the apps in `types/`, strictly: without an error when libraries are taken as they are, and without an
 * error outside {@link EXCUSED} when they are checked.
 */
export async function checkTypes(
  node: string,
  compiler: string,
  resolution: keyof typeof RESOLUTIONS,
  project: string,
): Promise<Result> {
  await writeEveryExport(project, await readManifest(project, "fastify-authjs"));
  const tsc = join(project, "node_modules", compiler, "bin/tsc");
  const compile = async (skipLibCheck: boolean) => {
    const file = `tsconfig.${resolution}.json`;
    await writeFile(join(project, file), JSON.stringify(tsconfig(resolution, skipLibCheck)));
    return await errorsOf(node, [tsc, "--project", file, "--pretty", "false"], project);
  };
  const errors = await compile(true);
  const strictErrors = await compile(false);
  const excused = strictErrors.filter((error) => EXCUSED.test(error)).length;
  const failed = [
    ...errors,
    ...strictErrors.filter((error) => !EXCUSED.test(error) && !errors.includes(error)),
  ];
  if (failed.length > 0) return { passed: 0, failed };
  return { passed: 2, failed, note: `2 ok (${excused} excused)` };
}

/**
 * Compiles the apps in `types/`, strictly, with a compiler that a package manager runs, taking libraries as they are.
 *
 * @param args Come before those of the compiler.
 */
export async function checkWith(
  command: string,
  args: readonly string[],
  resolution: keyof typeof RESOLUTIONS,
  project: string,
  manifest: Manifest,
): Promise<Result> {
  await writeEveryExport(project, manifest);
  const file = `tsconfig.${resolution}.json`;
  await writeFile(join(project, file), JSON.stringify(tsconfig(resolution, true)));
  const failed = await errorsOf(command, [...args, "--project", file, "--pretty", "false"], project);
  return { passed: failed.length === 0 ? 1 : 0, failed };
}

/** Compiles one app with a compiler that is too old for anything else, taking libraries as they are. */
export async function checkOldestTypes(
  node: string,
  compiler: string,
  app: string,
  project: string,
): Promise<Result> {
  const file = "tsconfig.oldest.json";
  const config = tsconfig("NodeNext", true);
  const compilerOptions = { ...config.compilerOptions, target: "ES2022", lib: ["ES2022"] };
  await writeFile(
    join(project, file),
    JSON.stringify({ ...config, files: [`types/${app}`], compilerOptions }),
  );
  const tsc = join(project, "node_modules", compiler, "bin/tsc");
  const failed = await errorsOf(node, [tsc, "--project", file, "--pretty", "false"], project);
  return { passed: failed.length === 0 ? 1 : 0, failed };
}

function tsconfig(resolution: keyof typeof RESOLUTIONS, skipLibCheck: boolean) {
  const { files, module, lib } = RESOLUTIONS[resolution];
  return {
    files: files.map((file) => `types/${file}`),
    compilerOptions: {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      target: "ES2023",
      lib,
      module,
      moduleResolution: resolution,
      types: ["node"],
      skipLibCheck,
    },
  };
}

async function errorsOf(command: string, args: string[], cwd: string): Promise<string[]> {
  try {
    await run(command, args, { cwd });
    return [];
  } catch (error) {
    const errors = String(error).split("\n").filter((line) => /error TS\d+/.test(line));
    if (errors.length === 0) throw error;
    return errors;
  }
}

/** Writes a module that imports every entry point, so that each one's types are resolved and checked. */
async function writeEveryExport(project: string, { name, exports }: Manifest): Promise<void> {
  const lines = Object.keys(exports)
    .filter((path) => typeof exports[path] === "object")
    .map((path, index) => `export type * as entry${index} from "${name}${path.slice(1)}";`);
  await writeFile(join(project, "types/every_export.ts"), lines.join("\n"));
}
