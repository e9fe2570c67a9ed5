/**
 * The gate: everything that must hold before a change lands. Runs all of it, also after a failure, and ends with the
 * counts of what passed and failed: each test, and each of the other checks as one.
 *
 * `--no-lock` runs it with the newest version in each range instead of the locked ones. `--only=checks` and
 * `--only=tests` run one half of it.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

interface Counts {
  passed: number;
  failed: number;
  ignored: number;
}

interface Step {
  name: string;
  args: string[];
}

/** How deno formats, lints and describes code differs between its releases: those before this one would find fault. */
const TOOLS_SINCE = "2.9";

const only = Deno.args.find((arg) => arg.startsWith("--only="))?.slice("--only=".length);
if (only !== undefined && only !== "checks" && only !== "tests") {
  throw new Error(`--only takes "checks" or "tests", not "${only}"`);
}

const noLock = Deno.args.includes("--no-lock") ? ["--no-lock"] : [];
const deno = (...args: string[]) => ["run", "--no-lock", "-A", "scripts/deno.ts", ...args];
const script = (name: string, ...args: string[]) => deno("run", ...noLock, "-A", `scripts/${name}.ts`, ...args);

const TOOLS: Step[] = [
  { name: "formatted", args: ["fmt", "--check"] },
  { name: "lint", args: ["lint"] },
  { name: "documented", args: ["run", "--no-lock", "-A", "scripts/doc_coverage.ts"] },
];

const CHECKS: Step[] = [
  { name: "types", args: deno("check", ...noLock) },
  { name: "imports point down", args: ["run", "--no-lock", "-A", "scripts/layers.ts"] },
  { name: "generated files up to date", args: script("generate_providers", "--check") },
  { name: "templates of new projects up to date", args: script("generate_init", "--check") },
  { name: "logos and scripts of the pages up to date", args: script("generate_page_assets", "--check") },
  { name: "docs/providers.md up to date", args: script("generate_provider_docs", "--check") },
  { name: "docs/options.md up to date", args: script("generate_option_docs", "--check") },
  { name: "docs/compatibility.md up to date", args: script("generate_compatibility_docs", "--check") },
  { name: "modules in docs/security.md up to date", args: script("generate_conformance_docs", "--check") },
  { name: "docs/adapters.md up to date", args: script("generate_adapter_docs", "--check") },
  { name: "site built, its links and its search good", args: script("build_docs", "--check") },
  { name: "snippets of the documentation compile and answer", args: script("check_snippets") },
  { name: "public API and packed size as written down", args: script("public_api", "--check") },
  { name: "functions that a request runs", args: script("count_functions") },
  { name: "publishable, no slow types", args: ["publish", "--dry-run", "--allow-dirty"] },
];

/** What the tests and the processes that they start run of each module is written there: a gigabyte. Git-ignored. */
const COVERED = fileURLToPath(new URL("../coverage", import.meta.url));
const clearCoverage = () => Deno.remove(COVERED, { recursive: true }).catch(() => {});

const TESTS: Step = { name: "tests and examples", args: deno("test", ...noLock, `--coverage=${COVERED}`) };
const COVERAGE: Step = {
  name: "each line of src run, or the reason beside it",
  args: ["run", "--no-lock", "-A", "scripts/coverage.ts", COVERED],
};

/** Whether this Deno is the release, or a later one. */
function isSince(release: string): boolean {
  const [major = 0, minor = 0] = Deno.version.deno.split(".").map(Number);
  const [sinceMajor = 0, sinceMinor = 0] = release.split(".").map(Number);
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor);
}

/** Runs a deno command and gives its whole output, which it shows meanwhile if asked. */
async function run(args: string[], show: boolean): Promise<{ success: boolean; output: string }> {
  const command = new Deno.Command(Deno.execPath(), {
    args,
    cwd: new URL("../", import.meta.url),
    env: { NO_COLOR: "1" }, // the counts are read from the output
    stdout: "piped",
    stderr: "piped",
  });
  const process = command.spawn();
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      output += decoder.decode(chunk, { stream: true });
      if (show) await Deno.stdout.write(chunk);
    }
  };
  await Promise.all([read(process.stdout), read(process.stderr)]);
  return { success: (await process.status).success, output };
}

/** What `deno task test` ends with. */
function countTests(output: string): Counts {
  const summaries = [...output.matchAll(/^(?:(\d+) ignored\n)?(\d+) passed, (\d+) failed$/gm)];
  const [, ignored = 0, passed = 0, failed = 0] = summaries.at(-1) ?? [];
  return { passed: Number(passed), failed: Number(failed), ignored: Number(ignored) };
}

const summary: string[] = [];
const total: Counts = { passed: 0, failed: 0, ignored: 0 };

async function runChecks(): Promise<void> {
  if (!isSince(TOOLS_SINCE)) {
    const names = TOOLS.map(({ name }) => name).join(", ");
    summary.push(`not run on Deno ${Deno.version.deno}, but on ${TOOLS_SINCE} and later: ${names}`);
  }
  for (const step of isSince(TOOLS_SINCE) ? [...TOOLS, ...CHECKS] : CHECKS) await runCheck(step);
}

async function runCheck(step: Step): Promise<void> {
  const { name, args } = step;
  const { success, output } = await run(args, false);
  success ? total.passed++ : total.failed++;
  if (!success || step === COVERAGE) console.log(output);
  console.log(`${success ? "ok    " : "FAILED"} ${name}`);
  summary.push(`${success ? "ok    " : "FAILED"} ${name}`);
}

async function runTests(): Promise<void> {
  await clearCoverage();
  const { success, output } = await run(TESTS.args, true);
  const tests = countTests(output);
  // A run that ends badly without a failed test, such as by a type error, has failed all the same
  if (!success && tests.failed === 0) tests.failed = 1;
  total.passed += tests.passed;
  total.failed += tests.failed;
  const ignored = tests.ignored > 0 ? `, ${tests.ignored} ignored` : "";
  summary.push(
    `${success ? "ok    " : "FAILED"} ${TESTS.name}: ${tests.passed} passed, ${tests.failed} failed${ignored}`,
  );
  // Without a server, a browser or an earlier Deno, tests are missing that run some of the lines
  const isWhole = success && tests.ignored === 0 && !/^not run\b/im.test(output);
  if (isWhole && isSince(TOOLS_SINCE)) await runCheck(COVERAGE);
  else summary.push(`not checked: ${COVERAGE.name}, since not every test ran and passed`);
  await clearCoverage();
}

if (only !== "tests") await runChecks();
if (only !== "checks") await runTests();

console.log(`\n${summary.join("\n")}\n\n${total.passed} passed, ${total.failed} failed`);
Deno.exit(total.failed === 0 ? 0 : 1);
