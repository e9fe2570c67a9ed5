/** What a new project is made of, whether that fits together, and the questions for what was not said. */
import { homedir } from "node:os";
import { createInterface } from "node:readline/promises";
import { editDistance } from "../../utils/text.ts";
import { needsDatabase, type Provider } from "./provider.ts";
import { PROVIDERS } from "./providers.ts";

const RUNTIMES = ["node", "deno"] as const;

/** Where users, accounts and sessions may be kept. Without a database a session is an encrypted cookie. */
const DATABASES = ["none", "libsql", "postgres"] as const;

export interface Choices {
  readonly directory: string;
  readonly runtime: typeof RUNTIMES[number];
  readonly providers: readonly Provider[];
  readonly database: typeof DATABASES[number];
}

export class ChoiceError extends Error {}

function oneOf<Value extends string>(what: string, values: readonly Value[], text: string): Value {
  const value = values.find((value) => value === text.trim().toLowerCase());
  if (value !== undefined) return value;
  throw new ChoiceError(`There is no ${what} ${JSON.stringify(text)}: use ${listed(values, "or")}.`);
}

/** The providers of a list such as `github, google`, each by its id or by the subpath it is imported from. */
function toProviders(text: string): Provider[] {
  const names = text.split(/[\s,]+/).filter(Boolean).map((name) => name.toLowerCase());
  if (names.length === 0) {
    throw new ChoiceError("A project needs a provider, such as github, google, credentials or nodemailer.");
  }
  const found = names.map((name) => PROVIDERS.find(({ id, module }) => name === module || name === id));
  const wrong = names.filter((_, index) => found[index] === undefined);
  if (wrong.length > 0) throw new ChoiceError(wrong.map(unknownProvider).join("\n"));
  const chosen = [...new Set(found)].filter((provider) => provider !== undefined);
  // Who forgets a password, or is new, proves an address by a mail
  const isAlone = chosen.some(({ type }) => type === "credentials") && !chosen.some(({ type }) => type === "email");
  return isAlone ? [...chosen, PROVIDERS.find(({ module }) => module === "nodemailer")!] : chosen;
}

function unknownProvider(wrong: string): string {
  const near = PROVIDERS
    .map(({ module, name }) => ({ module, edits: Math.min(edits(wrong, module), edits(wrong, name)) }))
    .filter(({ edits }) => edits <= Math.max(1, wrong.length / 3))
    .sort((a, b) => a.edits - b.edits).slice(0, 3).map(({ module }) => module);
  const hint = near.length > 0 ? `did you mean ${listed(near, "or")}?` : "docs/providers.md has all that there are.";
  return `There is no provider ${JSON.stringify(wrong)}: ${hint}`;
}

/** The edits that lead from one name to the other; half of one if the other contains it. */
function edits(one: string, other: string): number {
  const [a = "", b = ""] = [one, other].map((name) => name.toLowerCase().replace(/[^a-z0-9]/g, ""));
  const contains = a.length > 2 && b.includes(a) || b.length > 2 && a.includes(b);
  return contains && a !== b ? 0.5 : editDistance(a, b);
}

/** @throws {ChoiceError} If no user could sign in with these choices. */
function assertFitting<Some extends Pick<Choices, "providers" | "database">>(choices: Some): Some {
  const { providers, database } = choices;
  const modules = (chosen: readonly Provider[]) => chosen.map(({ module }) => module);
  const needing = modules(providers.filter(needsDatabase));
  const webauthn = modules(providers.filter(({ type }) => type === "webauthn"));
  if (database === "none" && needing.length > 0) {
    const verb = needing.length === 1 ? "needs" : "need";
    throw new ChoiceError(
      `${listed(needing, "and")} ${verb} a database: choose libsql or postgres (--database libsql).`,
    );
  }
  if (webauthn.length > 1) throw new ChoiceError(`Choose one of ${listed(webauthn, "and")}: both are passkeys.`);
  if (webauthn.length === providers.length) {
    throw new ChoiceError(
      "A passkey is added by a user who has signed in: choose a provider beside it (--providers passkey,github).",
    );
  }
  return choices;
}

function listed(names: readonly string[], word: string): string {
  return names.join(", ").replace(/, (?=[^,]*$)/, ` ${word} `);
}

export type Given = { readonly [Name in keyof Choices]?: string | undefined };
export type Terminal = Record<"input", NodeJS.ReadableStream> & Record<"output", NodeJS.WritableStream>;

/**
 * What is given, and for the rest the answers to questions, or without a terminal the defaults. An empty answer is the
 * default, which is shown.
 */
export async function askForRest(given: Given, ownRuntime: Choices["runtime"], terminal: Terminal | undefined) {
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
          terminal.output.write(`${(error as Error).message}\n`);
        }
      }
    },
  };
}

/** As shells do on the command line. */
const withHome = (path: string) => path.replace(/^~(?=$|[\\/])/, () => homedir());
