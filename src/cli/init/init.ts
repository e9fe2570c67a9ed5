/** `init`: writes a new project. */
import { readFile } from "node:fs/promises";
import { basename, relative, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
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
  const files = filesOf(choices, nameOf(choices.directory), await ownPackage(choices));
  return [
    ...await writeFiles(choices.directory, files),
    ...warnings(choices),
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

function warnings({ providers }: Choices): string[] {
  return providers.filter(({ deprecated }) => deprecated)
    .map(({ module }) => `Auth.js advises against "${module}": docs/providers.md names what replaces it.`);
}

/** Where this package is, if not in a registry, and whether Node needs a loader for TypeScript. */
async function ownPackage({ directory }: Choices) {
  const { url } = import.meta;
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const tsx = !("Deno" in globalThis) && (major < 22 || major === 22 && minor < 18);
  const [, root] = /^(file:.+\/)node_modules\/fastify-authjs\//.exec(url) ?? [];
  if (root === undefined) {
    const checkout = /^file:.*(?=\/src\/cli\/)/.exec(url)?.[0];
    return { tsx, checkout: checkout && toRelative(directory, fileURLToPath(checkout)) };
  }
  const lock = await readFile(new URL("node_modules/.package-lock.json", root), "utf8").catch(() => "{}");
  const { resolved = "" } = JSON.parse(lock).packages?.["node_modules/fastify-authjs"] ?? {};
  if (!resolved.startsWith("file:")) return { tsx };
  return { tsx, package: `file:${resolve(fileURLToPath(root), resolved.slice("file:".length))}` };
}

function toRelative(directory: string, path: string): string {
  return relative(resolve(directory), path).replaceAll("\\", "/");
}

/** The steps and the callback URLs that the README of the project has, for a terminal. */
function nextSteps(directory: string, readme: string): string[] {
  const linesOf = (pattern: RegExp) =>
    [...readme.matchAll(pattern)].map(([, text = ""]) => `  ${text.replaceAll("`", "").replace(" (below)", "")}`);
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
