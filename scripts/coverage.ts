/**
 * Checks what the tests ran of `src/`: `deno run -A scripts/coverage.ts DIRECTORY`, with what `deno task test
 * --coverage=DIRECTORY` wrote. Each line is to have run, unless a comment beside it (`// deno-coverage-ignore`) says why
 * not. Names the lines that have neither, and fails if they are more than one in a thousand.
 *
 * @module
 */
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/**
 * How many must have run, in percent. Of lines all do, but for a few that depend on the moment: on a slow machine one of
 * two requests may come too late for them. Raise the others if more run.
 */
const LIMITS = { lines: 99.9, branches: 97, functions: 99 };

const root = fileURLToPath(new URL("../", import.meta.url));

/** What the tests ran of the files that they loaded, as `deno coverage --lcov` says. */
async function readReport(directory: string) {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["coverage", "--lcov", `--include=^${new URL("../src/", import.meta.url)}`, directory],
    cwd: root,
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  if (!success) throw new Error(`There is no report of ${directory}`);
  const report = { loaded: new Set<string>(), missed: [] as string[], counts: {} as Record<string, number> };
  let file = "";
  for (const line of new TextDecoder().decode(stdout).split("\n")) {
    const [, key = "", value = ""] = /^([A-Z]+):(.*)$/.exec(line) ?? [];
    if (key === "SF") {
      file = value.slice(root.length).replaceAll("\\", "/");
      report.loaded.add(file);
    } else if (key === "DA" && value.endsWith(",0")) {
      report.missed.push(`${file}:${Number.parseInt(value)}`);
    } else if (/^(?:BR|FN|L)[FH]$/.test(key)) {
      report.counts[key] = (report.counts[key] ?? 0) + Number(value);
    }
  }
  return report;
}

/** Whether a module has anything to run: more than types, and what it exports of others. */
function runs(source: string): boolean {
  return /^(?:export )?(?:default |async )*(?:function|const|let|class|for|if|await)\b/m.test(source) &&
    !/^\/\/ deno-coverage-ignore-file /m.test(source);
}

const [directory = "coverage"] = Deno.args;
const { loaded, missed, counts } = await readReport(directory);
const percent = (found: string, hit: string) => Math.floor(10_000 * counts[hit]! / counts[found]!) / 100;
const figures = { lines: percent("LF", "LH"), branches: percent("BRF", "BRH"), functions: percent("FNF", "FNH") };
const problems: string[] = [];

const sources = new Map<string, string>();
for (const name of await readdir(`${root}src`, { recursive: true })) {
  const file = `src/${name.replaceAll("\\", "/")}`;
  if (!/\.tsx?$/.test(file)) continue;
  const source = await Deno.readTextFile(root + file);
  sources.set(file, source);
  if (!loaded.has(file) && runs(source)) problems.push(`${file}: no test loads it`);
  for (const [index, line] of source.split("\n").entries()) {
    if (/deno-coverage-ignore(?:-start|-file)?\s*$/.test(line)) problems.push(`${file}:${index + 1}: no reason`);
  }
}
for (const place of missed) {
  const [file = "", line = ""] = place.split(":");
  console.log(`${place}: not run: ${sources.get(file)?.split("\n")[Number(line) - 1]?.trim().slice(0, 100)}`);
}

for (const [name, limit] of Object.entries(LIMITS)) {
  const figure = figures[name as keyof typeof LIMITS];
  if (figure < limit) problems.push(`${figure} % of the ${name} ran, less than ${limit} %`);
}

console.log(Object.entries(figures).map(([name, figure]) => `${name} ${figure} %`).join(", "));
if (problems.length > 0) {
  console.error(
    `${problems.join("\n")}\n\nTest it, delete it, or say why it cannot run: // deno-coverage-ignore REASON`,
  );
  Deno.exit(1);
}
