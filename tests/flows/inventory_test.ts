/** The inventory of behaviour names files and tests that exist. */
import { assert } from "@std/assert";
import { readTestFile } from "../support/test_files.ts";

/** The names of tests and of cases in a file, with `…` in place of what a template fills in. */
async function namesIn(file: string): Promise<string[]> {
  const literals = (await readTestFile(file)).matchAll(
    /(?:[([]\s*|^\s*|name: )(["`])((?:\\.|(?!\1)[^\\\n])*)\1/gm,
  );
  return [...literals].map(([, , text = ""]) => text.replace(/\$\{[^}]*\}/g, "…").replace(/\\(.)/g, "$1"));
}

Deno.test("tests/inventory.md names files and tests that exist", async () => {
  const known = new Map<string, string[]>();
  let count = 0;
  const page = new URL("../inventory.md", import.meta.url);
  const text = (await Deno.readTextFile(page)).replaceAll("\\_", "_");
  for (const [, file, quoted] of text.matchAll(/`([\w/]+\.ts)`((?:,? "[^"]+")*)/g)) {
    if (file!.startsWith("src/")) continue;
    const names = known.get(file!) ?? await namesIn(file!);
    known.set(file!, names);
    for (const [, name] of quoted!.matchAll(/"([^"]+)"/g)) {
      assert(names.some((each) => each.startsWith(name!)), `${file} has no test "${name}"`);
      count++;
    }
  }
  assert(count > 300, `${count} names were found`);
});
