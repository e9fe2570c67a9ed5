/** How much there is to learn: the options of the plugin, and the names that the package itself exports. */
import { assert, assertEquals } from "@std/assert";

const read = (file: string) => Deno.readTextFile(new URL(`../../${file}`, import.meta.url));

Deno.test("the plugin has at most 20 options of its own", async () => {
  const [, section = ""] = /\n## The plugin's options\n([\s\S]*?)\n## /.exec(await read("docs/options.md")) ??
    [];
  const options = section.match(/^### \w+/gm) ?? [];
  assert(options.length > 0 && options.length <= 20, options.join(", "));
});

Deno.test("the package itself exports at most 60 names", async () => {
  const [, count] = /^\.: (\d+) names$/m.exec(await read("scripts/public_api.txt"))!;
  assert(Number(count) <= 60, count);
});

Deno.test("docs/names.md has every entry point", async () => {
  const { exports } = JSON.parse(await read("deno.json"));
  const page = await read("docs/names.md");
  const names = Object.keys(exports).filter((name) => !/^\.\/(?:cli|providers)/.test(name));
  const lacking = names.filter((name) => !page.includes(`| \`${name.replace(/^\./, "fastify-authjs")}\``));
  assertEquals(lacking, []);
});
