/**
 * Writes `docs/options.md` from the types of every entry point, their docstrings, and `option_texts.ts`. With `--check`
 * it writes nothing and fails if the page is stale.
 */
import { CORE_OPTIONS, EXAMPLES } from "./option_texts.ts";
import { writePage } from "./generated_page.ts";

const root = new URL("../", import.meta.url);

/** A part of a type, as `deno doc --json` describes it. */
interface Member {
  name: string;
  optional?: boolean;
  jsDoc?: { doc?: string; tags?: { kind: string; value?: string; doc?: string }[] };
  location: { filename: string; byteIndex: number };
  tsType?: Type;
}

interface Type {
  kind: string;
  repr?: string;
  /** A list for an intersection or a union, an object for others. */
  value?: Type[] | { properties?: Member[]; typeParams?: Type[] };
}

interface Declaration {
  kind: string;
  jsDoc?: Member["jsDoc"];
  def?: { extends?: Type[]; properties?: Member[]; tsType?: Type };
}

/** An interface, or an alias of an object type, with its entry point. */
interface OptionObject {
  name: string;
  entry: string;
  declaration: Declaration;
}

/** The parts of a type: the members of an intersection, and those of a union. */
function partsOf({ value }: Type): Type[] {
  return Array.isArray(value) ? value : [];
}

/** An alias as the interface that could stand for it. */
function asInterface({ kind, def: { tsType } = {}, ...rest }: Declaration): Declaration | undefined {
  if (kind !== "typeAlias" || tsType === undefined) return undefined;
  const parts = tsType.kind === "intersection" ? partsOf(tsType) : [tsType];
  if (!parts.every((part) => part.kind === "typeRef" || part.kind === "typeLiteral")) return undefined;
  const properties = parts.flatMap((part) => Array.isArray(part.value) ? [] : part.value?.properties ?? []);
  return { ...rest, kind, def: { properties, extends: parts.filter((part) => part.kind === "typeRef") } };
}

/** Every interface of an entry point, and every alias that is like one, by its name. */
async function readInterfaces(): Promise<Map<string, OptionObject>> {
  const { exports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  const entries = Object.entries<string>(exports).filter(([name]) => !name.startsWith("./providers/"));
  const command = new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...entries.map(([, file]) => file)],
    cwd: root,
    stderr: "null",
  });
  const { nodes } = JSON.parse(new TextDecoder().decode((await command.output()).stdout));
  const interfaces = new Map<string, OptionObject>();
  for (const [name, file] of entries) {
    const { symbols } = nodes[new URL(file, root).href];
    for (const symbol of symbols) {
      const declaration = symbol.declarations.find(({ kind }: Declaration) => kind === "interface") ??
        symbol.declarations.map(asInterface).find((each: Declaration | undefined) => each !== undefined);
      const entry = name.replace(/^\./, "fastify-authjs");
      if (declaration && !interfaces.has(symbol.name)) {
        interfaces.set(symbol.name, { name: symbol.name, entry, declaration });
      }
    }
  }
  return interfaces;
}

const sources = new Map<string, Uint8Array>();

/** The type of a member as it is written in its source; one that is long or has parts of its own only by its kind. */
function typeOf({ name, location: { filename, byteIndex } }: Member): string {
  if (!sources.has(filename)) sources.set(filename, Deno.readFileSync(new URL(filename)));
  const text = new TextDecoder().decode(sources.get(filename)!.subarray(byteIndex, byteIndex + 4000));
  let depth = 0;
  let end = 0;
  for (; end < text.length; end++) {
    const character = text[end]!;
    if ("({[".includes(character)) depth++;
    if (")}]".includes(character)) depth--;
    if (depth < 0 || (depth === 0 && (character === ";" || text.startsWith(",\n", end)))) break;
  }
  const type = text.slice(0, end).replace(/^readonly /, "").slice(name.length)
    .replace(/^\??:?\s*/, "").replace(/\/\*[\s\S]*?\*\//g, "").replace(/\s+/g, " ").trim();
  if (type.length <= 80) return type;
  return type.startsWith("(") && type.includes("=>") ? "(params) => …" : "object";
}

function tagOf({ jsDoc }: Pick<Member, "jsDoc">, name: string): string | undefined {
  // `deno doc` takes an object for the type of the tag.
  const texts =
    jsDoc?.tags?.map(({ kind, value, doc = "" }) =>
      value === undefined || kind !== "default" ? value ?? `@${kind} ${doc}` : `@${kind} {${value}} ${doc}`
    ) ?? [];
  return texts.find((text) => text.startsWith(`@${name} `))?.slice(name.length + 2).replace(/\s+/g, " ")
    .trim();
}

/** A default with its value, if it has one, as code. */
function defaultOf(text: string): string {
  return text.replace(/^(\[[^\]]*\]|\{[^}]*\}|-?\d[\d_.]*|true|false|"[^"]*")(?=$| )/, "`$1`");
}

