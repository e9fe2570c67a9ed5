/** `init`: writes a new project. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { askForRest, ChoiceError, type Choices, type Given, type Terminal } from "./choices.ts";
import { filesOf } from "./project.ts";

export async function init({ force, ...given }: Given & { force?: boolean | undefined }, terminal?: Terminal) {
  if (given.directory !== undefined) await assertEmpty(given.directory, force);
  const ownRuntime = "Deno" in globalThis ? "deno" : "node";
  const choices = await askForRest(given, ownRuntime, terminal);
  await assertEmpty(choices.directory, force);
  const files = filesOf(choices, nameOf(choices.directory), await ownPackage(choices));
  return [
    ...await writeFiles(choices.directory, files),
    ...choices.providers.filter(({ deprecated }) => deprecated)
      .map(({ module }) => `Auth.js advises against "${module}": docs/providers.md names what replaces it.`),
    ...nextSteps(choices.directory, files.get("README.md")!),
  ].join("\n");
}

const NO_CONTENT = [".git", ".DS_Store"];

async function assertEmpty(directory: string, force = false): Promise<void> {
  const found = await unlessMissing(readdir(directory), {
    ENOTDIR: `${JSON.stringify(directory)} is a file, or in one: name a directory.`,
  });
  const content = (found ?? []).filter((name) => !NO_CONTENT.includes(name)).sort();
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
  // deno-coverage-ignore-start tests/consumer/new_project.ts runs the installed package
  const lock = await readFile(new URL("node_modules/.package-lock.json", root), "utf8").catch(() => "{}");
  const { resolved = "" } = JSON.parse(lock).packages?.["node_modules/fastify-authjs"] ?? {};
  if (!resolved.startsWith("file:")) return { tsx };
  return { tsx, package: `file:${resolve(fileURLToPath(root), resolved.slice("file:".length))}` };
  // deno-coverage-ignore-stop
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

/** The file of secrets: it is never replaced, and none but its owner may read it. */
const SECRETS = ".env";

/** Writes files by their paths. It reads all that are there first, so that none is written if one cannot be. */
async function writeFiles(directory: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  const before = new Map<string, string | undefined>();
  for (const path of files.keys()) {
    const file = join(directory, path);
    const problem = `${JSON.stringify(file)} cannot be a file`;
    const text = await unlessMissing(readFile(file, "utf8"), {
      ENOTDIR: `${problem}: a part of its path is one. Name another directory.`,
      EISDIR: `${problem}: it is a directory. Name another directory.`,
    });
    before.set(path, text);
  }
  const isKept = (path: string) => path === SECRETS && before.get(path) !== undefined;
  const changed = [...files].filter(([path, text]) => before.get(path) !== text);
  const written = changed.filter(([path]) => !isKept(path));
  for (const [path, text] of written) {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    // "wx": a file that has come since is an error, not lost
    const flag = before.get(path) === undefined ? "wx" : "w";
    await writeFile(file, text, { flag, ...path === SECRETS && { mode: 0o600 } });
  }
  return [
    `${written.length} files were written to ${JSON.stringify(directory)}.`,
    ...written.filter(([path]) => before.get(path) !== undefined)
      .map(([path]) => `Replaced, since they were there before: ${path}`),
    ...changed.filter(([path]) => isKept(path))
      .map(([path]) => `Kept as it was: ${path}. What it may lack is in .env.example.`),
  ];
}

/** What is read, or nothing if there is no such file. Errors that have a message here say what to change. */
async function unlessMissing<Content>(reading: Promise<Content>, messages: Readonly<Record<string, string>>) {
  try {
    return await reading;
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (code === "ENOENT") return undefined;
    throw messages[code] === undefined ? error : new ChoiceError(messages[code]);
  }
}
