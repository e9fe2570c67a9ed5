/** Each code of an error or a warning has a page, and the lists of codes lead to it. */
import { assert, assertEquals } from "@std/assert";
import { FastifyAuthError, type FastifyAuthErrorCode } from "fastify-authjs";
import { readdir } from "node:fs/promises";

const root = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, root));

const CODES = {
  "docs/errors.md": () => codesIn("src/errors.ts", /\| "(FST_AUTHJS_\w+)"/g),
  "docs/troubleshooting.md": async () => {
    const files = (await readdir(new URL("src", root), { recursive: true })).filter((path) => path.endsWith(".ts"));
    return (await Promise.all(files.map((path) => codesIn(`src/${path}`, /"(FST_AUTHJS_WARN_\w+)"/g)))).flat();
  },
};

async function codesIn(path: string, pattern: RegExp): Promise<string[]> {
  return [...(await read(path)).matchAll(pattern)].map(([, code]) => code!);
}

for (const [list, find] of Object.entries(CODES)) {
  Deno.test(`${list} leads to a page for each code`, async () => {
    const codes = new Set(await find());
    assert(codes.size > 20);
    const text = await read(list);
    for (const code of codes) {
      assert(text.includes(`(errors/${code}.md)`), `${list} does not lead to the page of ${code}`);
      assert((await read(`docs/errors/${code}.md`)).startsWith(`# \`${code}\``), code);
    }
  });
}

Deno.test("an error names the page of its code", async () => {
  const code: FastifyAuthErrorCode = "FST_AUTHJS_CROSS_SITE";
  const { help } = new FastifyAuthError(code, "No.");
  assertEquals(new URL(help).pathname.split("/blob/main/")[1], `docs/errors/${code}.md`);
  await read(`docs/errors/${code}.md`);
});
