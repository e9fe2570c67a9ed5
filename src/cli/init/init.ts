/** `init`: writes a new project. */
import { basename, resolve } from "node:path";
import process from "node:process";
import { ChoiceError, type Choices } from "./choices.ts";
import { filesOf } from "./project.ts";
import { askForRest, type Given, type Terminal } from "./questions.ts";
import { contentOf, writeFiles } from "./write_files.ts";

export interface InitOptions extends Given {
  readonly force?: boolean | undefined;
}

/**
 * Writes a new project.
 *
 * @param terminal Where to ask for what the options do not say. Without it the defaults are taken.
 * @returns What was written, and what to do next.
 * @throws {ChoiceError} If the options do not fit together, or the directory has files.
 */
export async function init(options: InitOptions, terminal: Terminal | undefined): Promise<string> {
  const { force, ...given } = options;
  if (given.directory !== undefined) await assertEmpty(given.directory, force);
  const ownRuntime = "Deno" in globalThis ? "deno" : "node";
  const choices = await askForRest(given, ownRuntime, terminal);
  await assertEmpty(choices.directory, force);
  const files = filesOf(choices, nameOf(choices.directory));
  return [
    ...await writeFiles(choices.directory, files),
    ...warnings(choices, ownRuntime),
    ...nextSteps(choices.directory, files.get("README.md")!),
  ].join("\n");
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

function warnings({ runtime, providers }: Choices, ownRuntime: string): string[] {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const isOld = ownRuntime === "node" && (major < 22 || major === 22 && minor < 18);
  return [
    ...providers.filter(({ deprecated }) => deprecated)
      .map(({ module }) => `Auth.js advises against "${module}": docs/providers.md names what replaces it.`),
    ...runtime === "node" && isOld
      ? [`The project needs Node >=22.18.0, which runs TypeScript; this is Node ${node}.`]
      : [],
  ];
}

/** The steps and the callback URLs that the README of the project has, for a terminal. */
function nextSteps(directory: string, readme: string): string[] {
  const linesOf = (pattern: RegExp) =>
    [...readme.matchAll(pattern)].map(([, text = ""]) =>
      `  ${text.replaceAll("`", "").replace(" (below)", "")}`
    );
  const urls = linesOf(/^- (.+: `http\S+`)$/gm);
  return [
    "",
    "Next:",
    "",
    ...directory === "." ? [] : [`  cd ${/^[\w./\\:~@+-]+$/.test(directory) ? directory : `"${directory}"`}`],
    ...linesOf(/^\d\. (.+(?:\n {3}.+)*)/gm),
    ...urls.length === 0 ? [] : ["", "Callback URLs to register:", "", ...urls],
  ];
}
