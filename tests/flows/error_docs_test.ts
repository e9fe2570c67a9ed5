/** Each code of an error or a warning has a page, and the lists of codes lead to it. */
import { assert, assertEquals } from "@std/assert";
import { FastifyAuthError, type FastifyAuthErrorCode } from "fastify-authjs";

const root = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, root));

const codesIn = (
  text: string,
) => [...new Set([...text.matchAll(/^ +(?:\/\/.*\n +)*\| "(FST_AUTHJS_\w+)"/gm)].map(([, code]) => code!))];

for (
  const [source, list] of [
    ["src/errors.ts", "docs/errors.md"],
    ["src/config/notices.ts", "docs/troubleshooting.md"],
  ] as const
) {
  Deno.test(`${list} leads to a page for each code of ${source}`, async () => {
    const codes = codesIn(await read(source));
    assert(codes.length > 20);
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
