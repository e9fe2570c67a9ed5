/**
 * Measures this package against its peers and writes `docs/benchmarks.md` and its chart: `deno task bench`.
 *
 * `--minutes=55` is how long the servers are loaded; the rest takes fifteen minutes more. `--only=node`,
 * `--only="node 20"` or `--only=deno` measures on these alone; `--section=known,start` measures these sections. Both
 * print the table and write nothing.
 * `--package=<directory>` takes a package that is built already.
 */
import { readFile, writeFile } from "node:fs/promises";
import { arch, cpus, platform, release, totalmem } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type GroupName, GROUPS, measureGroup } from "./http.ts";
import { measureOperations } from "./operations.ts";
import { chart, type Machine, type Measured, table } from "./report.ts";
import { repeat } from "./rounds.ts";
import { findRuntimes, install, installedVersions, run, runMeasured } from "./setup.ts";

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const DOCUMENT = pathOf("../docs/benchmarks.md");
const CHART = pathOf("../docs/images/benchmarks.svg");

/** What each section gets of the time. */
const SHARES = {
  known: 0.2,
  slow: 0.07,
  many: 0.08,
  access: 0.05,
  anyClient: 0.05,
  operations: 0.5,
  start: 0.05,
};

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  options: {
    minutes: { type: "string", default: "55" },
    only: { type: "string" },
    section: { type: "string" },
    package: { type: "string" },
  },
});

const sections = options.section?.split(",") ?? Object.keys(SHARES);
const unknown = sections.find((name) => !Object.hasOwn(SHARES, name));
if (unknown !== undefined) throw new Error(`--section is some of ${Object.keys(SHARES).join(",")}`);

await install(options.package);
const runtimes = await findRuntimes();
const node24 = runtimes.find(({ name }) => name.startsWith("Node 24"))!;
const chosen = runtimes.filter(({ name }) => name.toLowerCase().startsWith(options.only ?? ""));
if (chosen.length === 0) {
  throw new Error(`--only is the beginning of one of ${runtimes.map(({ name }) => name)}`);
}

const results: Measured[] = [];
for (const runtime of chosen) {
  console.log(`${new Date().toISOString()} ${runtime.name}`);
  const secondsOf = (name: keyof typeof SHARES) => Number(options.minutes) * 60 * SHARES[name] / chosen.length;
  const measured: Record<string, unknown> = { runtime: runtime.name, operations: [], start: [] };
  for (const name of Object.keys(GROUPS) as GroupName[]) {
    measured[name] = sections.includes(name) ? await measureGroup(name, runtime, node24, secondsOf(name)) : [];
  }
  if (sections.includes("operations")) {
    measured.operations = await measureOperations(runtime, node24, secondsOf("operations"));
  }
  const start = (what: string) => runMeasured<number>(runtime, "start.js", what);
  if (sections.includes("start")) {
    measured.start = await repeat(
      secondsOf("start"),
      async () => ({ port: await start("port"), own: await start("own") }),
    );
  }
  results.push(measured as unknown as Measured);
}

const [processor] = cpus();
const machine: Machine = {
  date: new Date().toISOString().slice(0, 10),
  machine: `${cpus().length} × ${processor?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, ` +
    `${platform()} ${release()} ${arch()}`,
  versions: await installedVersions(),
};
console.log(table(results, machine));
if (options.only === undefined && options.section === undefined) await write();

/** Puts the table where the document keeps it, between its two marks. */
async function write(): Promise<void> {
  const document = await readFile(DOCUMENT, "utf8");
  const marks = /(<!-- measured -->\n)[\s\S]*(<!-- \/measured -->)/;
  if (!marks.test(document)) throw new Error(`${DOCUMENT} has lost its marks`);
  const written = document.replace(
    marks,
    (_, before, after) => `${before}\n${table(results, machine)}\n\n${after}`,
  );
  await writeFile(DOCUMENT, written);
  await writeFile(CHART, chart(results, machine));
  await run(process.execPath, ["fmt", "--quiet", DOCUMENT, CHART]);
}
