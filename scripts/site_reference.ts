/** The pages of the site that `deno doc --json` makes: one for each entry point of `deno.json`. */
import { declarationText } from "./type_text.ts";

/** The width of code in a page's column. */
const CODE_WIDTH = 76;

const root = new URL("../", import.meta.url);

interface JsDoc {
  doc?: string;
  tags?: { kind: string; name?: string; doc?: string; value?: string; tsType?: { repr: string } }[];
}

/** A property, a method or a constructor. */
interface Member {
  name: string;
  optional?: boolean;
  jsDoc?: JsDoc;
  tsType?: { kind: string; value?: unknown };
}

interface Declaration {
  kind: string;
  jsDoc?: JsDoc;
  location: Location;
  target?: Location;
  // deno-lint-ignore no-explicit-any
  def?: any;
}

interface Location {
  filename: string;
  line: number;
}

interface Symbol {
  name: string;
  declarations: Declaration[];
}

/** An entry point with its page. */
interface EntryPoint {
  /** What users import, such as `fastify-authjs/client`. */
  specifier: string;
  /** Its page, such as `client.md`. */
  page: string;
  jsDoc: JsDoc;
  symbols: Symbol[];
}

/** The groups of a page, by what the symbols are. */
const GROUPS: Readonly<Record<string, string>> = {
  function: "Functions",
  class: "Classes",
  variable: "Variables",
  interface: "Interfaces",
  typeAlias: "Types",
};

/** Where each symbol is described: `client.md#authclient`, by its name and by its place in the sources. */
type Addresses = ReadonlyMap<string, string>;

/** Writes the reference as Markdown into a directory. */
export async function writeReference(directory: URL): Promise<void> {
  const { exports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  const providers = Object.keys(exports).filter((name) => name.startsWith("./providers/"));
  const entryPoints = await readEntryPoints(exports);
  await Deno.mkdir(directory, { recursive: true });
  for (const [name, text] of referencePages(entryPoints, providers.map((path) => path.slice("./providers/".length)))) {
    await Deno.writeTextFile(new URL(name, directory), text);
  }
  // Code that is wider than its column would have to be scrolled.
  const options = ["fmt", "-q", "--no-config", `--line-width=${CODE_WIDTH}`, "--prose-wrap=preserve"];
  await deno([...options, ...entryPoints.map(({ page }) => new URL(page, directory).pathname)]);
}

/** Every entry point but the single providers. */
async function readEntryPoints(exports: Record<string, string>): Promise<EntryPoint[]> {
  const files = Object.entries(exports).filter(([name]) => !name.startsWith("./providers/"));
  const { nodes } = JSON.parse(await deno(["doc", "--json", ...files.map(([, file]) => file)]));
  return files.map(([name, file]) => {
    const { module_doc, symbols } = nodes[new URL(file, root).href];
    const page = name === "." ? "fastify-authjs.md" : `${name.slice(2)}.md`;
    return { specifier: name.replace(".", "fastify-authjs"), page, jsDoc: module_doc ?? {}, symbols };
  });
}

async function deno(args: string[]): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), { args, cwd: root, env: { NO_COLOR: "1" } });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/**
 * The pages of the reference, by their names.
 *
 * @param providers The names of the subpaths below `providers/`.
 */
export function referencePages(entryPoints: readonly EntryPoint[], providers: readonly string[]): Map<string, string> {
  const addresses = addressesOf(entryPoints);
  const pages = entryPoints.map((entryPoint, index): [string, string] => {
    const single = entryPoint.page === "providers.md" ? providersText(providers) : "";
    return [entryPoint.page, front(index + 2) + pageText(entryPoint, single, addresses)];
  });
  const rows = entryPoints.map(({ specifier, page, jsDoc }) =>
    `| [\`${specifier}\`](${page}) | ${jsDoc.doc?.match(/^[\s\S]*?\.(?=\s|$)/)?.[0].replace(/\s+/g, " ") ?? ""} |`
  );
  const index = `# API\n\nWhat can be imported, and from where:\n\n| entry point | what it is |\n| - | - |\n`;
  return new Map([["index.md", `${front(1)}${index}${rows.join("\n")}\n`], ...pages]);
}

