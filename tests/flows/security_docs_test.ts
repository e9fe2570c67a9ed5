/** The tables of docs/security.md and docs/security-cases.md name tests that exist. */
import { assert, assertEquals } from "@std/assert";
import { readTestFile } from "../support/test_files.ts";
import { PLANS } from "../conformance/plans.ts";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

/** The test files that a text names, each with the beginning of a test's name if the text has one. */
const references = (text: string) => [...text.matchAll(/`([\w/]+(?:_test|_suite)\.ts)`(?: "([^"]+)")?/g)];

for (const page of ["docs/security.md", "docs/security-cases.md"]) {
  Deno.test(`${page} names tests that exist`, async () => {
    const found = references(await read(page));
    assert(found.length > 20);
    for (const [, file, name = ""] of found) {
      assert((await readTestFile(file!)).includes(name), `${file} has no test "${name}"`);
    }
  });
}

Deno.test("docs/security.md names a test for each requirement that is met by the plugin", async () => {
  const rows = (await read("docs/security.md")).split("\n").filter((line) => /^\| \d/.test(line));
  assert(rows.length > 50);
  for (const row of rows) {
    const [, id, , met, , test] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    if (met === "yes") assert(test !== "", `no test for ${id}`);
  }
});

Deno.test("V7: docs/security.md has each module of the conformance plans, and what comes of it", async () => {
  const rows = (await read("docs/security.md")).matchAll(
    /^\| `(oidcc-[\w-]+)` +\| (.*?) +\|.*\| (\w+) +\|$/gm,
  );
  const tested = PLANS.flatMap(({ profile, modules }) => modules.map(({ name, outcome }) => [name, profile, outcome]));
  assertEquals([...rows].map(([, ...cells]) => cells), tested);
  assertEquals(tested.length, 45);
});

Deno.test("F1: examples of session callbacks name the fields that they send", async () => {
  const pages = [...Deno.readDirSync(new URL("../../docs", import.meta.url))].map(({ name }) => `docs/${name}`);
  for (const page of ["README.md", ...pages.filter((name) => name.endsWith(".md"))]) {
    const spread = (await read(page)).match(/^.*\.\.\.session\b.*$/m)?.[0];
    assertEquals(spread, undefined, page);
  }
});

Deno.test("X2: no page and no example trusts every peer", async () => {
  const root = new URL("../../", import.meta.url);
  const pages = ["docs/", "examples/", "examples/demo/", "examples/demo/pages/"].flatMap((directory) =>
    [...Deno.readDirSync(new URL(directory, root))].filter(({ isFile }) => isFile).map(({ name }) => directory + name)
  );
  for (const page of ["README.md", ...pages].filter((page) => /\.(?:md|m?[jt]s)$/.test(page))) {
    assert(!/Fastify\([^)]*trustProxy: true/.test(await read(page)), page);
  }
});
