/** Keeps the npm package and the JSR package the same: names, exports and dependencies come from two files. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { execFile } from "node:child_process";
import { access, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { packageJson } from "../../scripts/package_json.ts";

const root = new URL("../../", import.meta.url);
const config = JSON.parse(await readFile(new URL("deno.json", root), "utf8"));
const fields = packageJson(config);

/** Every specifier outside the checkout that the published code imports, for its types or for its code. */
async function importsOfPublishedCode(): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), "fastify-authjs-"));
  try {
    const entry = join(directory, "every_entry_point.ts");
    const sources = Object.values<string>(config.exports).map((path) => new URL(path, root).href);
    await writeFile(entry, sources.map((url) => `import ${JSON.stringify(url)};`).join("\n"));
    const args = ["info", "--json", "--config", fileURLToPath(new URL("deno.json", root)), entry];
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 28 });
    const graph: { modules: { dependencies?: Dependency[]; error?: string }[] } = JSON.parse(stdout);
    assertEquals(graph.modules.flatMap(({ error }) => error ?? []), []);
    const specifiers = graph.modules
      .flatMap(({ dependencies = [] }) => dependencies)
      .flatMap(({ code, type }) => [code?.specifier, type?.specifier])
      .filter((specifier) => specifier !== undefined)
      .filter((specifier) => !specifier.startsWith("file:") && !specifier.startsWith("node:"));
    return [...new Set(specifiers)].sort();
  } finally {
    await rm(directory, { recursive: true });
  }
}

interface Dependency {
  code?: { specifier?: string };
  type?: { specifier?: string };
}

/** `npm:/@auth/core@^0.41.3/errors` as name and range. */
function parseNpm(specifier: string): [name: string, range: string] {
  const match = specifier.match(/^npm:\/?(@[^/]+\/[^@/]+|[^@/]+)@([^/]+)/);
  assert(match?.[1] && match[2], `The published code must import from npm only, not ${specifier}`);
  return [match[1], decodeURIComponent(match[2])];
}

Deno.test("package.json gives every import of the published code its range, and names nothing else", async () => {
  const imported = Object.fromEntries((await importsOfPublishedCode()).map(parseNpm));
  const optional = Object.keys(fields.peerDependenciesMeta);
  const required = Object.entries({ ...fields.dependencies, ...fields.peerDependencies })
    .filter(([name]) => !optional.includes(name));
  const importedRequired = Object.entries(imported).filter(([name]) => !optional.includes(name));
  assertEquals(Object.fromEntries(importedRequired), Object.fromEntries(required));
});

Deno.test("the range of nodemailer has the major version that the tests of mails run with", () => {
  const [major] = /\d+/.exec(config.imports.nodemailer)!;
  const majors = fields.peerDependencies.nodemailer!.split(" || ").map((range) => /\d+/.exec(range)![0]);
  assert(majors.includes(major), majors.join());
});

Deno.test("package.json exports what deno.json exports, and has the command in bin", async () => {
  const { "./package.json": self, ...exports } = fields.exports;
  assertEquals(self, "./package.json");
  const { "./cli": command, ...imported } = config.exports;
  assertEquals(fields.bin, { "fastify-authjs": command.replace("./", "./esm/").replace(/\.ts$/, ".js") });
  assertEquals(Object.keys(exports), Object.keys(imported));
  for (const [name, target] of Object.entries(exports)) {
    assert(typeof target === "object");
    const source = target.default.replace("./esm/", "./").replace(/\.js$/, ".ts");
    assertEquals(source, config.exports[name]);
    assertEquals(target.types, target.default.replace(/\.js$/, ".d.ts"));
    await access(new URL(source, root));
  }
});

Deno.test("the tests import the version that deno.json publishes", () => {
  const { name, version, imports } = config;
  assertEquals(fields.version, version);
  assertEquals(imports[fields.name], `jsr:${name}@^${version}`);
  assertEquals(imports[`${fields.name}/`], `jsr:/${name}@^${version}/`);
});

Deno.test("packages are named in the two deno.json alone, where the bot that updates lock files finds them", async () => {
  const named = /(?:from\s|import\s|import\(|@ts-types=|@deno-types=)\s*"((?:npm|jsr|https?):[^"]*)"/g;
  const found: string[] = [];
  for (const directory of ["bench", "examples", "providers", "scripts", "src", "tests"]) {
    const files = await readdir(new URL(`${directory}/`, root), { recursive: true });
    for (const file of files.filter((name) => name.endsWith(".ts"))) {
      const text = await readFile(join(fileURLToPath(root), directory, file), "utf8");
      found.push(...[...text.matchAll(named)].map(([, specifier]) => `${directory}/${file}: ${specifier}`));
    }
  }
  assertEquals(found, []);
});

/** What the published code and the demo import, for types as well. */
async function importedBesideTests(): Promise<Set<string>> {
  const sources = ["mod.ts"];
  for (const directory of ["src", "providers", "examples/demo"]) {
    const files = await readdir(new URL(`${directory}/`, root), { recursive: true });
    sources.push(...files.map((file) => `${directory}/${file}`).filter((file) => file.endsWith(".ts")));
  }
  // Those have the imports of new projects
  const own = sources.filter((file) => file.replaceAll("\\", "/") !== "src/cli/init/templates.ts");
  const texts = await Promise.all(own.map((file) => readFile(new URL(file, root), "utf8")));
  const named = /^(?! \*).*(?:from|import|import\(|load\()\s*"((?:@[^/"]+\/)?[^./"][^/"]*)[^"]*"/gm;
  return new Set(texts.flatMap((text) => [...text.matchAll(named)].map(([, name = ""]) => name)));
}

Deno.test("deno.json names no package of tests alone: `deno task demo` would install it first", async () => {
  const imported = await importedBesideTests();
  const names = Object.keys(config.imports).map((name) => name.replace(/\/$/, ""));
  assertEquals(names.filter((name) => !imported.has(name)), []);
});

Deno.test("scripts/packages/deno.json has every package of deno.json, in the same range", async () => {
  const { imports } = JSON.parse(await readFile(new URL("scripts/packages/deno.json", root), "utf8"));
  for (const [name, target] of Object.entries<string>(config.imports)) {
    if (!target.startsWith("jsr:")) assertEquals(imports[name], target);
  }
});

Deno.test("packageJson() refuses a dependency that deno.json does not map", () => {
  const imports = { ...config.imports, "@auth/core": "jsr:@auth/core@1" };
  assertThrows(
    () => packageJson({ ...config, imports }),
    Error,
    'must map "@auth/core" to "npm:@auth/core@<range>"',
  );
});