function front(order: number): string {
  return `---\ngroup: API\norder: ${order}\neditLink: false\n---\n\n`;
}

/** The first page that describes a symbol is the one that others lead to. */
function addressesOf(entryPoints: readonly EntryPoint[]): Addresses {
  const addresses = new Map<string, string>();
  for (const { page, symbols } of entryPoints) {
    for (const { name, declarations } of symbols) {
      const address = `${page}#${name.toLowerCase()}`;
      for (const key of [name, ...declarations.map(placeOf)]) {
        if (!addresses.has(key) && declarations[0]?.kind !== "reference") addresses.set(key, address);
      }
    }
  }
  return addresses;
}

function placeOf({ location, target = location }: Declaration): string {
  return `${target.filename}:${target.line}`;
}

function providersText(names: readonly string[]): string {
  return `Each of the ${names.length} [providers](../providers.md) has a subpath of its own, whose default export makes it:
\`fastify-authjs/providers/github\`, and so on: ${names.map((name) => `\`${name}\``).join(", ")}.\n\n`;
}

function pageText({ specifier, page, jsDoc, symbols }: EntryPoint, text: string, addresses: Addresses): string {
  const parts = [`# ${specifier}\n\n${docText(jsDoc, addresses)}${text}`];
  for (const [kind, title] of Object.entries(GROUPS)) {
    const group = symbols.filter(({ declarations }) => kindOf(declarations) === kind);
    if (group.length === 0) continue;
    group.sort((one, other) => one.name.localeCompare(other.name));
    parts.push(`## ${title}\n`, ...group.map((symbol) => symbolText(symbol, page, addresses)));
  }
  return parts.join("\n");
}

/** A symbol that comes from another entry point is among the types. */
function kindOf([first]: Declaration[]): string {
  return first?.kind === "reference" ? "typeAlias" : first?.kind ?? "";
}

function symbolText({ name, declarations }: Symbol, page: string, addresses: Addresses): string {
  const heading = `### ${name}\n\n`;
  const address = addresses.get(placeOf(declarations[0]!));
  if (address && address !== `${page}#${name.toLowerCase()}`) {
    return `${heading}The same as [\`${name}\`](${address}).\n`;
  }
  const dependency = packageOf(declarations[0]!.location);
  if (dependency) {
    return `${heading}Of [\`${dependency}\`](https://www.npmjs.com/package/${dependency}), which documents it.\n`;
  }
  // The signature of an implementation with overloads cannot be called.
  const callable = declarations.filter(({ jsDoc, kind }) => jsDoc || kind !== "function");
  return heading + callable.map((declaration) => declarationSection(name, declaration, addresses)).join("\n");
}