function prose(text: string): string {
  return text.replace(/\{@link(?:code)? ([^}]+)\}/g, "`$1`").replace(/```ts ignore/g, "```ts").trim();
}

/** An example that can be compiled: a line of the configuration, or what is given whole. */
function example(text: string): string {
  const providers = text.startsWith("providers:") ? "" : "providers, ";
  const code = text.startsWith("const ") || text.startsWith("await ") || text.startsWith("app.")
    ? text
    : `const config: FastifyAuthConfig = { ${providers}${text} };`;
  return `\n\n\`\`\`ts\n${code}\n\`\`\``;
}

interface Section {
  name: string;
  text: string;
  type: string;
  default: string;
  example?: string | undefined;
}

function section({ name, text, type, default: value, example: code }: Section): string {
  return `### ${name}\n\n${text}\n\n- type: \`${type}\`\n- default: ${value}${code ? example(code) : ""}\n`;
}

function ownSection(member: Member, path: string, name = member.name): string {
  const doc = member.jsDoc?.doc;
  if (!doc) throw new Error(`${path} has no docstring`);
  const value = tagOf(member, "default");
  return section({
    name,
    text: prose(doc),
    type: typeOf(member),
    default: value ? defaultOf(value) : member.optional ? "none" : "none, it is required",
    example: EXAMPLES[path],
  });
}

/** A member below others, such as `session.maxAge`. */
function find(members: readonly Member[], path: string): Member {
  const [name, ...rest] = path.split(".");
  const member = members.find((member) => member.name === name);
  if (!member) throw new Error(`core has no option ${path}: take it out of scripts/option_texts.ts`);
  const { value } = member.tsType ?? {};
  return rest.length === 0 ? member : find(Array.isArray(value) ? [] : value?.properties ?? [], rest.join("."));
}

/** Core's options: those of the plugin's own types are described there. */
function coreSections(core: readonly Member[], own: ReadonlyMap<string, Member>): string[] {
  const missing = core.filter(({ name }) => name !== "raw" && !CORE_OPTIONS[name]);
  if (missing.length > 0) {
    throw new Error(`scripts/option_texts.ts lacks ${missing.map(({ name }) => name).join(", ")}`);
  }
  return Object.entries(CORE_OPTIONS).map(([name, text]) => {
    const replaced = own.get(name);
    if (replaced) return ownSection(replaced, name, name);
    const value = text.default ?? "none, it is required";
    const type = text.type ?? typeOf(find(core, name));
    return section({ name, text: text.text, type, default: value, example: EXAMPLES[name] });
  });
}

function membersOf({ declaration: { def } }: OptionObject): Member[] {
  return def?.properties ?? [];
}

/** The configurations, which have sections of their own. */
const CONFIGURATIONS = ["AuthConfig", "CreateAuthConfig", "FastifyAuthConfig", "FastifyAuthOptions"];

/** Objects within options. */
const WITHIN = ["ApiIssuer", "PageLinks", "PagePanel", "RateLimit"];

/** Whether an interface is what a user gives to a function of this package, and has something to say. */
function isOptionObject({ name, entry, declaration: { kind, def } }: OptionObject): boolean {
  if (CONFIGURATIONS.includes(name) || entry.endsWith("/providers")) return false;
  const says = (def?.properties ?? []).length > 0 || kind === "typeAlias";
  return says && (WITHIN.includes(name) || /(Options|Pages|Config)$/.test(name));
}

/** The interfaces that one is put together from, each after its own bases. */
function basesOf(name: string, interfaces: ReadonlyMap<string, OptionObject>): string[] {
  const { extends: bases = [] } = interfaces.get(name)!.declaration.def ?? {};
  return bases.flatMap(({ repr = "" }) => [...basesOf(repr, interfaces), repr]);
}

const LIST = new Intl.ListFormat("en-GB");

