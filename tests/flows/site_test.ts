import { assertEquals, assertStringIncludes } from "@std/assert";
import { indexForAgents, pageName, sidebar, sourceOf } from "../../scripts/site_pages.ts";

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
