/**
 * Measures this package against its peers and writes `docs/benchmarks.md` and its chart: `deno task bench`.
 *
 * `--minutes=30` is about how long it takes. `--quick` takes three minutes, on Node 24 alone unless `--only` says
 * otherwise, and only prints. `--only=node` or `--only=deno` leaves the others out. `--package=<directory>` takes a package
 * that is built already. `--section=operations` measures that section again, and keeps the last results of the others.
 * `--report` writes the last results again.
 *
 * @module
 */
import { readFile, writeFile } from "node:fs/promises";
import { arch, cpus, platform, release, totalmem } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chart } from "./chart.ts";
import { effortOf, type Section } from "./effort.ts";
import { measureHttp } from "./http.ts";
import { measureOperations } from "./operations.ts";
import { profileReads } from "./profile.ts";
import { measureReads } from "./reads.ts";
import { type Measured, type Pass, tables } from "./report.ts";
import { measureStart } from "./start.ts";
import { findRuntimes, install, installedVersions, type Runtime } from "./setup.ts";

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const RESULTS = pathOf("results.json");
const DOCUMENT = pathOf("../docs/benchmarks.md");
const CHART = pathOf("../docs/images/benchmarks.svg");

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  options: {
    quick: { type: "boolean", default: false },
    report: { type: "boolean", default: false },
    minutes: { type: "string", default: "30" },
    only: { type: "string" },
    section: { type: "string" },
    package: { type: "string" },
  },
});

/** Seconds that building, installing and profiling take. */
const OTHER_WORK = 180;

/** The same for `--quick`. */
const QUICK = 60;

/** The seconds for all measurements together. */
function secondsToMeasure(): number {
  if (options.quick) return QUICK;
  const minutes = Number(options.minutes);
  if (!(minutes >= 5)) throw new Error("--minutes must be a number of at least 5");
  return minutes * 60 - OTHER_WORK;
}

async function measure(): Promise<Measured> {
  const seconds = secondsToMeasure();
  await install(options.package);
  const runtimes = await findRuntimes();
  // Its own choice of runtime must not decide about the load.
  const node24 = runtimes.find(({ name }) => name.startsWith("Node 24"))!;
  const only = options.only ?? (options.quick ? "node 24" : "");
  const chosen = runtimes.filter(({ name }) => name.toLowerCase().startsWith(only));
  const measured: Measured = options.section !== undefined ? await lastMeasured(chosen) : {
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    versions: await installedVersions(),
    runtimes: chosen.map(({ name }) => ({ name, passes: [] })),
    profile: await profileReads(node24, options.quick ? 1000 : 10_000),
  };
  // The whole table twice: what does not repeat is not a result.
  const passes = options.quick ? 1 : 2;
  const effort = (section: Section) => effortOf(section, seconds, chosen.length * passes);
  for (let pass = 0; pass < passes; pass++) {
    for (const [index, runtime] of chosen.entries()) {
      console.log(`${new Date().toISOString()} ${runtime.name}, pass ${pass + 1} of ${passes}`);
      const measurements: Measurements = {
        reads: () => measureReads(runtime, effort("reads")),
        http: () => measureHttp(runtime, node24, effort("http")),
        operations: () => measureOperations(runtime, node24, effort("operations")),
        start: () => measureStart(runtime, effort("start")),
      };
      const again = measured.runtimes[index]!.passes[pass];
      if (again !== undefined) {
        await measureAgain(again, measurements);
        continue;
      }
      measured.runtimes[index]!.passes.push({
        reads: await measurements.reads(),
        http: await measurements.http(),
        operations: await measurements.operations(),
        start: await measurements.start(),
      });
    }
  }
  return measured;
}

/** How each section is measured on a runtime. */
type Measurements = { readonly [Name in Section]: () => Promise<Pass[Name]> };

/** Measures the section of `--section` in place of what it was. */
async function measureAgain(pass: Pass, measurements: Measurements): Promise<void> {
  const measureOne = async <Name extends Section>(name: Name) => pass[name] = await measurements[name]();
  const { section = "" } = options;
  if (!Object.hasOwn(measurements, section)) {
    throw new Error(`--section is one of ${Object.keys(measurements).join(", ")}`);
  }
  await measureOne(section as Section);
}

/** The last results, of which one section is measured again. */
async function lastMeasured(runtimes: readonly Runtime[]): Promise<Measured> {
  const measured: Measured = JSON.parse(await readFile(RESULTS, "utf8"));
  const names = measured.runtimes.map(({ name }) => name).join(", ");
  if (names !== runtimes.map(({ name }) => name).join(", ")) {
    throw new Error(`The last results are of ${names}: measure everything`);
  }
  return measured;
}

function machine(): string {
  const processors = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${processors.length} × ${
    processors[0]?.model.trim()
  }, ${gigabytes} GB, ${platform()} ${release()} ${arch()}`;
}

/** Puts the tables where the document keeps them, between its two marks. */
async function writeReport(measured: Measured): Promise<void> {
  const document = await readFile(DOCUMENT, "utf8");
  const marks = /(<!-- measured -->\n)[\s\S]*(<!-- \/measured -->)/;
  if (!marks.test(document)) throw new Error(`${DOCUMENT} has lost its marks`);
  await writeFile(
    DOCUMENT,
    document.replace(marks, (_, before, after) => `${before}\n${tables(measured)}\n${after}`),
  );
  await writeFile(CHART, chart(measured));
}

if (options.report) {
  await writeReport(JSON.parse(await readFile(RESULTS, "utf8")));
} else {
  const measured = await measure();
  console.log(tables(measured));
  if (!options.quick && options.only === undefined) {
    await writeFile(RESULTS, JSON.stringify(measured, null, 2) + "\n");
    await writeReport(measured);
  }
}
