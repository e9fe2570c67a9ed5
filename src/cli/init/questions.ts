/** Asks for what was not said on the command line. */
import { homedir } from "node:os";
import { createInterface } from "node:readline/promises";
import {
  assertFitting,
  ChoiceError,
  type Choices,
  DATABASES,
  defaultDatabase,
  oneOf,
  RUNTIMES,
  toProviders,
} from "./choices.ts";

/** What the command line says. */
export type Given = { [Name in keyof Choices]: Choices[Name] | undefined };

/** Where questions are asked. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Asks for a value. An empty answer is the default, which is shown. */
type Ask = <Value>(question: string, standard: string, toValue: (text: string) => Value) => Promise<Value>;

/**
 * Asks for what is not given.
 *
 * @param terminal Without one the defaults are taken.
 * @throws {ChoiceError} If the input ends before the last answer.
 */
export async function askForRest(
  given: Given,
  ownRuntime: Choices["runtime"],
  terminal: Terminal | undefined,
): Promise<Choices> {
  if (terminal === undefined) {
    return await askWith(
      (_question, standard, toValue) => Promise.resolve(toValue(standard)),
      given,
      ownRuntime,
    );
  }
  const lines = createInterface(terminal);
  const ending = new AbortController();
  lines.once("close", () => ending.abort());
  const answerTo = (question: string) =>
    lines.question(question, { signal: ending.signal }).catch((cause) => {
      throw new ChoiceError("Not all questions were answered, and nothing was written.", { cause });
    });
  try {
    return await askWith(
      async (question, standard, toValue) => {
        for (;;) {
          const text = await answerTo(`${question} (${standard}): `);
          try {
            return toValue(text.trim() || standard);
          } catch (error) {
            if (!(error instanceof ChoiceError)) throw error;
            terminal.output.write(`${error.message}\n`);
          }
        }
      },
      given,
      ownRuntime,
    );
  } finally {
    lines.close();
  }
}

async function askWith(ask: Ask, given: Given, ownRuntime: Choices["runtime"]): Promise<Choices> {
  const directory = given.directory ?? await ask("Directory", ".", atHome);
  const runtime = given.runtime ??
    await ask(`Runtime: ${RUNTIMES.join(" or ")}`, ownRuntime, (text) => oneOf("runtime", RUNTIMES, text));
  const providers = given.providers ??
    await ask("Providers, such as github, google, credentials, nodemailer", "github", (text) => {
      const providers = toProviders(text);
      assertFitting(providers, given.database ?? "libsql");
      return providers;
    });
  const database = given.database ??
    await ask(`Database: ${DATABASES.join(", ")}`, defaultDatabase(providers), (text) => {
      const database = oneOf("database", DATABASES, text);
      assertFitting(providers, database);
      return database;
    });
  return { directory, runtime, providers, database };
}

/** A shell makes `~` the home directory on the command line, and has no part in an answer. */
function atHome(path: string): string {
  return path.replace(/^~(?=$|[\\/])/, () => homedir());
}