type Inherited = Map<string, OptionObject>;

/** The members that an interface has of others, each with the one that describes it. */
function inheritedBy({ declaration: { def } }: OptionObject, interfaces: ReadonlyMap<string, OptionObject>): Inherited {
  const inherited: Inherited = new Map();
  for (const base of def?.extends ?? []) {
    const { typeParams = [] } = Array.isArray(base.value) ? {} : base.value ?? {};
    const isSelected = base.repr === "Omit" || base.repr === "Pick";
    const object = interfaces.get((isSelected ? typeParams[0]?.repr : base.repr) ?? "");
    if (object === undefined) continue;
    const [, selection] = typeParams;
    const selected = isSelected && selection ? [selection, ...partsOf(selection)].map(({ repr }) => repr) : [];
    const members: Inherited = new Map(inheritedBy(object, interfaces));
    for (const { name } of membersOf(object)) members.set(name, object);
    for (const [name, from] of members) {
      if (!isSelected || selected.includes(name) === (base.repr === "Pick")) inherited.set(name, from);
    }
  }
  return inherited;
}

/** Says which members an interface has of others, with links to them. */
function inheritance(object: OptionObject, interfaces: ReadonlyMap<string, OptionObject>): string {
  const inherited = [...inheritedBy(object, interfaces)];
  if (inherited.length === 0) return "";
  const sources = Map.groupBy(inherited, ([, { name }]) => name);
  const parts = [...sources].map(([source, members]) => {
    const names = members.map(([name]) => `\`${name}\``);
    return `${LIST.format(names)} of [${source}](#${source.toLowerCase()})`;
  });
  return `\n\nIt ${membersOf(object).length > 0 ? "also " : ""}has ${parts.join(", and ")}.`;
}

async function page(): Promise<string> {
  const interfaces = await readInterfaces();
  const own = new Map(membersOf(interfaces.get("FastifyAuthConfig")!).map((member) => [member.name, member]));
  for (const member of membersOf(interfaces.get("FastifyAuthSession")!)) own.set(`session.${member.name}`, member);
  const ofProvider = membersOf(interfaces.get("OAuth2Config")!).find(({ name }) => name === "initiateLogin")!;
  const parts = basesOf("FastifyAuthOptions", interfaces);
  const options = parts.flatMap((name) => membersOf(interfaces.get(name)!));
  const others = [...interfaces.values()].filter(isOptionObject).filter(({ name }) => !parts.includes(name));
  const lacking = options.filter(({ name }) => !EXAMPLES[name]).map(({ name }) => name);
  if (lacking.length > 0) throw new Error(`scripts/option_texts.ts has no example of ${lacking.join(", ")}`);
  return `---
group: Reference
order: 1
---

<!-- Generated by \`deno task generate:docs\`: changes made here are lost. -->

# Options

Every option, with its type and its default. Times are in milliseconds if the name of the option ends in \`Timeout\`, or
is \`timeWindow\` or \`interval\`; all others are in seconds. What cannot work stops the boot with a message that says what to change.

## The plugin's options

\`FastifyAuth(config)\`, \`getSession(request, config)\` and \`requireSession(config)\` take one configuration: these options,
and those of core below.

${options.map((member) => ownSection(member, member.name)).join("\n")}
## Core's options

\`raw\` is the only option of core that the configuration does not have.

${coreSections(membersOf(interfaces.get("AuthConfig")!), own).join("\n")}
## The plugin's option of a provider

An OAuth or OpenID Connect provider in \`providers\` has the options of core, and this one.

${ownSection(ofProvider, ofProvider.name)}
${others.map((object) => objectSections(object, interfaces)).join("\n")}`;
}

function objectSections(object: OptionObject, interfaces: ReadonlyMap<string, OptionObject>): string {
  const { name, entry, declaration } = object;
  const sections = membersOf(object).map((member) => ownSection(member, `${name}.${member.name}`));
  // Without examples, and the line that leads to one.
  const about = prose(declaration.jsDoc?.doc ?? "").split(/(?:\n\n[^\n]*:\s*)?```|, \.\.\./)[0]!;
  const from = `From \`${entry}\`.${inheritance(object, interfaces)}`;
  return `## ${name}\n\n${about}\n\n${from}\n\n${sections.join("\n")}`;
}

if (import.meta.main) {
  Deno.exit(await writePage("options.md", await page(), Deno.args.includes("--check")));
}
