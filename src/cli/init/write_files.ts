/** Writes the files of a new project, and says what became of those that were there before. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ChoiceError } from "./choices.ts";

/** What may be in a directory that counts as empty. */
const NO_CONTENT = [".git", ".DS_Store"];

/** Has secrets: it is never replaced, and none but its owner may read it. */
const SECRETS = ".env";

/** What was done. */
export interface Written {
  readonly added: string[];
  /** Files that were there with another text. */
  readonly replaced: string[];
  /** Files that were left as they were. */
  readonly kept: string[];
}

/**
 * What is in a directory already. Nothing where there is no directory.
 *
 * @throws {ChoiceError} Where it is a file, or would be in one.
 */
export async function contentOf(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => !NO_CONTENT.includes(name)).sort();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "ENOENT") return [];
    if (code === "ENOTDIR") {
      throw new ChoiceError(`${JSON.stringify(directory)} is a file, or in one: name a directory.`);
    }
    throw error;
  }
}

/**
 * Writes files. It reads all that are there first, so that where one cannot be written none is.
 *
 * @param files The text of each, by its path in the directory.
 * @throws {ChoiceError} Where a file is where a directory has to be, or the other way round.
 */
export async function writeFiles(directory: string, files: ReadonlyMap<string, string>): Promise<Written> {
  const written: Written = { added: [], replaced: [], kept: [] };
  const before = new Map<string, string | undefined>();
  for (const path of files.keys()) before.set(path, await textOf(join(directory, path)));
  for (const [path, text] of files) {
    const file = join(directory, path);
    const present = before.get(path);
    if (present === text) continue;
    if (present !== undefined && path === SECRETS) {
      written.kept.push(path);
      continue;
    }
    await mkdir(dirname(file), { recursive: true });
    // "wx": a file that has come since is an error, not lost
    const mode = path === SECRETS ? { mode: 0o600 } : {};
    await writeFile(file, text, { flag: present === undefined ? "wx" : "w", ...mode });
    written[present === undefined ? "added" : "replaced"].push(path);
  }
  return written;
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "ENOENT") return undefined;
    if (code === "ENOTDIR" || code === "EISDIR") {
      throw new ChoiceError(
        `${JSON.stringify(file)} cannot be a file: ` +
          `${code === "EISDIR" ? "it is a directory" : "a part of its path is one"}. Name another directory.`,
      );
    }
    throw error;
  }
}
