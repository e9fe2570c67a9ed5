import { assertEquals, assertStringIncludes } from "@std/assert";
import { readdir, readFile } from "node:fs/promises";
import { indexForAgents, pageName, sidebar, sourceOf } from "../../scripts/site_pages.ts";
import { referencePages } from "../../scripts/site_reference.ts";
import { typeText } from "../../scripts/type_text.ts";

Deno.test("the sidebar: a page is in the group of its front matter, in its order", () => {
  const groups = sidebar([
    { name: "guards.md", text: "---\ngroup: Protecting routes\norder: 2\n---\n\n# Guards\n" },
    { name: "openapi.md", text: "---\ngroup: Protecting routes\norder: 1\n---\n\n# `OpenAPI`\n" },
    { name: "install.md", text: "---\ngroup: Start\norder: 1\n---\n\n# Installing\n" },
    { name: "index.md", text: "---\nlayout: home\n---\n" },
  ]);

  assertEquals(groups.map(({ text }) => text), ["Start", "Protecting routes"]);
  assertEquals(groups[1]!.items, [
    { text: "OpenAPI", link: "/openapi" },
    { text: "Guards", link: "/guards" },
  ]);
});

Deno.test("the sidebar: no two pages of docs/ have the same place, which their titles would decide", async () => {
  const docs = new URL("../../docs/", import.meta.url);
  const names = (await readdir(docs)).filter((name) => name.endsWith(".md"));
  const places = await Promise.all(names.map(async (name) => {
    const text = await readFile(new URL(name, docs), "utf8");
    return /^group: .*\norder: .*$/m.exec(text)?.[0] ?? name;
  }));
  assertEquals(places.filter((place, index) => places.indexOf(place) !== index), []);
});

Deno.test("the sidebar: a page without front matter is the last, in the group of its folder or in More", () => {
  const groups = sidebar([
    { name: "new.md", text: "# New\n" },
    { name: "recipes/one.md", text: "# One\n" },
    { name: "install.md", text: "---\ngroup: Start\n---\n\n# Installing\n" },
  ]);

  assertEquals(groups.map(({ text, items }) => [text, items[0]?.text]), [
    ["Start", "Installing"],
    ["More", "New"],
    ["recipes", "One"],
  ]);
});

Deno.test("the site: pages are those of docs/ and a few files beside it, and each is found again", () => {
  assertEquals(pageName("docs/guards.md"), "guards.md");
  assertEquals(pageName("README.md"), "overview.md");
  assertEquals(pageName("examples/nginx/nginx.conf"), undefined);
  assertEquals(["guards.md", "overview.md"].map(sourceOf), ["docs/guards.md", "README.md"]);
});

Deno.test("the site: llms.txt names each page with its first sentence, and leads to its Markdown", () => {
  const text = indexForAgents([
    {
      name: "guards.md",
      text:
        "---\ngroup: Protecting routes\norder: 2\n---\n\n# Guards\n\n```ts\nx;\n```\n\nA guard lets [users](a.md) pass. More.\n",
    },
    { name: "index.md", text: "---\nlayout: home\n---\n" },
  ], "/path/");
  assertStringIncludes(
    text,
    "## Protecting routes\n\n- [Guards](/path/guards.md): A guard lets users pass.\n",
  );
});

const location = (line: number) => ({ filename: new URL("../../mod.ts", import.meta.url).href, line });
const type = (typeName: string) => ({ kind: "typeRef", repr: typeName, value: { typeName } });

const READER = {
  name: "Reader",
  declarations: [{
    kind: "interface",
    location: location(1),
    jsDoc: { doc: "Reads." },
    def: {
      properties: [{
        name: "limit",
        optional: true,
        readonly: true,
        tsType: { kind: "keyword", repr: "number" },
        jsDoc: { doc: "How much, in bytes.", tags: [{ kind: "unsupported", value: "@default 10" }] },
      }],
    },
  }],
};

