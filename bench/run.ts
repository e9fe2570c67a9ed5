/**
 * Measures this package against its peers and writes `docs/benchmarks.md` and its chart: `deno task bench`.
 *
 * `--minutes=35` is about how long it takes to measure times; counting instructions takes an hour more, and needs
 * valgrind. `--times` leaves that out, and keeps the last counts. `--quick` takes three minutes, on Node 24 alone unless
 * `--only` says otherwise, counts nothing, and only prints. `--only=node` or `--only=deno` leaves the others out.
 * `--package=<directory>` takes a package that is built already. `--section=operations` measures that section again, and
 * keeps the last results of the others; `--section=instructions` counts again. `--report` writes the last results again.
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
import { countInstructions, type Instructions } from "./instructions.ts";
import { measureOperations } from "./operations.ts";
import { profileReads } from "./profile.ts";
import { measureReads } from "./reads.ts";
import { type Measured, type Pass, tables } from "./report.ts";
import { measureStart } from "./start.ts";
import { findRuntimes, install, installedVersions, type Runtime } from "./setup.ts";
import { INSTALL_VALGRIND, valgrindVersion } from "./valgrind.ts";

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const RESULTS = pathOf("results.json");
const DOCUMENT = pathOf("../docs/benchmarks.md");
const CHART = pathOf("../docs/images/benchmarks.svg");

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  options: {
    quick: { type: "boolean", default: false },
    report: { type: "boolean", default: false },
    times: { type: "boolean", default: false },
    minutes: { type: "string", default: "35" },
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

/** The whole table twice: what does not repeat is not a result. */
const PASSES = options.quick ? 1 : 2;

/** Only then others may see the results. */
const IS_COMPLETE = !options.quick && options.only === undefined;

/** On what it is measured. */
interface Runtimes {
  /** What loads every server, and is profiled. */
  readonly node24: Runtime;
  readonly chosen: readonly Runtime[];
}

async function prepare(): Promise<Runtimes> {
  await install(options.package);
  const runtimes = await findRuntimes();
  const only = options.only ?? (options.quick ? "node 24" : "");
  return {
    node24: runtimes.find(({ name }) => name.startsWith("Node 24"))!,
    chosen: runtimes.filter(({ name }) => name.toLowerCase().startsWith(only)),
  };
}

async function measure({ node24, chosen }: Runtimes): Promise<Measured> {
  const seconds = secondsToMeasure();
  const profile = () => profileReads(node24, options.quick ? 1000 : 10_000);
  const measured: Measured = options.section !== undefined ? await lastMeasured(chosen) : {
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    versions: await installedVersions(),
    runtimes: chosen.map(({ name }) => ({ name, passes: [] })),
    profile: await profile(),
  };
  // What is profiled are reads.
  if (options.section === "reads") measured.profile = await profile();
  const effort = (section: Section) => effortOf(section, seconds, chosen.length * PASSES);
  for (let pass = 0; pass < PASSES; pass++) {
    for (const [index, runtime] of chosen.entries()) {
      console.log(`${new Date().toISOString()} ${runtime.name}, pass ${pass + 1} of ${PASSES}`);
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
    throw new Error(`--section is one of ${Object.keys(measurements).join(", ")}, instructions`);
  }
  await measureOne(section as Section);
}

/** Counts on the runtimes whose functions have names. */
function count(
  { node24, chosen }: Runtimes,
  onPass: (counted: Instructions) => Promise<void>,
): Promise<void> {
  const named = chosen.filter(({ name }) => name.startsWith("Node"));
  if (named.length === 0) throw new Error("Instructions are counted on Node alone");
  return countInstructions(named, node24, PASSES, onPass);
}

/** The last results, of which one section is measured again. */
async function lastMeasured(runtimes: readonly Runtime[]): Promise<Measured> {
  const measured = await readResults();
  const names = measured.runtimes.map(({ name }) => name).join(", ");
  if (names !== runtimes.map(({ name }) => name).join(", ")) {
    throw new Error(`The last results are of ${names}: measure everything`);
  }
  return measured;
}

async function readResults(): Promise<Measured> {
  return JSON.parse(await readFile(RESULTS, "utf8"));
}

function machine(): string {
  const processors = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${processors.length} × ${
    processors[0]?.model.trim()
  }, ${gigabytes} GB, ${platform()} ${release()} ${arch()}`;
}

/** Prints the results, and writes them where they are complete. */
async function write(measured: Measured): Promise<void> {
  console.log(tables(measured));
  if (!IS_COMPLETE) return;
  await writeFile(RESULTS, JSON.stringify(measured, null, 2) + "\n");
  await writeReport(measured);
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

async function measureTimesAndCount(): Promise<void> {
  const runtimes = await prepare();
  const { instructions: last } = await readResults();
  const measured = { ...await measure(runtimes), ...(last && { instructions: last }) };
  await write(measured);
  if (options.times || options.section !== undefined || !IS_COMPLETE) return;
  if (await valgrindVersion() === undefined) {
    console.log(`Instructions were not counted; the last counts stay. ${INSTALL_VALGRIND}`);
    return;
  }
  await count(runtimes, (instructions) => write({ ...measured, instructions }));
}

async function countAgain(): Promise<void> {
  if (await valgrindVersion() === undefined) throw new Error(INSTALL_VALGRIND);
  await count(await prepare(), async (instructions) => await write({ ...await readResults(), instructions }));
}

if (options.report) await writeReport(await readResults());
else if (options.section === "instructions") await countAgain();
else await measureTimesAndCount();
