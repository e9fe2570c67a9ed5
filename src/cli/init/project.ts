/** The files of a new project, made of templates. */
import { randomBytes } from "node:crypto";
import { drizzle, sql } from "../schema.ts";
import type { Choices } from "./choices.ts";
import { callbackUrl, entryOf, isOAuth, usesSmtp, variablesOf } from "./provider.ts";
import { TEMPLATES, VERSION } from "./templates.ts";

/** What stands in place of `{{name}}` in templates. Of several values each is a line. */
type Values = Readonly<Record<string, string | readonly string[]>>;

export function filesOf(
  { runtime, providers, database }: Choices,
  name: string,
  own: { tsx: boolean; package?: string | undefined; checkout?: string | undefined },
): Map<string, string> {
  const registered = providers.filter(isOAuth);
  const variables = providers.flatMap(variablesOf);
  const flags = new Set<string>([
    runtime,
    ...database === "none" ? [] : [database, "database"],
    ...providers.map(({ type }) => type),
    ...registered.length > 0 ? ["oauth"] : [],
    ...providers.some(usesSmtp) ? ["smtp"] : [],
    ...providers.some((each) => each.options || each.type === "email" && !usesSmtp(each)) ? ["settings"] : [],
    ...own.tsx ? ["tsx"] : [],
    ...own.checkout ? ["checkout"] : [],
  ]);
  const values: Values = {
    name,
    smtp: providers.find(usesSmtp)?.id ?? "",
    package: own.package ?? VERSION,
    checkout: own.checkout ?? "",
    imports: providers.map(({ module, factory }) => `import ${factory} from "fastify-authjs/providers/${module}";`),
    entries: providers.map(entryOf),
    ids: providers.map(({ id }) => `"${id}",`),
    registered: registered.map((provider) => provider.name).join(", "),
    callbacks: registered.map((provider) => `- ${provider.name}: \`${callbackUrl(provider)}\``),
    variables: variables.map(({ name, about, example }) => `\n# ${about}\n${name}=${example}`),
    testVariables: variables.map(({ name, test }) => `${name}=${test}`),
  };
  const secret = randomBytes(33).toString("base64url");
  const env = render(TEMPLATES[".env.example"]!, flags, { ...values, secret });
  const unset = [...env.matchAll(/^(\w+)=$/gm)].map(([, variable]) => `\`${variable}\``);
  if (unset.length > 0) flags.add("unset");

  const files = new Map([[".env", env]]);
  if (database !== "none") files.set("src/schema.ts", schemaOf(database, [...flags]));
  for (const [path, template] of Object.entries(TEMPLATES)) {
    const text = render(template, flags, { ...values, unset: unset.join(", ") });
    if (text !== "") files.set(pathOf(path, runtime), finished(path, text, runtime));
  }
  return files;
}

function schemaOf(database: "libsql" | "postgres", flags: readonly string[]): string {
  const dialect = database === "libsql" ? "sqlite" : "postgres";
  return `${drizzle(dialect, flags)}
/**
 * Makes what is not there yet. Later changes are easier with drizzle-kit, which
 * writes the SQL from the tables above.
 */
export const MIGRATION = \`
${sql(dialect, flags)}
\`;
`;
}

/** Where runtimes look for a file. Templates of one database stand beside those of the other. */
function pathOf(path: string, runtime: Choices["runtime"]): string {
  if (path === "test/app.ts") return runtime === "deno" ? "test/app_test.ts" : "test/app.test.ts";
  return path.replace(/^postgres\//, "");
}

/** What lines of a template cannot say: commas before an end, numbers of steps, and what tests are called. */
function finished(path: string, text: string, runtime: Choices["runtime"]): string {
  if (path.endsWith(".json")) return text.replace(/,(?=\s*\})/g, "");
  let step = 0;
  if (path === "README.md") return text.replace(/^1\. /gm, () => `${++step}. `);
  return path === "test/app.ts" && runtime === "node" ? text.replaceAll("Deno.test(", "test(") : text;
}

/**
 * The text of a template. `//? libsql` at the end of a line keeps it with libSQL only, and on a line of its own
 * all lines until `//? end`. Of several words all must hold; `a|b` is either, `!a` is not. `#?` and `<!--? -->`
 * do the same in other languages. A line behind `//|` is one that the template itself leaves out. `{{name}}` is
 * a value, `{{libsql?text}}` a text that is kept as a line is.
 */
function render(template: string, flags: ReadonlySet<string>, values: Values): string {
  const isSet = (word: string) => word.startsWith("!") ? !flags.has(word.slice(1)) : flags.has(word);
  const holds = (condition: string) => condition.split(" ").every((words) => words.split("|").some(isSet));
  const open: boolean[] = [];
  const lines: string[] = [];
  for (const line of template.split("\n")) {
    const [, before = line, condition] = /^(.*?)\s*(?:\/\/|#|<!--)\? (.*?)(?: -->)?$/.exec(line) ?? [];
    if (condition === "end") open.pop();
    else if (condition !== undefined && before === "") open.push(holds(condition));
    else if (open.every(Boolean) && (condition === undefined || holds(condition))) {
      lines.push(...filled(before.replace(/^\s*\/\/\| /, ""), holds, values));
    }
  }
  return lines.join("\n");
}

function filled(line: string, holds: (condition: string) => boolean, values: Values): string[] {
  const [, indent = "", name = ""] = /^(\s*)(?:\/\/ |# )?\{\{(\w+)\}\}$/.exec(line) ?? [];
  const listed = values[name];
  if (typeof listed === "object") return listed.map((text) => text.replace(/^(?=.)/gm, indent));
  return [
    line.replace(
      /\{\{(!?\w+)(?:\?(.*?))?\}\}/g,
      (_, name, text) => text === undefined ? values[name] ?? "" : holds(name) ? text : "",
    ),
  ];
}
