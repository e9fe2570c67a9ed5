/** The commands, and what each of them takes. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs, type ParseArgsOptionsConfig, parseEnv } from "node:util";
import { toText } from "./findings.ts";

type Outcome = Readonly<{ code: number; output: string; complaint: string }>;

const USAGE = `Usage: fastify-authjs <command>

  doctor <file>        loads the module of an application, without listening, and checks its set-up
  doctor --url <url>   checks a running deployment from outside
  secret               prints a new secret for AUTH_SECRET
  init [directory]     writes a new project: a server, its settings, and a test
  schema <format> <db> prints the tables: drizzle, prisma or sql, for sqlite, postgres or mysql

Options of doctor:
  --env-file <file>    reads variables from a file before the application is loaded
  --offline            asks providers nothing
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

Options of schema:
  --passkeys           with the table of passkeys
  --passwords          with a table of hashed passwords

Of all: --help prints this, --version the version.

Exit codes: 0 nothing is wrong, 1 something is, 2 the command could not be run.`;

class UsageError extends Error {}

const COMMANDS = { doctor, secret, init, schema };

/** Never rejects. */
export async function run([command, ...args]: string[]): Promise<Outcome> {
  if (command === undefined) return { code: 2, output: USAGE, complaint: "" };
  if ([command, ...args].some((arg) => arg === "--help" || arg === "-h")) return done(USAGE);
  try {
    // As the range of a new project
    if ([command, ...args].includes("--version")) return done((await import("./init/templates.ts")).VERSION.slice(1));
    if (Object.hasOwn(COMMANDS, command)) return await COMMANDS[command as keyof typeof COMMANDS](args);
    throw new UsageError(`There is no command ${JSON.stringify(command)}: use doctor, secret, init or schema.`);
  } catch (error) {
    const complaint = error instanceof Error ? error.message : String(error);
    const hint = error instanceof UsageError ? "\nRun it with --help to see how it is used." : "";
    return { code: 2, output: "", complaint: `fastify-authjs: ${complaint}${hint}` };
  }
}

function done(output: string): Outcome {
  return { code: 0, output, complaint: "" };
}

function parse<Options extends ParseArgsOptionsConfig>(args: string[], options: Options) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function secret(args: string[]): Outcome {
  const { values, positionals } = parse(args, { raw: { type: "boolean" } });
  if (positionals.length > 0) throw new UsageError("secret takes no arguments.");
  // 264 bits, in Base64 for URLs: it needs no quotes in a file of variables
  return done(`${values.raw ? "" : "AUTH_SECRET="}${randomBytes(33).toString("base64url")}`);
}

async function init(args: string[]): Promise<Outcome> {
  const { values, positionals } = parse(args, {
    runtime: { type: "string" },
    providers: { type: "string", multiple: true },
    database: { type: "string" },
    force: { type: "boolean" },
    yes: { type: "boolean", short: "y" },
  });
  if (positionals.length > 1) throw new UsageError("init takes one directory.");
  const { init } = await import("./init/init.ts");
  const { stdin, stderr } = process;
  // Questions are no output of the command
  const terminal = !values.yes && stdin.isTTY && stderr.isTTY ? { input: stdin, output: stderr } : undefined;
  // A variable of a shell that is not set is no directory
  const directory = positionals[0] || undefined;
  const options = { ...values, providers: values.providers?.join(), directory };
  return done(await init(options, terminal));
}

async function schema(args: string[]): Promise<Outcome> {
  const { values, positionals } = parse(args, { passkeys: { type: "boolean" }, passwords: { type: "boolean" } });
  const { DIALECTS, FORMATS, schemaOf } = await import("./schema.ts");
  const format = FORMATS.find((name) => name === positionals[0]);
  const dialect = DIALECTS.find((name) => name === positionals[1]);
  if (format === undefined || dialect === undefined || positionals.length > 2) {
    throw new UsageError(`schema takes ${FORMATS.join(", ")}, and then ${DIALECTS.join(", ")}.`);
  }
  const extras = [...values.passkeys ? ["webauthn"] : [], ...values.passwords ? ["credentials"] : []];
  return done(schemaOf(format, dialect, extras).trimEnd());
}

async function doctor(args: string[]): Promise<Outcome> {
  const { values, positionals: [file, ...others] } = parse(args, {
    "url": { type: "string" },
    "env-file": { type: "string" },
    "timeout": { type: "string" },
    "offline": { type: "boolean" },
    "strict": { type: "boolean" },
    "json": { type: "boolean" },
  });
  const { url, json, strict, offline = false } = values;
  if ((file === undefined) === (url === undefined) || others.length > 0) {
    throw new UsageError("doctor takes the module of one application, or --url with the address of a deployment.");
  }
  const timeout = values.timeout === undefined ? undefined : Number(values.timeout) * 1000;
  if (timeout !== undefined && !(timeout > 0 && timeout <= 3_600_000)) {
    throw new UsageError("--timeout takes a number of seconds, up to 3600.");
  }
  if (values["env-file"] !== undefined) await readVariables(values["env-file"]);
  const { findings, text } = url === undefined
    ? await (await import("./check_app.ts")).checkApp(file!, offline, timeout)
    : { findings: await (await import("./check_url.ts")).checkUrl(toAddress(url), offline, timeout), text: "" };
  const isBad = findings.some(({ level }) => level === "error" || strict && level === "warning");
  const report = [text, toText(findings)].filter(Boolean).join("\n\n");
  const output = json ? JSON.stringify({ findings }, null, 2) : report;
  return { code: isBad ? 1 : 0, output, complaint: "" };
}

/** Variables that are set already stay as they are, as with `node --env-file`. */
async function readVariables(file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch((cause) => {
    throw new UsageError(`The file of --env-file cannot be read: ${cause.message}`);
  });
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value;
}

function toAddress(url: string): URL {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new UsageError("--url takes an address with its scheme, such as https://app.example.");
  }
  const address = new URL(url);
  try {
    decodeURIComponent(address.username + address.password);
    return address;
  } catch {
    throw new UsageError("--url has a % in its user or password that stands for nothing: write it as %25.");
  }
}
