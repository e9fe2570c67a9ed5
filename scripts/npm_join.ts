/**
 * Joins the modules of a built package to a few files. Node takes up to a millisecond to find, read and link each, and an
 * application would load a hundred and fifty of them when it starts. What is loaded later stays apart. Each file has a
 * source map. Deno reads the maps of all files that it loads, so they name only lines, and the sources are files of
 * their own.
 */
import { decode, encode, type SourceMapSegment } from "@jridgewell/sourcemap-codec";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { PackageJson } from "./package_json.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Below `esm/`: the files that entry points and modules that are loaded later have in common. */
const SHARED = "shared";

/** The module that every request to an auth route is answered by. */
const REQUESTS = "esm/src/routes/answer_request.js";

/** Replaces the code in `esm/`. The entry points keep their names, and the declarations stay as they are. */
export async function joinModules(
  outDir: string,
  { exports, bin }: Pick<PackageJson, "exports" | "bin">,
): Promise<void> {
  const targets = Object.values(exports).flatMap((target) => typeof target === "string" ? [] : target.default);
  const options = {
    absWorkingDir: outDir,
    entryPoints: [...new Set([...targets, ...Object.values(bin)])].map((path) => join(outDir, path)),
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
    sourcemap: "linked",
    sourcesContent: false,
    write: false,
  } as const satisfies BuildOptions;
  const { metafile: { inputs } } = await build(options);
  const main = targets[0]!; // the entry point "."
  const groups = [toSlashes(relative(outDir, join(outDir, main))), REQUESTS];
  const { outputFiles, metafile } = await build({ ...options, plugins: [grouped(outDir, inputs, groups)] });
  await removeCode(join(outDir, "esm"));
  const code = outputFiles.filter(({ path }) => path.endsWith(".js"));
  const joined = code.map(({ text }) => text).join("\n");
  assertOwnNames(joined);
  assertLatin1(joined);
  const names = sharedNames(metafile, groups[0]!);
  const nameOf = (path: string) => names.get(basename(path)) ?? basename(path);
  await mkdir(join(outDir, "esm", SHARED), { recursive: true });
  for (const { path, text } of code) {
    const renamed = [...names].reduce((code, [from, to]) => code.replaceAll(from, to), text);
    await writeFile(join(dirname(path), nameOf(path)), renamed);
  }
  for (const { path, text } of outputFiles.filter(({ path }) => path.endsWith(".map"))) {
    const target = join(dirname(path), `${nameOf(path.slice(0, -".map".length))}.map`);
    const map: { sources: string[]; mappings: string } = JSON.parse(text);
    const sources = map.sources.map(pathInCheckout);
    for (const source of sources.filter(isInCheckout)) await cp(join(root, source), join(outDir, source));
    const toPackage = relative(dirname(target), outDir);
    const named = sources.map((source) => toSlashes(join(toPackage, source)));
    await writeFile(target, JSON.stringify({ ...map, sources: named, names: [], mappings: ofLines(map.mappings) }));
  }
}

/** Keeps where each line begins in the sources. The places within lines are four times as many. */
function ofLines(mappings: string): string {
  return encode(
    decode(mappings).map((places) => {
      const first = places.find((place) => place.length > 1);
      return first === undefined ? [] : [first.slice(0, 4) as SourceMapSegment];
    }),
  );
}

/** The path of a source, of which a builder may have made a copy elsewhere. */
function pathInCheckout(source: string): string {
  const parts = source.split("/");
  return parts.map((_, index) => parts.slice(index).join("/")).find(isInCheckout) ?? basename(source);
}

function isInCheckout(path: string): boolean {
  return path.endsWith(".ts") && !path.startsWith("..") && existsSync(join(root, path));
}

type Inputs = Metafile["inputs"];

/** Of how many modules of a group an entry point makes it load all. */
const MUCH = 20;

/**
 * Makes modules that are loaded later, and entry points that need much of a group, import the groups that they share modules
 * with: esbuild puts modules into one file that are imported by the same entry points, and would make one for each
 * combination of these. A group has been loaded by then anyway.
 *
 * @param groups The module that is loaded first, and one that is with the first request.
 */
