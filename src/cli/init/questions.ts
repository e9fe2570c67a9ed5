/** Asks for what was not said on the command line. */
import { homedir } from "node:os";
import { createInterface, type Interface } from "node:readline/promises";
import {
  assertFitting,
  ChoiceError,
  type Database,
  DATABASES,
  defaultDatabase,
  oneOf,
  type Runtime,
  RUNTIMES,
  toProviders,
} from "./choices.ts";
import type { Provider } from "./provider.ts";

/** What may be said on the command line. */
export interface Given {
  directory: string | undefined;
  runtime: Runtime | undefined;
  providers: readonly Provider[] | undefined;
  database: Database | undefined;
}

/** All of it. */
export type Answers = { [Name in keyof Given]-?: NonNullable<Given[Name]> };

/** Where questions are asked. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** A terminal, and the lines that are read from it. */
interface Dialogue {
  readonly lines: Interface;
  readonly terminal: Terminal;
}

/** The answers to what was not asked. */
export const DEFAULTS = { directory: ".", providers: "github" } as const;

/**
 * Asks for what is not given. An empty answer is the default, which is shown.
 *
 * @throws {ChoiceError} Where the input ends before the last answer.
 */
export async function askForRest(given: Given, ownRuntime: Runtime, terminal: Terminal): Promise<Answers> {
  const lines = createInterface(terminal);
  const dialogue = { lines, terminal };
  try {
    const directory = given.directory ??
      await ask(dialogue, "Directory", ".", atHome);
    const runtime = given.runtime ??
      await ask(
        dialogue,
        `Runtime: ${RUNTIMES.join(" or ")}`,
        ownRuntime,
        (text) => oneOf("runtime", RUNTIMES, text),
      );
    const providers = given.providers ??
      await ask(
        dialogue,
        "Providers, such as github, google, credentials, nodemailer",
        DEFAULTS.providers,
        (text) => {
          const providers = toProviders(text);
          assertFitting({ providers, database: given.database ?? "libsql" });
          return providers;
        },
      );
    const database = given.database ??
      await ask(dialogue, `Database: ${DATABASES.join(", ")}`, defaultDatabase(providers), (text) => {
        const database = oneOf("database", DATABASES, text);
        assertFitting({ providers, database });
        return database;
      });
    return { directory, runtime, providers, database };
  } finally {
    lines.close();
  }
}

/** A shell makes `~` the home directory on the command line, and has no part in an answer. */
function atHome(path: string): string {
  return path.replace(/^~(?=$|[\\/])/, () => homedir());
}

/** Asks until the answer can be used. */
async function ask<Value>(
  { lines, terminal }: Dialogue,
  question: string,
  standard: string,
  toValue: (text: string) => Value,
): Promise<Value> {
  for (;;) {
    const text = await answerTo(lines, `${question} (${standard}): `);
    try {
      return toValue(text.trim() || standard);
    } catch (error) {
      if (!(error instanceof ChoiceError)) throw error;
      terminal.output.write(`${error.message}\n`);
    }
  }
}

async function answerTo(lines: Interface, question: string): Promise<string> {
  const ending = new AbortController();
  const end = () => ending.abort();
  lines.once("close", end);
  try {
    return await lines.question(question, { signal: ending.signal });
  } catch (cause) {
    throw new ChoiceError("Not all questions were answered, and nothing was written.", { cause });
  } finally {
    lines.off("close", end);
  }
}
