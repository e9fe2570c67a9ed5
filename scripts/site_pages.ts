/** Which files of the repository are pages of the site. */

/** Files that are pages under another name. */
const OTHER_PAGES: Readonly<Record<string, string>> = {
  "docs/README.md": "documentation.md",
  "README.md": "overview.md",
  "examples/README.md": "examples.md",
  "CHANGELOG.md": "changelog.md",
  "CONTRIBUTING.md": "contributing.md",
  "SECURITY.md": "security-policy.md",
};

/** Where the repository is shown: links to files that are no pages lead there. */
export const REPOSITORY_FILES = "https://github.com/fastify-authjs/fastify-authjs/blob/main/";

/** A page's place in the sidebar, if its front matter names none. */
const PLACES: Readonly<Record<string, Place>> = {
  "overview.md": { group: "Start", order: 1 },
  "examples.md": { group: "Running", order: 10 },
  "changelog.md": { group: "Project", order: 1 },
  "security-policy.md": { group: "Project", order: 2 },
  "contributing.md": { group: "Project", order: 3 },
};

/** The groups of the sidebar, in order. Pages name theirs in their front matter; those without one come last. */
const GROUPS = [
  "Start",
  "Signing in",
  "Sessions",
  "Protecting routes",
  "Running",
  "Reference",
  "API",
  "Project",
  "More",
];

/** A page's place in the sidebar. */
interface Place {
  group: string;
  order: number;
}

/** A page, as far as the sidebar needs it. */
interface PageText {
  /** Its name, such as `guards.md`. */
  name: string;
  text: string;
}

/** A group of the sidebar, in the shape that VitePress takes. */
interface SidebarGroup {
  text: string;
  collapsed: boolean;
  items: { text: string; link: string }[];
}

/** The files that are pages under another name. */
export const otherSources: readonly string[] = Object.keys(OTHER_PAGES);

/**
 * The name that a file of the repository has as a page.
 *
 * @param source Its path from the root of the repository.
 * @returns Undefined if it is no page.
 */
export function pageName(source: string): string | undefined {
  if (Object.hasOwn(OTHER_PAGES, source)) return OTHER_PAGES[source];
  return source.startsWith("docs/") && source.endsWith(".md") ? source.slice("docs/".length) : undefined;
}

/** The file of the repository that a page is made from. */
export function sourceOf(page: string): string {
  const other = Object.entries(OTHER_PAGES).find(([, name]) => name === page);
  return other ? other[0] : `docs/${page}`;
}

/**
 * The sidebar: each page in the group that its front matter names, by its `order`, then by its title. The pages of
 * single errors are reached from the list of errors.
 */
export function sidebar(pages: readonly PageText[]): SidebarGroup[] {
  const isListed = ({ name }: PageText) => name !== "index.md" && !name.startsWith("errors/");
  const placed = pages.filter(isListed).map((page) => ({
    ...placeOf(page),
    title: titleOf(page),
    link: `/${page.name.replace(/\.md$/, "")}`,
  }));
  placed.sort((one, other) => one.order - other.order || one.title.localeCompare(other.title));
  const groups = [...new Set([...GROUPS, ...placed.map(({ group }) => group)])];
  return groups.map((group) => ({
    text: group,
    collapsed: false,
    items: placed.filter((page) => page.group === group).map(({ title, link }) => ({ text: title, link })),
  })).filter(({ items }) => items.length > 0);
}

function placeOf({ name, text }: PageText): Place {
  const front = text.match(/^---\n([\s\S]*?)\n---\n/)?.[1] ?? "";
  const field = (key: string) => front.match(new RegExp(`^${key}: *"?(.*?)"? *$`, "m"))?.[1];
  const folder = name.includes("/") ? name.slice(0, name.indexOf("/")) : undefined;
  const place = PLACES[name] ?? { group: folder ?? "More", order: 50 };
  return { group: field("group") ?? place.group, order: Number(field("order") ?? place.order) };
}

function titleOf({ name, text }: PageText): string {
  if (name === "overview.md") return "Overview";
  return text.match(/^# (.*)$/m)?.[1]?.replaceAll("`", "") ?? name;
}

/** The first sentence of a page, without marks. */
function summaryOf(text: string): string {
  const body = text.replace(/^---\n[\s\S]*?\n---\n/, "").replace(/```[\s\S]*?```/g, "");
  const paragraph = body.split(/\n{2,}/).find((part) => /^[A-Z`]/.test(part.trim())) ?? "";
  const plain = paragraph.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*\n]/g, " ").replace(
    / +/g,
    " ",
  );
  return /^.*?[.:](?= |$)/.exec(plain.trim())?.[0].replace(/:$/, ".") ?? "";
}

/**
 * `llms.txt`: what this is, and every page with its first sentence.
 *
 * @param base The path of the site, such as `/`.
 */
export function indexForAgents(pages: readonly PageText[], base: string): string {
  const summaries = new Map(
    pages.map(({ name, text }) => [`/${name.replace(/\.md$/, "")}`, summaryOf(text)]),
  );
  const groups = sidebar(pages).map(({ text, items }) => {
    const lines = items.map((item) => `- [${item.text}](${base}${item.link.slice(1)}.md): ${summaries.get(item.link)}`);
    return `## ${text}\n\n${lines.join("\n")}\n`;
  });
  return `# fastify-authjs

> Auth.js (@auth/core) for Fastify 5: one registration adds every auth route, \`auth.getSession(request)\` reads the
> session, \`auth.requireSession()\` and \`config.auth\` guard routes. Node 20 and later, Deno, Bun; TypeScript.

Start with [coding agents](${base}coding-agents.md): the shortest right way for each task.

${groups.join("\n")}`;
}
