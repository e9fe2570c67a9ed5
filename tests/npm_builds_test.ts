/** What the npm package is made of: the files that its entry points load, and the same from either builder. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compareBuilds, type Comparison } from "../scripts/npm_compare.ts";
import { joinModules } from "../scripts/npm_join.ts";
import { removeUnreached } from "../scripts/npm_reach.ts";
import { packageJson } from "../scripts/package_json.ts";

const BUILD: Record<string, string> = {
  "package.json": JSON.stringify({
    name: "built",
    exports: {
      ".": { types: "./esm/mod.d.ts", default: "./esm/mod.js" },
      "./package.json": "./package.json",
    },
  }),
  "esm/mod.js": `import { double } from "./src/double.js";\nexport const four = double(2);\n`,
  "esm/mod.d.ts": `import type { Even } from "./src/types.js";\nexport declare const four: Even;\n`,
  "esm/src/double.js": "/** Twice. */\nexport const double = (value) => value * 2;\n",
  "esm/src/types.js": "export {};\n",
  "esm/src/types.d.ts": "/** An even number. */\nexport interface Even {\n    value: number;\n}\n",
};

async function withBuilds(
  builds: Record<string, string>[],
  run: (...directories: string[]) => Promise<void>,
): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "fastify-authjs-"));
  try {
    for (const [index, files] of builds.entries()) {
      for (const [file, text] of Object.entries(files)) {
        const path = join(work, String(index), file);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, text);
      }
    }
    await run(...builds.map((_, index) => join(work, String(index))));
  } finally {
    await rm(work, { recursive: true });
  }
}

async function compare(other: Record<string, string>): Promise<Comparison> {
  let result: Comparison | undefined;
  await withBuilds([BUILD, other], async (one = "", two = "") => {
    result = await compareBuilds(one, two);
  });
  return result!;
}

Deno.test("removeUnreached() keeps what the entry points load, and nothing else", async () => {
  const files = {
    ...BUILD,
    "esm/src/double.d.ts": "export declare const double: (value: number) => number;\n",
    "esm/src/alone.js": "export const alone = true;\n",
    "esm/src/lazy.js": "export const lazy = true;\n",
    "esm/src/double.js": `export const double = async (value) => (await import("./lazy.js")) && value * 2;\n`,
  };
  const config = { version: "1.0.0", license: "MIT", exports: { ".": "./mod.ts" }, imports: await imports() };
  await withBuilds([files], async (directory = "") => {
    await removeUnreached(directory, packageJson(config));
    const left = await readdir(join(directory, "esm"), { recursive: true });
    assertEquals(left.filter((file) => file.includes(".")).map((file) => file.replaceAll("\\", "/")).sort(), [
      "mod.d.ts",
      "mod.js",
      "src/double.js",
      "src/lazy.js",
      "src/types.d.ts",
      "src/types.js",
    ]);
  });
});

const SHARED_STATE = {
  ...BUILD,
  "esm/src/state.js": "export const seen = new Map();\n",
  "esm/src/internal.js": `export { seen } from "./state.js";\n`,
  "esm/src/later.js": `import { seen } from "./state.js";\nexport const size = () => seen.size;\n`,
  "esm/src/other.js": `import { seen } from "./state.js";\nexport const clear = () => seen.clear();\n`,
  "esm/mod.js": `import { seen } from "./src/internal.js";
    export const add = () => seen.set("a", 1);
    export const size = async () => (await import("./src/later.js")).size();
    export const clear = async () => (await import("./src/other.js")).clear();\n`,
  "esm/src/redis.js": `import { seen } from "./state.js";\nexport const size = () => seen.size;\n`,
};

async function fieldsOf(exports: Record<string, string>) {
  const config = { version: "1.0.0", license: "MIT", exports, imports: await imports() };
  return { ...packageJson(config), bin: {} };
}

async function codeIn(directory: string): Promise<string[]> {
  const files = await readdir(join(directory, "esm"), { recursive: true });
  return files.filter((file) => file.endsWith(".js")).map((file) => file.replaceAll("\\", "/")).sort();
}

Deno.test("joinModules() joins the modules of entry points, which share what has a state", async () => {
  await withBuilds([SHARED_STATE], async (directory = "") => {
    await joinModules(directory, await fieldsOf({ ".": "./mod.ts", "./redis": "./src/redis.ts" }));
    const code = await codeIn(directory);
    assertEquals(code.filter((file) => !file.startsWith("shared/")), ["mod.js", "src/redis.js"]);
    assert((await readdir(join(directory, "esm"))).includes("mod.d.ts"));
    const { add } = await import(`file://${directory}/esm/mod.js`);
    const { size } = await import(`file://${directory}/esm/src/redis.js`);
    add();
    assertEquals(size(), 1);
  });
});

