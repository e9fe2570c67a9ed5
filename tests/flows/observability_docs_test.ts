/** What `docs/observability.md` and `docs/events.md` say of names, and that nothing else loads OpenTelemetry. */
import { assert, assertEquals } from "@std/assert";
import { FastifyAuthInstrumentation } from "fastify-authjs/opentelemetry";
import { AUTH_ROUTES } from "../../src/routes/table.ts";
import { ACTIONS, EVENTS, METRICS, SPANS } from "../support/telemetry_names.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, root));

/** A row of a table, as the names in the code of its cells. */
interface Row {
  readonly name: string;
  readonly second: string[];
  readonly third: string[];
}

/** The rows of the tables of a page that begin with a name. */
async function rowsOf(page: string): Promise<Row[]> {
  const lines = (await read(page)).split("\n").filter((line) => /^\| `/.test(line));
  return lines.map((line) => {
    const cells = line.slice(1, -1).split(" | ").map((cell) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
    );
    return { name: cells[0]![0]!, second: cells[1] ?? [], third: cells[2] ?? [] };
  });
}

Deno.test("docs/observability.md has every span, every metric and every attribute, and no other", async () => {
  const rows = await rowsOf("docs/observability.md");
  assertEquals(rows.map(({ name }) => name).filter((name) => name in SPANS), Object.keys(SPANS));
  const metrics = rows.filter(({ name }) => name in METRICS);
  assertEquals(
    Object.fromEntries(
      metrics.map(({ name, second, third }) => [name, { unit: second[0], attributes: third }]),
    ),
    { ...METRICS } as Record<string, { unit: string | undefined; attributes: string[] }>,
  );
  const all = Object.keys(SPANS);
  const attributes = [...new Set(Object.values(SPANS).flat())].sort();
  assertEquals(
    rows.filter(({ name }) => attributes.includes(name)).map(({ name, second }) => [name, second]),
    attributes.map((attribute) => {
      const on = all.filter((span) => SPANS[span]!.includes(attribute));
      return [attribute, on.length === all.length ? [] : on];
    }),
  );
  const known = [...all, ...Object.keys(METRICS), ...attributes];
  const others = rows.map(({ name }) => name).filter((name) => name.startsWith("authjs."));
  assertEquals(others.filter((name) => !known.includes(name)), []);
  const text = await read("docs/observability.md");
  const actions = [...ACTIONS, ...AUTH_ROUTES.map(({ action }) => action)];
  for (const name of [...actions, ...EVENTS]) assert(text.includes(`\`${name}\``), `${name} is missing`);
});

Deno.test("docs/events.md has every channel of the audit trail with its type, and the fields of each", async () => {
  const rows = await rowsOf("docs/events.md");
  const toType = (name: string) =>
    `${name.split("-").map((word) => word[0]!.toUpperCase() + word.slice(1)).join("")}Event`;
  assertEquals(
    rows.filter(({ name }) => name.startsWith("fastify-authjs:")).map(({ name, second }) => [name, ...second])
      .sort(),
    EVENTS.map((name) => [`fastify-authjs:${name}`, toType(name)]),
  );
  const types = await read("src/types/telemetry.ts");
  const page = await read("docs/events.md");
  for (const type of ["AuthEvent", ...EVENTS.map(toType)]) {
    const [, body = ""] = new RegExp(`interface ${type} [^{]*{([\\s\\S]*?)\n}`).exec(types) ?? [];
    const fields = [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => name!);
    assert(fields.length > 0, type);
    for (const field of fields) assert(page.includes(`| \`${field}\` `), `${field} of ${type} is missing`);
  }
});

Deno.test("only fastify-authjs/opentelemetry loads OpenTelemetry", async () => {
  const loading = async (folder: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
      if (isDirectory) found.push(...await loading(`${folder}${name}/`));
      else if (/(?:from|import)\s*\(?\s*"@opentelemetry/.test(await read(`${folder}${name}`))) {
        found.push(folder + name);
      }
    }
    return found;
  };
  const files = await loading("src/");
  assert(files.length > 0);
  assertEquals(files.filter((file) => !file.startsWith("src/features/telemetry/")), []);
});

Deno.test("the instrumentation names the version of the package", async () => {
  const instrumentation = new FastifyAuthInstrumentation({ enabled: false });
  assertEquals(instrumentation.instrumentationVersion, JSON.parse(await read("deno.json")).version);
});
