/** What the npm package is made of: the files that its entry points load, joined to a few. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { joinModules } from "../../scripts/npm_join.ts";
import { removeUnreached } from "../../scripts/npm_reach.ts";
import { packageJson } from "../../scripts/package_json.ts";

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

async function withBuild(files: Record<string, string>, run: (directory: string) => Promise<void>) {
  const directory = await mkdtemp(join(tmpdir(), "fastify-authjs-"));
  try {
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, file)), { recursive: true });
      await writeFile(join(directory, file), text);
    }
    await run(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
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
  await withBuild(files, async (directory) => {
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
  await withBuild(SHARED_STATE, async (directory) => {
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
  await withBuild(SHARED_STATE, async (directory) => {
    await joinModules(directory, await fieldsOf({ ".": "./mod.ts" }));
    assertEquals(await codeIn(directory), [
      "mod.js",
      "shared/later.js",
      "shared/other.js",
      "shared/start.js",
    ]);
    const { add, size, clear } = await import(`file://${directory}/esm/mod.js`);
    add();
    assertEquals(await size(), 1);
    await clear();
    assertEquals(await size(), 0);
  });
});

Deno.test("joinModules() writes source maps, and the sources that they name, as in the repository", async () => {
  const map = {
    version: 3,
    sources: ["file:///elsewhere/mod.ts"],
    sourcesContent: ["export const four: number = 4;\n"],
    mappings: "AAAA",
  };
  const url = `data:application/json;base64,${btoa(JSON.stringify(map))}`;
  const files = { ...BUILD, "esm/mod.js": `export const four = 4;\n//# sourceMappingURL=${url}\n` };
  await withBuild(files, async (directory) => {
    await joinModules(directory, await fieldsOf({ ".": "./mod.ts" }));
    const { sources, sourcesContent } = JSON.parse(await readFile(join(directory, "esm/mod.js.map"), "utf8"));
    assertEquals([sources, sourcesContent], [["../mod.ts"], undefined]);
    const source = await readFile(join(directory, "mod.ts"), "utf8");
    assertEquals(source, await readFile(new URL("../../mod.ts", import.meta.url), "utf8"));
  });
});

Deno.test("joinModules() names in source maps where each line begins, and no places within it", async () => {
  const { decode, encode } = await import("@jridgewell/sourcemap-codec");
  const map = {
    version: 3,
    sources: ["file:///elsewhere/mod.ts"],
    names: ["four"],
    mappings: encode([[[0, 0, 4, 0], [13, 0, 4, 13, 0], [20, 0, 4, 28]], [[0, 0, 6, 0], [7, 0, 6, 7]]]),
  };
  const url = `data:application/json;base64,${btoa(JSON.stringify(map))}`;
  const code = `export const four = 4;\nexport const five = four + 1;\n//# sourceMappingURL=${url}\n`;
  await withBuild({ ...BUILD, "esm/mod.js": code }, async (directory) => {
    await joinModules(directory, await fieldsOf({ ".": "./mod.ts" }));
    const lines = (await readFile(join(directory, "esm/mod.js"), "utf8")).split("\n");
    const { mappings, names } = JSON.parse(await readFile(join(directory, "esm/mod.js.map"), "utf8"));
    const places = decode(mappings);
    const lineOf = (text: string) =>
      places[lines.findIndex((line) => line.startsWith(text))]?.map(([, , line]) => line);
    assertEquals([lineOf("var four"), lineOf("var five")], [[4], [6]]);
    assertEquals([names, Math.max(...places.map(({ length }) => length))], [[], 1]);
  });
});

Deno.test("joinModules() refuses characters beyond Latin-1, with which a runtime takes longer to load a file", async () => {
  const files = { ...BUILD, "esm/mod.js": "export const four = String.raw`4…`;\n" };
  await withBuild(files, async (directory) => {
    const fields = await fieldsOf({ ".": "./mod.ts" });
    const error = await assertRejects(() => joinModules(directory, fields), Error);
    assertEquals(error.message, "Write this line of the joined code in Latin-1: var four = String.raw`4…`;");
  });
});

Deno.test("joinModules() refuses two classes of one name: the second would have another one in the log", async () => {
  const refused = "export class Refused extends Error {}\n";
  const files = {
    ...BUILD,
    "esm/src/one.js": refused,
    "esm/src/two.js": refused,
    "esm/mod.js": `export { Refused } from "./src/one.js";\nexport { Refused as Other } from "./src/two.js";\n`,
  };
  await withBuild(files, async (directory) => {
    const fields = await fieldsOf({ ".": "./mod.ts" });
    const error = await assertRejects(() => joinModules(directory, fields), Error);
    assertEquals(error.message, "Two classes are called Refused: rename one");
  });
});

async function imports(): Promise<Record<string, string>> {
  return (await import("../../deno.json", { with: { type: "json" } })).default.imports;
}
