/**
 * Builds the site of docs/ into `scripts/site/dist/`, with its search and the reference of every entry point, and
 * checks it: every link and every anchor leads somewhere, and no page makes a browser ask another host for anything.
 *
 * With `--check` some pages are also opened in a browser. Other arguments are VitePress's, such as `--base=/path/`.
 *
 * VitePress comes from npm by `scripts/site/package-lock.json`, with the first build and when that file changes.
 */
import { readdir } from "node:fs/promises";
import { indexForAgents, otherSources, pageName } from "./site_pages.ts";
import { writeReference } from "./site_reference.ts";

const root = new URL("../", import.meta.url);
const site = new URL("scripts/site/", root);
const pages = new URL("pages/", site);
const dist = new URL("dist/", site);

/** Where the site is: `--base=/path/` is VitePress's argument for another path. */
const base = Deno.args.find((argument) => argument.startsWith("--base="))?.slice("--base=".length) ?? "/";
const SITE = new URL(base, "https://site.example");

/** What makes a browser send a request when a page opens. */
const SUBRESOURCES = [
  /<(?:img|script|iframe|source|video|audio|embed)\b[^>]*\bsrc(?:set)?="((?:https?:)?\/\/[^"]*)"/g,
  /<link\b(?![^>]*\brel="canonical")[^>]*\bhref="((?:https?:)?\/\/[^"]*)"/g,
  /url\(["']?((?:https?:)?\/\/[^"')]*)/g,
  /@import\s*["']((?:https?:)?\/\/[^"']*)/g,
];

/** Runs a command in scripts/site/ and ends this process if it fails. */
async function run(command: string, args: string[]): Promise<void> {
  const child = new Deno.Command(command, {
    args,
    cwd: site,
    env: { NPM_CONFIG_UPDATE_NOTIFIER: "false" },
    stdout: "piped",
    stderr: "piped",
  });
  const { success, stdout, stderr } = await child.output();
  if (success) return;
  const decoder = new TextDecoder();
  console.error(`${command} ${args.join(" ")}\n${decoder.decode(stdout)}${decoder.decode(stderr)}`);
  Deno.exit(1);
}

/** Installs what scripts/site/package-lock.json names, unless that has been done. */
async function install(): Promise<void> {
  const modified = async (name: string) => (await Deno.stat(new URL(name, site)).catch(() => null))?.mtime;
  const [locked, installed] = [
    await modified("package-lock.json"),
    await modified("node_modules/.package-lock.json"),
  ];
  if (locked && installed && installed >= locked) return;
  // No package runs a script of its own
  await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
}

/** Copies every page into scripts/site/pages/, which VitePress reads. */
async function collectPages(): Promise<void> {
  await Deno.remove(pages, { recursive: true }).catch(() => {});
  for (const name of await readdir(new URL("docs/", root), { recursive: true })) {
    const source = `docs/${name.replaceAll("\\", "/")}`;
    if (otherSources.includes(source)) continue;
    if (/\.(md|png|svg|webp)$/.test(source)) await copy(source, source.slice("docs/".length));
  }
  for (const source of otherSources) await copy(source, pageName(source)!);
  await copy("scripts/site/index.md", "index.md");
  await writeReference(new URL("reference/", pages));
  // VitePress leaves these as they are.
  await copy("examples/demo/public/icon.svg", "public/icon.svg");
  await copy("docs/images/demo.png", "public/sign-in.png");
}

/** Writes `llms.txt` (llmstxt.org) for coding agents, and each page as Markdown beside its HTML. */
async function writeForAgents(): Promise<void> {
  const names = (await readdir(pages, { recursive: true })).map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".md") && name !== "index.md");
  const texts = await Promise.all(
    names.map(async (name) => ({ name, text: await Deno.readTextFile(new URL(name, pages)) })),
  );
  for (const { name, text } of texts) await Deno.writeTextFile(new URL(name, dist), text);
  await Deno.writeTextFile(new URL("llms.txt", dist), indexForAgents(texts, SITE.pathname));
}

async function copy(source: string, name: string): Promise<void> {
  const target = new URL(name, pages);
  await Deno.mkdir(new URL("./", target), { recursive: true });
  if (!name.endsWith(".md")) return await Deno.copyFile(new URL(source, root), target);
  const text = withoutBadges(await Deno.readTextFile(new URL(source, root)));
  // Its file has another name.
  const isOther = otherSources.includes(source) && !text.startsWith("---\n");
  await Deno.writeTextFile(target, isOther ? `---\neditLink: false\n---\n\n${text}` : text);
}

/** Badges are images of other hosts. */
function withoutBadges(text: string): string {
  return text.replace(/^\[?!\[[^\]]*\]\(https?:.*\n/gm, "");
}

/** What a page asks of another host when it opens. */
async function foreignRequests(): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(dist, { recursive: true })) {
    if (!/\.(html|css)$/.test(name)) continue;
    const text = await Deno.readTextFile(new URL(name.replaceAll("\\", "/"), dist));
    for (const pattern of SUBRESOURCES) {
      for (const [, address] of text.matchAll(pattern)) found.push(`${name} asks for ${address}`);
    }
  }
  return found;
}

/** The links of the site that lead nowhere in it. Those to other hosts are not followed. */
async function brokenLinks(): Promise<string[]> {
  const html = new Map<string, string>();
  for (const name of await readdir(dist, { recursive: true })) {
    const path = name.replaceAll("\\", "/");
    if (path.endsWith(".html")) html.set(path, await Deno.readTextFile(new URL(path, dist)));
  }
  const broken: string[] = [];
  for (const [page, text] of html) {
    for (const [, href = ""] of text.matchAll(/<a\b[^>]*\bhref="([^"]*)"/g)) {
      if (!leadsSomewhere(href, page, html)) broken.push(`${page} links to ${href}`);
    }
  }
  return broken;
}

/** Whether a link leads to a page of the site, and to an element there, or to another host. */
function leadsSomewhere(href: string, page: string, html: ReadonlyMap<string, string>): boolean {
  const { origin, pathname, hash } = new URL(href.replaceAll("&amp;", "&"), new URL(page, SITE));
  const path = pathname.slice(SITE.pathname.length);
  if (origin !== SITE.origin) return true;
  const text = html.get(/(^|\/)$/.test(path) ? `${path}index.html` : path);
  return text !== undefined && (hash === "" || text.includes(` id="${decodeURIComponent(hash.slice(1))}"`));
}

/** Opens pages in a browser, if there is one; in CI there has to be. */
async function checkInBrowser(): Promise<void> {
  const browser = Deno.env.get("TEST_CHROMIUM") || "/usr/bin/chromium";
  if (!Deno.env.get("CI") && !await Deno.stat(browser).catch(() => null)) {
    return console.warn(`The search was not tried, for want of a browser (${browser})`);
  }
  const { siteFaults } = await import("./check_site_in_browser.ts");
  const faults = await siteFaults(dist, [
    "index.html",
    "overview.html",
    "pages.html",
    "options.html",
    "guards.html",
    "reference/fastify-authjs.html",
    "reference/providers.html",
  ]);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) Deno.exit(1);
}

async function main(): Promise<void> {
  await install();
  await collectPages();
  const options = Deno.args.filter((argument) => argument !== "--check");
  await run("npx", ["--no-install", "vitepress", "build", ...options]);
  await writeForAgents();
  const faults = [...await foreignRequests(), ...await brokenLinks()];
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) Deno.exit(1);
  if (Deno.args.includes("--check")) await checkInBrowser();
  console.log("scripts/site/dist/ is built, and its links are good");
}

await main();
