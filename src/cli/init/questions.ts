/** Asks for what was not said on the command line. */
import { homedir } from "node:os";
import { createInterface } from "node:readline/promises";
import { assertFitting, ChoiceError, type Choices, DATABASES, oneOf, RUNTIMES, toProviders } from "./choices.ts";
import { needsDatabase } from "./provider.ts";

export type Given = { readonly [Name in keyof Choices]?: string | undefined };

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/**
 * What is given, and for the rest the answers to questions. An empty answer is the default, which is shown.
 *
 * @param terminal Without one the defaults are taken.
 * @throws {ChoiceError} If what is given does not fit together, or the input ends before the last answer.
 */
export async function askForRest(
  given: Given,
  ownRuntime: Choices["runtime"],
  terminal: Terminal | undefined,
): Promise<Choices> {
  const toRuntime = (text: string) => oneOf("runtime", RUNTIMES, text);
  const toDatabase = (text: string) => oneOf("database", DATABASES, text);
  // What is wrong is said before anything is asked.
  const said = {
    runtime: given.runtime === undefined ? undefined : toRuntime(given.runtime),
    providers: given.providers === undefined ? undefined : toProviders(given.providers),
    database: given.database === undefined ? undefined : toDatabase(given.database),
  };
  const dialogue = terminal && openDialogue(terminal);
  const ask = async <Value>(question: string, standard: string, toValue: (text: string) => Value) =>
    dialogue ? await dialogue.ask(question, standard, toValue) : toValue(standard);
  try {
    const directory = given.directory ?? await ask("Directory", ".", withHome);
    const runtime = said.runtime ?? await ask(`Runtime: ${RUNTIMES.join(" or ")}`, ownRuntime, toRuntime);
    const providers = said.providers ??
      await ask(
        "Providers, such as github, google, credentials, nodemailer",
        "github",
        (text) => assertFitting({ providers: toProviders(text), database: said.database ?? "libsql" }).providers,
      );
    const standard = providers.some(needsDatabase) ? "libsql" : "none";
    const database = said.database ??
      await ask(
        `Database: ${DATABASES.join(", ")}`,
        standard,
        (text) => assertFitting({ providers, database: toDatabase(text) }).database,
      );
    return assertFitting({ directory, runtime, providers, database });
  } finally {
    dialogue?.close();
  }
}

function openDialogue(terminal: Terminal) {
  const lines = createInterface(terminal);
  const ending = new AbortController();
  lines.once("close", () => ending.abort());
  const unanswered = (cause: unknown) => {
    throw new ChoiceError("Not all questions were answered, and nothing was written.", { cause });
  };
  return {
    close: () => lines.close(),
    async ask<Value>(question: string, standard: string, toValue: (text: string) => Value): Promise<Value> {
      for (;;) {
        const answer = lines.question(`${question} (${standard}): `, { signal: ending.signal });
        const text = await answer.catch(unanswered);
        try {
          return toValue(text.trim() || standard);
        } catch (error) {
          if (!(error instanceof ChoiceError)) throw error;
          terminal.output.write(`${error.message}\n`);
        }
      }
    },
  };
}

/** As shells do on the command line. */
const withHome = (path: string) => path.replace(/^~(?=$|[\\/])/, () => homedir());
