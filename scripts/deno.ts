/**
 * Runs a deno subcommand on this checkout, with or without JSR: `deno run -A scripts/deno.ts test tests/foo_test.ts`.
 *
 * Tests import `@std/…` from JSR. Some networks have npm only; there the same files run over the stand-ins in
 * `tests/support/std/`, through a second configuration derived from deno.json (so deno.json stays the one source).
 *
 * @module
 */
const root = new URL("../", import.meta.url);
const OFFLINE_CONFIG = "deno.offline.json"; // beside deno.json, so that its relative paths mean the same; git-ignored
const STAND_INS = "./tests/support/std/";
const PROBE_MILLISECONDS = 3000;

/** Files that are left alone where JSR does not answer: they import what has no stand-in. */
const NEEDS_JSR = ["scripts/npm_dnt.ts"];

/** Sources whose documentation examples are run; those of providers/ want credentials, so they are only type-checked. */
const DOCUMENTED = ["mod.ts", "src/"];
const DOC_ENVIRONMENT = { AUTH_SECRET: "a-secret-for-the-doc-examples-of-32-characters" };

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

/** Writes deno.json with every `jsr:@std/…` import replaced by its stand-in; gives the file's name. */
async function writeOfflineConfig(): Promise<string> {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  for (const [name, target] of Object.entries<string>(config.imports)) {
    if (!target.startsWith("jsr:@std/")) continue;
    const standIn = STAND_INS + name.slice("@std/".length);
    config.imports[name] = `${standIn}.ts`;
    config.imports[`${name}/`] = `${standIn}/`;
  }
  config.exclude = [...config.exclude ?? [], ...NEEDS_JSR];
  const text = JSON.stringify(config, null, 2);
  const file = new URL(OFFLINE_CONFIG, root);
  if (await Deno.readTextFile(file).catch(() => undefined) !== text) {
    // Renamed into place: another run may be reading it.
    const draft = new URL(`${OFFLINE_CONFIG}.${Deno.pid}`, root);
    await Deno.writeTextFile(draft, text);
    await Deno.rename(draft, file);
  }
  return OFFLINE_CONFIG;
}

let configFile: Promise<string> | undefined;

async function chooseConfig(): Promise<string> {
  if (await jsrAnswers()) return "deno.json";
  console.error(
    `JSR does not answer: @std is replaced by the stand-ins in ${STAND_INS}; ${NEEDS_JSR} is left out`,
  );
  return await writeOfflineConfig();
}

/**
 * Runs one deno subcommand with the configuration that works here.
 *
 * @param args The subcommand and its arguments.
 * @param env Variables added to this process's own.
 * @returns The exit code.
 */
export async function runDeno(args: string[], env: Record<string, string> = {}): Promise<number> {
  const [subcommand = "help", ...rest] = args;
  configFile ??= chooseConfig();
  const command = new Deno.Command(Deno.execPath(), {
    args: [subcommand, "--config", await configFile, ...rest],
    cwd: root,
    env,
  });
  return (await command.spawn().status).code;
}

const looksLikePath = (arg: string) => !arg.startsWith("-") && (arg.includes("/") || arg.endsWith(".ts"));

/** `deno test`: the named files; without any, all of tests/ and then every documentation example. */
async function test(args: string[]): Promise<number> {
  if (args.some(looksLikePath)) return await runDeno(["test", "-A", ...args]);
  const code = await runDeno(["test", "-A", "--ignore=tests/consumer/fixtures/", ...args, "tests/"]);
  if (args.length > 0) return code;
  return await runDeno(["test", "-A", "--doc", ...DOCUMENTED], DOC_ENVIRONMENT) || code;
}

/** `deno check`: the named files; without any, all TypeScript, and the examples of the provider modules. */
async function check(args: string[]): Promise<number> {
  if (args.length > 0) return await runDeno(["check", ...args]);
  return await runDeno(["check", "--quiet", "**/*.ts"]) ||
    await runDeno(["check", "--quiet", "--doc-only", "providers/"]);
}

if (import.meta.main) {
  const [subcommand, ...args] = Deno.args;
  const run = { test, check }[subcommand ?? ""];
  Deno.exit(await (run?.(args) ?? runDeno(Deno.args)));
}
