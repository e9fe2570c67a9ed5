/** What a run of the soak test leaves in the documentation. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, platform, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Check, type Measured, megabytes, recoverySeconds } from "./checks.ts";

const DOCUMENT = fileURLToPath(new URL("../../docs/reliability.md", import.meta.url));
const RESULTS = fileURLToPath(new URL("results.json", import.meta.url));

/** The machine, and the Node that the application runs on. */
export async function machineOf(): Promise<string> {
  const { stdout } = await promisify(execFile)("node", ["--version"]);
  const processors = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `Node ${stdout.trim().slice(1)}, ${processors.length} × ${processors[0]?.model.trim()}, ${gigabytes} GB, ` +
    `${platform()} ${release()}`;
}

/** Puts the figures where the document keeps them, between its two marks, and beside this file as JSON. */
export async function writeReport(measured: Measured, checks: readonly Check[]): Promise<void> {
  const document = await readFile(DOCUMENT, "utf8");
  const marks = /(<!-- measured -->\n)[\s\S]*(<!-- \/measured -->)/;
  if (!marks.test(document)) throw new Error(`${DOCUMENT} has lost its marks`);
  const date = new Date().toISOString().slice(0, 10);
  const text = toMarkdown(measured, checks, date);
  await writeFile(DOCUMENT, document.replace(marks, (_, start, end) => `${start}\n${text}\n${end}`));
  await writeFile(RESULTS, `${JSON.stringify({ date, ...toFigures(measured), checks }, null, 2)}\n`);
  const format = ["fmt", "-q", DOCUMENT, RESULTS];
  await promisify(execFile)(Deno.execPath(), format);
}

function toFigures({ tally, gauges, end, endings, ...rest }: Measured) {
  const { requests, compared, aborted, rerouted, actions, statuses, found, findings } = tally;
  return {
    ...rest,
    requests,
    compared,
    aborted,
    rerouted,
    actions,
    statuses,
    found,
    findings,
    faults: tally.windows.map((window) => ({
      name: window.name,
      startedAfter: window.from - tally.started,
      milliseconds: window.end - window.from,
      requests: window.requests,
      unavailable: window.unavailable,
      recoverySeconds: recoverySeconds(window),
    })),
    gauges: [...gauges, end].map(({ requests, processes }) => ({
      requests,
      processes: processes.map(({ heapUsed, rss, descriptors }) => ({ heapUsed, rss, descriptors })),
    })),
    logged: end.processes.map(({ logged }) => logged),
    endings: endings.map(({ code, milliseconds }) => ({ code, milliseconds })),
  };
}

function toMarkdown(measured: Measured, checks: readonly Check[], date: string): string {
  const { tally, milliseconds, machine, gauges, end } = measured;
  const minutes = Math.round(milliseconds / 60_000);
  const count = (number: number) => number.toLocaleString("en-US");
  const names = [...new Set(tally.windows.map(({ name }) => name))];
  return [
    `The last measured run: ${date}, ${machine}; ${count(tally.requests)} requests in ${minutes} minutes ` +
    `(${
      Math.round(tally.requests / (milliseconds / 1000))
    } a second, with the load and the servers on the same machine). ` +
    `Clients broke off ${count(tally.aborted)} of them. [results.json](../scripts/soak/results.json) has all figures.`,
    table(
      ["check", "result", "found"],
      checks.map(({ name, passed, shown }) => [name, passed ? "passed" : "failed", shown]),
    ),
    table(
      ["fault", "times", "requests in it", "503", "last 503 after its end"],
      names.map((name) => {
        const windows = tally.windows.filter((window) => window.name === name);
        const sum = (of: (window: typeof windows[number]) => number) =>
          windows.reduce((sum, window) => sum + of(window), 0);
        const last = Math.max(...windows.map(recoverySeconds));
        const unavailable = sum((window) => window.unavailable);
        return [
          name,
          `${windows.length}`,
          count(sum((window) => window.requests)),
          count(unavailable),
          unavailable === 0 ? "–" : last === 0 ? "none" : `${last.toFixed(1)} s`,
        ];
      }),
    ),
    table(
      ["action", "times"],
      Object.entries(tally.actions).sort().map(([name, times]) => [name, count(times)]),
    ),
    table(
      ["requests so far", "heap of the first process", "its descriptors"],
      thinned([...gauges, end]).map(({ requests, processes: [first] }) => [
        count(requests),
        `${megabytes(first!.heapUsed)} MB`,
        `${first!.descriptors ?? "unknown"}`,
      ]),
    ),
  ].join("\n\n") + "\n";
}

/** At most a dozen of them, with the first and the last. */
function thinned<T>(all: readonly T[]): T[] {
  const step = Math.max(1, Math.ceil((all.length - 1) / 11));
  return all.filter((_, index) => index % step === 0 || index === all.length - 1);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