function grouped(outDir: string, inputs: Inputs, groups: readonly string[]): Plugin {
  const known = groups.filter((group) => inputs[group] !== undefined);
  const reached = new Map(known.map((group) => [group, reach(inputs, group)]));
  const isLater = new Set(
    Object.values(inputs).flatMap(({ imports }) =>
      imports.filter(({ kind }) => kind === "dynamic-import").map(({ path }) => path)
    ),
  );
  return {
    name: "groups",
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, async ({ path }) => {
        const name = toSlashes(relative(outDir, path));
        // Loaded first, whatever else imports it later.
        if (reached.get(known[0]!)!.has(name)) return undefined;
        const own = reach(inputs, name);
        const isEntry = !isLater.has(name);
        // What is loaded first must not load what is loaded later.
        const joined = (isEntry ? known.slice(0, 1) : known).filter((group) =>
          !reached.get(group)!.has(name) &&
          [...own].filter((module) => reached.get(group)!.has(module)).length >= (isEntry ? MUCH : 1)
        );
        if (joined.length === 0) return undefined;
        const imports = joined.map((group) => `import ${JSON.stringify(join(outDir, group))};\n`);
        return {
          contents: `${await readFile(path, "utf8")}\n${imports.join("")}`,
          resolveDir: dirname(path),
        };
      });
    },
  };
}

/** A module, and all that are loaded with it. */
function reach(inputs: Inputs, module: string, reached: Set<string> = new Set()): Set<string> {
  if (reached.has(module) || inputs[module] === undefined) return reached;
  reached.add(module);
  for (const { path, kind } of inputs[module].imports) {
    if (kind === "import-statement") reach(inputs, path, reached);
  }
  return reached;
}

async function removeCode(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && /\.js(?:\.map)?$/.test(entry.name)) await rm(join(entry.parentPath, entry.name));
  }
}

/** Names of classes are in logs, and esbuild gives a second class of the same name another one. */
function assertOwnNames(code: string): void {
  const declared = [...code.matchAll(/^(?:export )?(?:var (\w+) = )?class (\w+)/gm)];
  const names = new Set(declared.map(([, variable, name]) => variable ?? name!));
  const renamed = [...names].find((name) => /\d$/.test(name) && names.has(name.replace(/\d+$/, "")));
  if (renamed !== undefined) {
    throw new Error(`Two classes are called ${renamed.replace(/\d+$/, "")}: rename one`);
  }
}

/** With one other character, also in a comment, V8 keeps a file in two bytes a character: it loads a fifth slower. */
function assertLatin1(code: string): void {
  const line = code.split("\n").find((line) => /[^\0-\xff]/.test(line));
  if (line !== undefined) throw new Error(`Write this line of the joined code in Latin-1: ${line.trim()}`);
}

/**
 * Names for the shared files, by those with a hash. What is loaded with the main entry point is `start.js`, what is loaded
 * later has its module's name, and what several of these have in common that of the module that imports most. A file that
 * only says which of its names others hold ends with `_entry`.
 */
function sharedNames({ inputs: modules, outputs }: Metafile, main: string): Map<string, string> {
  const loadedFirst = outputs[main]?.imports ?? [];
  const sizeOf = ({ path }: { path: string }) => outputs[path]?.bytes ?? 0;
  const [start] = loadedFirst.filter(({ kind }) => kind === "import-statement")
    .sort((a, b) => sizeOf(b) - sizeOf(a));
  const names = new Map<string, string>();
  for (const [output, { inputs, entryPoint }] of Object.entries(outputs)) {
    if (!output.includes(`/${SHARED}/`) || output.endsWith(".map")) continue;
    const importsOf = (module: string) => modules[module]!.imports.length;
    const [first = basename(output)] = Object.keys(inputs).sort((a, b) => importsOf(b) - importsOf(a));
    const module = (entryPoint ?? first).replace(/^esm\/(?:src\/)?/, "").replaceAll("/", "_");
    const isStub = entryPoint !== undefined && !inputs[entryPoint]?.bytesInOutput;
    const name = output === start?.path ? "start.js" : isStub ? module.replace(".js", "_entry.js") : module;
    names.set(basename(output), name);
  }
  const all = [...names.values()];
  const twice = all.find((name, index) => all.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Two shared files would have the name ${twice}`);
  return names;
}

function toSlashes(path: string): string {
  return path.replaceAll("\\", "/");
}
