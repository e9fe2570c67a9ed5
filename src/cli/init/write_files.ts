/** Writes the files of a new project, and says what became of those that were there before. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ChoiceError } from "./choices.ts";

/** What may be in a directory that counts as empty. */
const NO_CONTENT = [".git", ".DS_Store"];

/** The file of secrets: it is never replaced, and none but its owner may read it. */
const SECRETS = ".env";

/**
 * What is in a directory already. Nothing if there is no directory.
 *
 * @throws {ChoiceError} If it is a file, or would be in one.
 */
export async function contentOf(directory: string): Promise<string[]> {
  const content = await unlessMissing(readdir(directory), {
    ENOTDIR: `${JSON.stringify(directory)} is a file, or in one: name a directory.`,
  });
  return (content ?? []).filter((name) => !NO_CONTENT.includes(name)).sort();
}

/**
 * Writes files. It reads all that are there first, so that none is written if one cannot be.
 *
 * @param files The text of each, by its path in the directory.
 * @returns What was done, in words.
 * @throws {ChoiceError} If a file is where a directory has to be, or the other way round.
 */
export async function writeFiles(directory: string, files: ReadonlyMap<string, string>): Promise<string[]> {
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
    `${written.length} files were written to ${directory}.`,
    ...written.filter(([path]) => before.get(path) !== undefined)
      .map(([path]) => `Replaced, since they were there before: ${path}`),
    ...changed.filter(([path]) => isKept(path))
      .map(([path]) => `Kept as it was: ${path}. What it may lack is in .env.example.`),
  ];
}

/** What is read, or nothing if there is no such file. Errors that have a message here say what to change. */
async function unlessMissing<Content>(
  reading: Promise<Content>,
  messages: Readonly<Record<string, string>>,
): Promise<Content | undefined> {
  try {
    return await reading;
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (code === "ENOENT") return undefined;
    throw messages[code] === undefined ? error : new ChoiceError(messages[code]);
  }
}