Deno.test("the reference: a symbol has its signature, what its docstring says, and links to others", () => {
  const read = {
    name: "read",
    declarations: [{
      kind: "function",
      location: location(9),
      jsDoc: {
        doc: "Reads with a {@linkcode Reader}.",
        tags: [
          { kind: "deprecated", doc: "use another" },
          { kind: "param", name: "reader", doc: "The reader." },
          { kind: "return", doc: "The text." },
          { kind: "throws", tsType: { repr: "Error" }, doc: "if it cannot" },
          { kind: "example", doc: "One\n```ts ignore\nread(x);\n```" },
        ],
      },
      def: {
        params: [{ kind: "identifier", name: "reader", optional: false, tsType: type("Reader") }],
        returnType: { kind: "array", value: { kind: "keyword", repr: "string" } },
      },
    }],
  };
  const pages = referencePages([
    { specifier: "fastify-authjs", page: "fastify-authjs.md", jsDoc: { doc: "The plugin. More." }, symbols: [READER] },
    { specifier: "fastify-authjs/read", page: "read.md", jsDoc: {}, symbols: [read, READER] },
  ], []);

  assertStringIncludes(pages.get("index.md")!, "| [`fastify-authjs`](fastify-authjs.md) | The plugin. |");
  assertStringIncludes(
    pages.get("fastify-authjs.md")!,
    "## Interfaces\n\n### Reader\n\n```ts\ninterface Reader {\nreadonly limit?: number;\n}\n```\n\nReads.\n\n" +
      "**Members**\n\n- `limit`: How much, in bytes.\n  \n  **Default**: `10`\n",
  );
  assertStringIncludes(
    pages.get("read.md")!,
    "### read\n\n```ts\nfunction read(reader: Reader): string[];\n```\n\n" +
      "Types: [`Reader`](fastify-authjs.md#reader)\n\n**Deprecated**: use another\n\n" +
      "Reads with a [`Reader`](fastify-authjs.md#reader).\n\n**Parameters**\n\n- `reader`: The reader.\n\n" +
      "**Returns** The text.\n\n**Throws**\n\n- `Error`: if it cannot\n\n" +
      "**Example**: One\n\n```ts\nread(x);\n```\n",
  );
  assertStringIncludes(pages.get("read.md")!, "### Reader\n\nThe same as [`Reader`](fastify-authjs.md#reader).\n");
});

Deno.test("the reference: types are TypeScript again", () => {
  const keyword = (repr: string) => ({ kind: "keyword", repr });
  const value = { kind: "typeOperator", value: { operator: "keyof", tsType: type("T") } };
  const mapped = { typeParam: { name: "Key", constraint: value }, readonly: true, optional: "-", tsType: type("Key") };
  const template = {
    kind: "template",
    tsTypes: [{ kind: "literal", value: { kind: "string", string: "/" } }, keyword("string")],
  };
  const conditional = {
    checkType: type("T"),
    extendsType: { kind: "array", value: { kind: "infer", value: { typeParam: { name: "U" } } } },
    trueType: {
      kind: "indexedAccess",
      value: { objType: type("U"), indexType: { kind: "literal", repr: "0", value: {} } },
    },
    falseType: { kind: "tuple", value: [{ kind: "rest", value: type("T") }, { kind: "optional", value: type("T") }] },
  };
  const call = {
    params: [{ kind: "rest", arg: { kind: "identifier", name: "all" }, tsType: keyword("any") }],
    tsType: { kind: "typePredicate", value: { asserts: true, param: { name: "x" }, type: type("T") } },
  };
  const texts = [
    { kind: "mapped", value: mapped },
    { kind: "literal", value: template },
    { kind: "conditional", value: conditional },
    { kind: "fnOrConstructor", value: call },
    { kind: "typeLiteral", value: { properties: [{ name: "a-b", tsType: keyword("string") }] } },
  ].map(typeText);
  assertEquals(texts, [
    "{ readonly [Key in keyof T]-?: Key }",
    "`/${string}`",
    "T extends infer U[] ? U[0] : [...T, T?]",
    "(...all: any) => asserts x is T",
    '{ "a-b": string; }',
  ]);
});
