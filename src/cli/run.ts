/** The commands, and what each of them takes. */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs, parseEnv } from "node:util";
import { type Finding, toText } from "./findings.ts";
import { makeSecret } from "./secret.ts";

/** What a command gives. */
export interface Outcome {
  /** The exit code. */
  readonly code: number;
  /** For the standard output. */
  readonly output: string;
  /** For the standard error. */
  readonly complaint: string;
}

const USAGE = `Usage: fastify-authjs <command>

  doctor <file>        loads the module of an application, without listening, and checks its set-up
  doctor --url <url>   checks a running deployment from outside
  secret               prints a new secret for AUTH_SECRET
  init [directory]     writes a new project: a server, its settings, and a test

Options of doctor:
  --env-file <file>    reads variables from a file before the application is loaded
  --offline            does not ask providers for their discovery documents
  --timeout <seconds>  how long loading, and each request, may take (30 and 10)
  --strict             exit code 1 for warnings, too
  --json               prints JSON

Options of secret:
  --raw                prints the secret alone, without "AUTH_SECRET="

Options of init, which asks for what they do not say:
  --runtime <name>     node or deno
  --providers <ids>    github,google,credentials,nodemailer,passkey or any other of Auth.js
  --database <name>    none, libsql or postgres
  --force              writes into a directory that is not empty, and says which files it replaced
  --yes                asks nothing: github, without a database, for the runtime that runs the command

Exit codes: 0 nothing is wrong, 1 something is, 2 the command could not be run.`;

const OPTIONS = {
  "url": { type: "string" },
  "env-file": { type: "string" },
  "timeout": { type: "string" },
  "offline": { type: "boolean" },
  "strict": { type: "boolean" },
  "json": { type: "boolean" },
  "raw": { type: "boolean" },
  "runtime": { type: "string" },
  "providers": { type: "string", multiple: true },
  "database": { type: "string" },
  "force": { type: "boolean" },
  "yes": { type: "boolean", short: "y" },
  "help": { type: "boolean", short: "h" },
} as const;

const OF_COMMAND: Readonly<Record<string, readonly string[]>> = {
  doctor: ["url", "env-file", "timeout", "offline", "strict", "json"],
  secret: ["raw"],
  init: ["runtime", "providers", "database", "force", "yes"],
};

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

/** A command that was not written as {@linkcode USAGE} says. */
class UsageError extends Error {}

/** Runs a command. Never rejects. */
export async function run(args: string[]): Promise<Outcome> {
  try {
    const { values, positionals } = parse(args);
    const [command, ...operands] = positionals;
    if (values.help || command === undefined) {
      return { code: values.help ? 0 : 2, output: USAGE, complaint: "" };
    }
    assertOptions(command, values);
    if (command === "secret") return secret(values, operands);
    return command === "init" ? await init(values, operands) : await doctor(values, operands);
  } catch (error) {
    const complaint = error instanceof Error ? error.message : String(error);
    const hint = error instanceof UsageError ? "\nRun it with --help to see how it is used." : "";
    return { code: 2, output: "", complaint: `fastify-authjs: ${complaint}${hint}` };
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function assertOptions(command: string, values: Values): void {
  const known = Object.hasOwn(OF_COMMAND, command) ? OF_COMMAND[command] : undefined;
  if (known === undefined) {
    throw new UsageError(`There is no command ${JSON.stringify(command)}: use doctor, secret or init.`);
  }
  const foreign = Object.keys(values).find((name) => !known.includes(name));
  if (foreign !== undefined) throw new UsageError(`--${foreign} is no option of ${command}.`);
}

function secret({ raw }: Values, operands: readonly string[]): Outcome {
  if (operands.length > 0) throw new UsageError("secret takes no arguments.");
  return { code: 0, output: `${raw ? "" : "AUTH_SECRET="}${makeSecret()}`, complaint: "" };
}

async function init({ yes, providers, ...values }: Values, operands: readonly string[]): Promise<Outcome> {
  if (operands.length > 1) throw new UsageError("init takes one directory.");
  const { init } = await import("./init/init.ts");
  const { stdin, stderr } = process;
  // Questions are no output of the command
  const terminal = !yes && stdin.isTTY && stderr.isTTY ? { input: stdin, output: stderr } : undefined;
  const choices = { ...values, providers: providers?.join(), directory: operands[0] };
  return { code: 0, output: await init(choices, terminal), complaint: "" };
}

async function doctor(values: Values, [file, ...others]: readonly string[]): Promise<Outcome> {
  const { url, json, strict, offline = false } = values;
  if ((file === undefined) === (url === undefined) || others.length > 0) {
    throw new UsageError(
      "doctor takes the module of one application, or --url with the address of a deployment.",
    );
  }
  const timeout = secondsOf(values.timeout);
  if (values["env-file"] !== undefined) await readVariables(values["env-file"]);
  const { findings, text } = url === undefined
    ? await (await import("./check_app.ts")).checkApp(file!, { timeout, offline })
    : { findings: await (await import("./check_url.ts")).checkUrl(toAddress(url), timeout), text: "" };
  return {
    code: findings.some(({ level }) => level === "error" || strict && level === "warning") ? 1 : 0,
    output: json ? JSON.stringify({ findings }, null, 2) : show(text, findings),
    complaint: "",
  };
}

function show(text: string, findings: readonly Finding[]): string {
  return [text, toText(findings)].filter(Boolean).join("\n\n");
}

/** Milliseconds. */
function secondsOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const seconds = Number(value);
  if (!(seconds > 0 && seconds <= 3600)) {
    throw new UsageError("--timeout takes a number of seconds, up to 3600.");
  }
  return seconds * 1000;
}

/** Variables that are set already stay as they are, as with \`node --env-file\`. */
async function readVariables(file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch((cause) => {
    throw new UsageError(`The file of --env-file cannot be read: ${cause.message}`);
  });
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value;
}

function toAddress(url: string): URL {
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) {
    const address = new URL(url);
    if (isDecodable(address.username) && isDecodable(address.password)) return address;
    throw new UsageError(
      "--url has a % in its user name or password that stands for nothing: write it as %25.",
    );
  }
  throw new UsageError("--url takes an address with its scheme, such as https://app.example.");
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
