/** `init`: writes a new project. */
import { basename, resolve } from "node:path";
import process from "node:process";
import {
  assertFitting,
  ChoiceError,
  type Choices,
  DATABASES,
  defaultDatabase,
  oneOf,
  type Runtime,
  RUNTIMES,
  toProviders,
} from "./choices.ts";
import { filesOf } from "./files.ts";
import { type Answers, askForRest, DEFAULTS, type Given, type Terminal } from "./questions.ts";
import { callbackUrls, steps } from "./templates/readme.ts";
import { LOCAL_URL, variablesOf } from "./variables.ts";
import { NODE } from "./versions.ts";
import { contentOf, writeFiles, type Written } from "./write_files.ts";

/** What the command line says. */
export interface InitOptions {
  readonly directory?: string | undefined;
  readonly runtime?: string | undefined;
  readonly providers?: string | undefined;
  readonly database?: string | undefined;
  /** Whether it writes into a directory that has files. */
  readonly force?: boolean | undefined;
}

/**
 * Writes a new project.
 *
 * @param terminal Where to ask for what the options do not say. Without it the defaults are taken.
 * @returns What was written, and what to do next.
 * @throws {ChoiceError} Where the options do not fit together, or the directory has files.
 */
export async function init(options: InitOptions, terminal: Terminal | undefined): Promise<string> {
  const given = toGiven(options);
  if (given.directory !== undefined) await assertEmpty(given.directory, options.force);
  const answers = terminal ? await askForRest(given, ownRuntime(), terminal) : withDefaults(given);
  assertFitting(answers);
  await assertEmpty(answers.directory, options.force);
  const choices: Choices = { ...answers, name: nameOf(answers.directory) };
  const variables = variablesOf(choices);
  const written = await writeFiles(answers.directory, filesOf(choices, variables));
  return [
    ...report(answers.directory, written),
    ...warnings(choices),
    "",
    "Next:",
    "",
    ...answers.directory === "." ? [] : [`  cd ${quoted(answers.directory)}`],
    ...steps(choices, variables).map((step) => `  ${step.replaceAll("`", "").replace(" (below)", "")}`),
    ...callbackLines(choices),
  ].join("\n");
}

function toGiven({ directory, runtime, providers, database }: InitOptions): Given {
  return {
    directory,
    runtime: runtime === undefined ? undefined : oneOf("runtime", RUNTIMES, runtime),
    providers: providers === undefined ? undefined : toProviders(providers),
    database: database === undefined ? undefined : oneOf("database", DATABASES, database),
  };
}

function withDefaults({ directory, runtime, providers, database }: Given): Answers {
  const chosen = providers ?? toProviders(DEFAULTS.providers);
  return {
    directory: directory ?? DEFAULTS.directory,
    runtime: runtime ?? ownRuntime(),
    providers: chosen,
    database: database ?? defaultDatabase(chosen),
  };
}

function ownRuntime(): Runtime {
  return "Deno" in globalThis ? "deno" : "node";
}

async function assertEmpty(directory: string, force = false): Promise<void> {
  const content = await contentOf(directory);
  if (content.length === 0 || force) return;
  const shown = [...content.slice(0, 3), ...content.length > 3 ? ["…"] : []].join(", ");
  throw new ChoiceError(
    `${JSON.stringify(directory)} is not empty (${shown}): name another directory, or use --force, ` +
      "which replaces files of the same name and says which.",
  );
}

/** A name that npm takes: the last part of the path, without what names may not have. */
function nameOf(directory: string): string {
  const name = basename(resolve(directory)).toLowerCase().replace(/[^a-z0-9._-]+/g, "-");
  return name.replace(/^[._-]+|[._-]+$/g, "") || "app";
}

/** As shells take it. */
function quoted(directory: string): string {
  return /^[\w./\\:~@+-]+$/.test(directory) ? directory : `"${directory}"`;
}

function report(directory: string, { added, replaced, kept }: Written): string[] {
  return [
    `${added.length + replaced.length} files were written to ${directory}.`,
    ...replaced.map((path) => `Replaced, since they were there before: ${path}`),
    ...kept.map((path) => `Kept as it was: ${path}. What it may lack is in .env.example.`),
  ];
}

function warnings({ runtime, providers }: Choices): string[] {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isOld = ownRuntime() === "node" && (major < 22 || major === 22 && minor < 18);
  return [
    ...providers.filter(({ deprecated }) => deprecated)
      .map(({ module }) => `Auth.js advises against "${module}": docs/providers.md names what replaces it.`),
    ...runtime === "node" && isOld
      ? [`The project needs Node ${NODE}, which runs TypeScript; this is Node ${process.versions.node}.`]
      : [],
  ];
}

function callbackLines({ providers }: Choices): string[] {
  const urls = callbackUrls(providers, LOCAL_URL);
  return urls.length === 0 ? [] : ["", "Callback URLs to register:", "", ...urls.map((url) => `  ${url}`)];
}