Deno.test("joinModules() leaves apart what is loaded later, beside one file of what is loaded first", async () => {
  await withBuilds([SHARED_STATE], async (directory = "") => {
    await joinModules(directory, await fieldsOf({ ".": "./mod.ts" }));
    assertEquals(await codeIn(directory), ["mod.js", "shared/later.js", "shared/mod.js", "shared/other.js"]);
    const { add, size, clear } = await import(`file://${directory}/esm/mod.js`);
    add();
    assertEquals(await size(), 1);
    await clear();
    assertEquals(await size(), 0);
  });
});

Deno.test("joinModules() refuses two classes of one name: the second would have another one in the log", async () => {
  const refused = "export class Refused extends Error {}\n";
  const files = {
    ...BUILD,
    "esm/src/one.js": refused,
    "esm/src/two.js": refused,
    "esm/mod.js":
      `export { Refused } from "./src/one.js";\nexport { Refused as Other } from "./src/two.js";\n`,
  };
  await withBuilds([files], async (directory = "") => {
    const fields = await fieldsOf({ ".": "./mod.ts" });
    const error = await assertRejects(() => joinModules(directory, fields), Error);
    assertEquals(error.message, "Two classes are called Refused: rename one");
  });
});

async function imports(): Promise<Record<string, string>> {
  return (await import("../deno.json", { with: { type: "json" } })).default.imports;
}

Deno.test("compareBuilds() takes builds for the same that differ in layout and comments", async () => {
  const { faults, accounted } = await compare({
    ...BUILD,
    "esm/src/double.js": "export const double = (value)=>{\n  return value * 2;\n};\n",
    "esm/src/types.d.ts": "export interface Even { value: number; }\n",
  });
  assertEquals([...faults, ...accounted], []);
});

const differences: [what: string, other: Record<string, string>, fault: string][] = [
  [
    "a field of package.json",
    { "package.json": BUILD["package.json"]!.replace(`"built"`, `"other"`) },
    'package.json differs in "name"',
  ],
  ["a file of code", { "esm/more.js": "more();\n" }, "esm/more.js is in the second alone"],
  [
    "code",
    { "esm/src/double.js": "export const double = (value) => value * 3;\n" },
    "esm/src/double.js differs after minifying",
  ],
  [
    "a type that an entry point leads to",
    { "esm/src/types.d.ts": "export interface Even {\n    value: bigint;\n}\n" },
    "the declaration of esm/src/types.d.ts#Even differs:\n" +
    "  export interface Even { value: number; }\n  export interface Even { value: bigint; }",
  ],
];

for (const [what, other, fault] of differences) {
  Deno.test(`compareBuilds() names ${what} that differs`, async () => {
    assertEquals((await compare({ ...BUILD, ...other })).faults, [fault]);
  });
}

Deno.test("compareBuilds() accounts for private members, which one builder leaves out", async () => {
  const even = (member: string) => ({
    ...BUILD,
    "esm/src/types.d.ts": `export declare class Even {\n${member}    value: number;\n}\n`,
  });
  await withBuilds([even("    #private;\n"), even("")], async (one = "", two = "") => {
    const { accounted, faults } = await compareBuilds(one, two);
    assertEquals(accounted, [
      "the declaration of esm/src/types.d.ts#Even says in one alone that it has private members",
    ]);
    assertEquals(faults, []);
  });
});

Deno.test("compareBuilds() accounts for declarations that no entry point shows", async () => {
  const { accounted, faults } = await compare({
    ...BUILD,
    "esm/src/double.d.ts": "export declare const double: (value: number) => number;\n",
    "esm/src/types.d.ts": `${BUILD["esm/src/types.d.ts"]}export type Internal = string;\n`,
    "esm/src/log.d.ts": "export interface Log {\n}\n",
    "esm/src/log.js": "/** The logger. */\nexport {};\n",
  });
  assertEquals(accounted, [
    "esm/src/double.d.ts is in the second alone: declarations that no entry point shows",
    "esm/src/log.d.ts is in the second alone: declarations that no entry point shows",
    "esm/src/log.js is in the second alone: a module of types, without code",
  ]);
  assertEquals(faults, []);
});