/** The package that something is declared in, unless that is this one. */
function packageOf({ filename }: Location): string | undefined {
  if (filename.startsWith(root.href) && !filename.includes("/node_modules/")) return undefined;
  return filename.match(/.*\/(?:node_modules|registry\.npmjs\.org)\/((?:@[^/]+\/)?[^/]+)\//)?.[1];
}

function declarationSection(name: string, declaration: Declaration, addresses: Addresses): string {
  const code = `\`\`\`ts\n${declarationText(name, declaration)}\n\`\`\`\n\n`;
  const links = namesIn(declaration.def).filter((other) => other !== name && addresses.has(other))
    .map((other) => `[\`${other}\`](${addresses.get(other)})`);
  const types = links.length > 0 ? `Types: ${links.join(", ")}\n\n` : "";
  const members = membersOf(declaration.def, "").map(({ path, member }) =>
    `- \`${path}\`: ${indented(docText(member.jsDoc ?? {}, addresses))}\n`
  );
  const list = members.length > 0 ? `**Members**\n\n${members.join("")}\n` : "";
  return code + types + docText(declaration.jsDoc ?? {}, addresses) + list;
}

/** The names of the types in a definition. */
function namesIn(def: unknown): string[] {
  const names = new Set<string>();
  JSON.stringify(def, (key, value) => {
    if (key === "typeName") names.add(value);
    return value;
  });
  return [...names];
}

/** The documented members, and those of objects in them: `session.maxAge`. */
// deno-lint-ignore no-explicit-any
function membersOf(def: any, prefix: string): { path: string; member: Member }[] {
  if (!def) return [];
  if (def.kind === "intersection") return def.value.flatMap((part: unknown) => membersOf(part, prefix));
  // A type: what is in an object of a declaration's own.
  if (def.kind === "typeLiteral") return membersOf(def.value, prefix);
  const calls = (def.callSignatures ?? []).map((call: Member) => ({ ...call, name: "(call)" }));
  const members: Member[] = [...def.constructors ?? [], ...calls, ...def.properties ?? [], ...def.methods ?? []];
  const own = members.flatMap((member) => {
    const path = `${prefix}${member.name}`;
    const inner = membersOf(member.tsType, `${path}.`);
    return member.jsDoc?.doc ? [{ path, member }, ...inner] : inner;
  });
  return def.tsType ? [...own, ...membersOf(def.tsType, prefix)] : own;
}

/** A docstring as Markdown. */
function docText({ doc = "", tags = [] }: JsDoc, addresses: Addresses): string {
  const text = (value = "") => prose(value, addresses);
  const of = (kind: string) =>
    tags.flatMap((tag) => {
      if (tag.kind === kind) return [{ ...tag, text: text(tag.doc ?? tag.value) }];
      const value = tag.kind === "unsupported" && tag.value?.startsWith(`@${kind} `) ? tag.value : undefined;
      return value ? [{ ...tag, text: text(value.slice(kind.length + 2)) }] : [];
    });
  const parts = [
    ...of("deprecated").map((tag) => `**Deprecated**: ${tag.text}`),
    text(doc),
    listOf("Parameters", of("param").map((tag) => `\`${tag.name}\`: ${indented(tag.text)}`)),
    ...of("return").map((tag) => `**Returns** ${tag.text}`),
    listOf("Throws", of("throws").map((tag) => `${thrown(tag.tsType?.repr, addresses)}${indented(tag.text)}`)),
    ...of("default").map((tag) =>
      `**Default**: ${tag.text.replace(/^(\[\]|\{\}|-?\d[\d_.]*|true|false|"[^"]*")(?=$| )/, "`$1`")}`
    ),
    ...of("example").map((tag) => `**Example**${tag.text.startsWith("```") ? "" : ": "}${titled(tag.text)}`),
    ...of("see").map((tag) => `**See** ${tag.text}`),
  ];
  return parts.filter(Boolean).map((part) => `${part}\n\n`).join("");
}

function listOf(title: string, items: string[]): string {
  return items.length > 0 ? `**${title}**\n\n${items.map((item) => `- ${item}`).join("\n")}` : "";
}

function thrown(name: string | undefined, addresses: Addresses): string {
  return name ? `${linked(name, addresses)}: ` : "";
}

/** An example's title is in the line before its code. */
function titled(text: string): string {
  return text.startsWith("```") ? `\n\n${text}` : text.replace(/\n```/, "\n\n```");
}

function indented(text: string): string {
  return text.trim().replaceAll("\n", "\n  ");
}

function linked(name: string, addresses: Addresses): string {
  const address = addresses.get(name);
  return address ? `[\`${name}\`](${address})` : `\`${name}\``;
}

function prose(text: string, addresses: Addresses): string {
  const isCode = /(```[\s\S]*?```|`[^`]*`)/;
  // Outside of code VitePress takes `<id>` for an element.
  const escaped = text.split(isCode).map((part) => isCode.test(part) ? part : part.replaceAll("<", "\\<")).join("");
  return escaped.replace(/\{@link(?:code)? ([^}\s]+)[^}]*\}/g, (_, name) => linked(name, addresses))
    .replace(/^```ts ignore/gm, "```ts").trim();
}
