/**
 * Runs a deno subcommand on this checkout, with or without JSR: `deno run -A scripts/deno.ts test tests/foo_test.ts`.
 *
 * deno.json names the packages of the published code and of the demo; those of tests, tools and examples are in
 * `scripts/packages/`, with a lock file for all of them: `deno task` installs what its own lock file has before it runs
 * anything, and the demo shall not wait for the packages of tests. Subcommands are given a configuration that is
 * derived from both.
 *
 * Tests import `@std/…` from JSR, and the npm package is built by dnt, which only JSR has. Some networks have npm only;
 * there the same files run over the stand-ins in `tests/support/std/`, through another configuration and another lock
 * file, both derived, too.
 *
 * Versions come from `scripts/packages/deno.lock`. If `CI` is set, a lock file that lacks something is an error;
 * `--no-lock` takes the newest version in each range instead.
 *
 * @module
 */
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { partsOfTests, runParts, testFiles } from "./test_parts.ts";

const root = new URL("../", import.meta.url);
const PACKAGES = "scripts/packages/deno.json";
const LOCK = "scripts/packages/deno.lock";
const CONFIG = "deno.full.json"; // beside deno.json, so that its relative paths mean the same; git-ignored
const OFFLINE_CONFIG = "deno.offline.json"; // likewise
const OFFLINE_LOCK = "deno.offline.lock";
const STAND_INS = "./tests/support/std/";
const DNT_TYPES = "./scripts/dnt.d.ts";
const PROBE_MILLISECONDS = 3000;

/** Sources whose documentation examples are run; those of providers/ want credentials, so they are only type-checked. */
const DOCUMENTED = ["mod.ts", "src/"];
const DOC_ENVIRONMENT = { AUTH_SECRET: "a-secret-for-the-doc-examples-of-32-characters" };

/** The lock file, as far as it is read here. */
interface Lock {
  specifiers: Record<string, string>;
  jsr?: Record<string, unknown>;
  workspace?: { dependencies: string[] };
}

