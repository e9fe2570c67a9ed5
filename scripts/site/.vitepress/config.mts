import { slug } from "github-slugger";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { pageName, REPOSITORY_FILES, sidebar, sourceOf } from "../../site_pages.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const pages = fileURLToPath(new URL("../pages/", import.meta.url));

/** Every page that `scripts/build_docs.ts` has put here. */
function readPages() {
  return (readdirSync(pages, { recursive: true }) as string[])
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => ({ name, text: readFileSync(pages + name, "utf8") }));
}

/** Where the site is published. */
const ADDRESS = "https://fastify-authjs.github.io/fastify-authjs/";

/** A link as it is in the repository, as one of the site: to a page, or to the file where the repository is shown. */
function siteLink(href: string, page: string): string {
  if (href.startsWith(ADDRESS)) return posix.relative(posix.dirname(page) || ".", href.slice(ADDRESS.length));
  // The reference is written for the site.
  if (/^([a-z]+:|#|\/\/)/i.test(href) || page.startsWith("reference/")) return href;
  const [path = "", hash] = href.split("#");
  const source = posix.normalize(posix.join(posix.dirname(sourceOf(page)), path));
  if (!existsSync(root + source)) {
    throw new Error(`${sourceOf(page)}: there is no ${source} for the link ${href}`);
  }
  const target = pageName(source);
  const address = target ? posix.relative(posix.dirname(page) || ".", target) : REPOSITORY_FILES + source;
  return hash === undefined ? address : `${address}#${hash}`;
}

export default defineConfig({
  title: "fastify-authjs",
  description: "Auth.js for Fastify: sign-in with OAuth, OpenID Connect, e-mail links, passwords and passkeys",
  lang: "en",
  srcDir: "pages",
  outDir: "dist",
  ignoreDeadLinks: "localhostLinks",
  head: [
    ["meta", { name: "referrer", content: "same-origin" }],
    ["link", { rel: "icon", type: "image/svg+xml", href: "/icon.svg" }],
    ["meta", { property: "og:type", content: "website" }],
    ["meta", { property: "og:image", content: `${ADDRESS}sign-in.png` }],
  ],
  transformHead: ({ title, description }) => [
    ["meta", { property: "og:title", content: title }],
    ["meta", { property: "og:description", content: description }],
  ],
  sitemap: { hostname: ADDRESS },
  markdown: {
    anchor: { slugify: slug },
    config: (markdown) => {
      markdown.core.ruler.push("repository_links", ({ tokens, env }) => {
        for (const token of tokens.flatMap((block) => block.children ?? [])) {
          const name = token.type === "image" ? "src" : "href";
          const href = token.attrGet(name);
          if (token.type === "link_open" && href) token.attrSet(name, siteLink(href, env.relativePath));
          if (token.type === "image" && href) token.attrSet(name, imageLink(href, env.relativePath));
        }
      });
    },
  },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        miniSearch: {
          searchOptions: {
            // Pages that explain come before those that list; the page of an error is short, and what one looks for.
            boostDocument: (id: string) => id.includes("/reference/") ? 0.5 : id.includes("/errors/") ? 2 : 1,
          },
        },
      },
    },
    sidebar: sidebar(readPages()),
    outline: [2, 3],
    editLink: { pattern: "https://github.com/fastify-authjs/fastify-authjs/edit/main/docs/:path" },
    nav: [
      { text: "Options", link: "/options" },
      { text: "API", link: "/reference/" },
      { text: "GitHub", link: "https://github.com/fastify-authjs/fastify-authjs" },
    ],
  },
});

/** Where an image of docs/images/ is from a page. */
function imageLink(src: string, page: string): string {
  const source = posix.normalize(posix.join(posix.dirname(sourceOf(page)), src));
  const image = posix.relative(posix.dirname(page) || ".", source.replace(/^docs\//, ""));
  return image.startsWith(".") ? image : `./${image}`;
}
