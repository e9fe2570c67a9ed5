/** What a new project is made of, and whether that fits together. */
import { nearNames } from "./near_names.ts";
import { needsDatabase, type Provider } from "./provider.ts";
import { PROVIDERS } from "./providers.ts";

/** The runtimes that a project is written for. */
export const RUNTIMES = ["node", "deno"] as const;
export type Runtime = typeof RUNTIMES[number];

/** Where users, accounts and sessions may be kept. Without a database a session is an encrypted cookie. */
export const DATABASES = ["none", "libsql", "postgres"] as const;
export type Database = typeof DATABASES[number];

/** What a new project is made of. */
export interface Choices {
  /** The name of the project. */
  readonly name: string;
  readonly runtime: Runtime;
  readonly providers: readonly Provider[];
  readonly database: Database;
}

/** A choice that cannot be. Its message says what to choose. */
export class ChoiceError extends Error {}

/** @throws {ChoiceError} Where the text is none of the values. */
export function oneOf<Value extends string>(what: string, values: readonly Value[], text: string): Value {
  const value = values.find((value) => value === text.trim().toLowerCase());
  if (value !== undefined) return value;
  throw new ChoiceError(`There is no ${what} ${JSON.stringify(text)}: use ${listed(values, "or")}.`);
}

/**
 * The providers of a list such as `github, google`. Each is named by its id, or by the subpath it is imported
 * from.
 *
 * @throws {ChoiceError} Where the list is empty, or names what is no provider; the message has names that are
 * near.
 */
export function toProviders(text: string): Provider[] {
  const names = text.split(/[\s,]+/).filter(Boolean).map((name) => name.toLowerCase());
  if (names.length === 0) {
    throw new ChoiceError("A project needs a provider, such as github, google, credentials or nodemailer.");
  }
  const found = names.map((name) => PROVIDERS.find(({ id, module }) => name === module || name === id));
  const wrong = names.filter((_, index) => found[index] === undefined);
  if (wrong.length > 0) throw new ChoiceError(wrong.map(unknownProvider).join("\n"));
  return [...new Set(found)].filter((provider) => provider !== undefined);
}

function unknownProvider(name: string): string {
  const near = nearNames(name, new Map(PROVIDERS.map(({ module, ...known }) => [module, [known.name]])));
  const hint = near.length > 0
    ? `did you mean ${listed(near, "or")}?`
    : "docs/providers.md has all that there are.";
  return `There is no provider ${JSON.stringify(name)}: ${hint}`;
}

/** The database that providers need where none is chosen. */
export function defaultDatabase(providers: readonly Provider[]): Database {
  return providers.some(needsDatabase) ? "libsql" : "none";
}

/** @throws {ChoiceError} Where no user could sign in. */
export function assertFitting({ providers, database }: Pick<Choices, "providers" | "database">): void {
  const needing = providers.filter(needsDatabase).map(({ module }) => module);
  if (database === "none" && needing.length > 0) {
    const verb = needing.length === 1 ? "needs" : "need";
    throw new ChoiceError(
      `${listed(needing, "and")} ${verb} a database: choose libsql or postgres (--database libsql).`,
    );
  }
  const webauthn = providers.filter(({ type }) => type === "webauthn").map(({ module }) => module);
  if (webauthn.length > 1) {
    throw new ChoiceError(`Choose one of ${listed(webauthn, "and")}: both are passkeys.`);
  }
  if (webauthn.length === providers.length) {
    throw new ChoiceError(
      "A passkey is added by a user who has signed in: choose a provider beside it (--providers passkey,github).",
    );
  }
}

function listed(names: readonly string[], word: string): string {
  const [last, ...others] = [...names].reverse();
  return others.length === 0 ? last ?? "" : `${others.reverse().join(", ")} ${word} ${last}`;
}