/** Whether JSR answers on this machine. */
export async function jsrAnswers(): Promise<boolean> {
  try {
    const url = new URL("/@std/assert/meta.json", Deno.env.get("JSR_URL") ?? "https://jsr.io");
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_MILLISECONDS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** deno.json with all packages. */
async function fullConfig() {
  const read = async (name: string) => JSON.parse(await Deno.readTextFile(new URL(name, root)));
  const [config, packages] = await Promise.all([read("deno.json"), read(PACKAGES)]);
  return { ...config, imports: { ...packages.imports, ...config.imports }, lock: { path: LOCK } };
}

/** Writes the configuration, with every import from JSR replaced by its stand-in. */
async function writeOfflineConfig(): Promise<void> {
  const config = await fullConfig();
  for (const [name, target] of Object.entries<string>(config.imports)) {
    if (target.startsWith("jsr:@std/")) delete config.imports[name];
  }
  for (const file of await readdir(new URL(STAND_INS, root), { recursive: true })) {
    const path = file.replaceAll("\\", "/");
    if (path.endsWith(".ts")) config.imports[`@std/${path.slice(0, -".ts".length)}`] = STAND_INS + path;
  }
  config.imports["@deno/dnt"] = DNT_TYPES;
  config.lock = { path: OFFLINE_LOCK };
  await replace(OFFLINE_CONFIG, JSON.stringify(config, null, 2));
}

/** Writes the lock file without what only JSR has. */
async function writeOfflineLock(): Promise<void> {
  const { jsr: _, ...lock } = await readLock();
  const kept = (specifier: string) => !/^jsr:@(?:std|deno)\//.test(specifier);
  lock.specifiers = Object.fromEntries(Object.entries(lock.specifiers).filter(([name]) => kept(name)));
  if (lock.workspace) lock.workspace.dependencies = lock.workspace.dependencies.filter(kept);
  await replace(OFFLINE_LOCK, JSON.stringify(lock, null, 2) + "\n");
}

async function readLock(): Promise<Lock> {
  return JSON.parse(await Deno.readTextFile(new URL(LOCK, root)));
}

/** Writes a file if its text differs. It is renamed into place, since another run may be reading it. */
async function replace(name: string, text: string): Promise<void> {
  const file = new URL(name, root);
  if (await Deno.readTextFile(file).catch(() => undefined) === text) return;
  const draft = new URL(`${name}.${Deno.pid}`, root);
  await Deno.writeTextFile(draft, text);
  await Deno.rename(draft, file);
}

let configFile: Promise<string> | undefined;

async function chooseConfig(): Promise<string> {
  if (await jsrAnswers()) {
    await replace(CONFIG, JSON.stringify(await fullConfig(), null, 2));
    return CONFIG;
  }
  console.error(`JSR does not answer: @std is replaced by the stand-ins in ${STAND_INS}`);
  await writeOfflineConfig();
  await writeOfflineLock();
  return OFFLINE_CONFIG;
}

/** Whether a lock file that lacks something is to be an error. */
async function isFrozen(args: string[], config: string): Promise<boolean> {
  if (!Deno.env.get("CI") || args.includes("--no-lock")) return false;
  if (config === OFFLINE_CONFIG || (await readLock()).jsr) return true;
  console.error(`${LOCK} has no package of JSR's yet: run \`deno task lock\` and commit it`);
  return false;
}

/**
 * Runs one deno subcommand with the configuration that works here.
 *
 * @param args The subcommand and its arguments.
 * @param env Variables added to this process's own.
 * @returns The exit code.
 */
export async function runDeno(args: string[], env: Record<string, string> = {}): Promise<number> {
  const process = (await denoCommand(args, env, "inherit")).spawn();
  return (await process.status).code;
}

async function denoCommand(args: string[], env: Record<string, string>, output: "inherit" | "piped") {
  const [subcommand = "help", ...rest] = args;
  configFile ??= chooseConfig();
  const config = await configFile;
  const frozen = await isFrozen(rest, config) ? ["--frozen"] : [];
  return new Deno.Command(Deno.execPath(), {
    args: [subcommand, "--config", config, ...frozen, ...rest],
    cwd: root,
    // For the processes that tests start
    env: { ...env, CHECKOUT_CONFIG: fileURLToPath(new URL(config, root)) },
    stdout: output,
    stderr: output,
  });
}

const looksLikePath = (arg: string) => !arg.startsWith("-") && (arg.includes("/") || arg.endsWith(".ts"));

/**
 * `deno test`: the named files; without any, all of tests/ and every documentation example. All of tests/ is not
 * type-checked, which takes a minute, and which `deno task check` does.
 */
async function test(args: string[]): Promise<number> {
  if (args.some(looksLikePath)) return await runDeno(["test", "-A", ...args]);
  const lock = args.filter((arg) => arg === "--no-lock");
  const coverage = args.filter((arg) => arg.startsWith("--coverage="));
  // A flag such as --filter is about one run
  if (args.length > lock.length + coverage.length) {
    return await runDeno(["test", "-A", ...args, ...await testFiles(root)]);
  }
  const flags = [...lock, ...coverage.flatMap((flag) => [flag, "--coverage-raw-data-only"])];
  return await runParts([
    await denoCommand(["test", "-A", "--doc", ...lock, ...DOCUMENTED], DOC_ENVIRONMENT, "piped"),
    ...await Promise.all(
      (await partsOfTests(root)).map((files) =>
        denoCommand(["test", "-A", "--no-check", ...flags, ...files], {}, "piped")
      ),
    ),
  ]);
}

/** `deno check`: the named files; without any, all TypeScript, and the examples of the provider modules. */
async function check(args: string[]): Promise<number> {
  if (args.some(looksLikePath)) return await runDeno(["check", ...args]);
  return await runDeno(["check", "--quiet", ...args, "**/*.ts"]) ||
    await runDeno(["check", "--quiet", ...args, "--doc-only", "providers/"]);
}

/** `lock`: resolves every import of the checkout, and adds to both lock files what they lack. */
async function lock(args: string[]): Promise<number> {
  const code = await check(args);
  if (code !== 0) return code;
  if (await configFile === OFFLINE_CONFIG) await mergeOfflineLock();
  // The second has Deno bring the file into its order, with all that the configuration names
  return await runPlain(["install"]) ||
    await runPlain(["check", "--config", CONFIG, "scripts/package_json.ts"]);
}

/** Adds what was found without JSR. */
async function mergeOfflineLock(): Promise<void> {
  // What JSR has keeps the versions and checksums that are there for it: only JSR can tell others
  const found: Lock = JSON.parse(await Deno.readTextFile(new URL(OFFLINE_LOCK, root)));
  const { specifiers, jsr } = await readLock();
  const fromJsr = Object.entries(specifiers).filter(([name]) => name.startsWith("jsr:"));
  const merged = { ...found, specifiers: { ...Object.fromEntries(fromJsr), ...found.specifiers }, jsr };
  await replace(LOCK, JSON.stringify(merged, null, 2) + "\n");
  await replace(CONFIG, JSON.stringify(await fullConfig(), null, 2));
}

/** Runs Deno with the arguments as they are. */
async function runPlain(args: string[]): Promise<number> {
  return (await new Deno.Command(Deno.execPath(), { args, cwd: root }).spawn().status).code;
}

if (import.meta.main) {
  const [subcommand, ...args] = Deno.args;
  const run = { test, check, lock }[subcommand ?? ""];
  Deno.exit(await (run?.(args) ?? runDeno(Deno.args)));
}
