/** What a new project is made of, and whether that fits together. */
import { editDistance } from "../../utils/text.ts";
import { needsDatabase, type Provider } from "./provider.ts";
import { PROVIDERS } from "./providers.ts";

export const RUNTIMES = ["node", "deno"] as const;

/** Where users, accounts and sessions may be kept. Without a database a session is an encrypted cookie. */
export const DATABASES = ["none", "libsql", "postgres"] as const;

export interface Choices {
  readonly directory: string;
  readonly runtime: typeof RUNTIMES[number];
  readonly providers: readonly Provider[];
  readonly database: typeof DATABASES[number];
}

/** A choice that cannot be. Its message says what to choose. */
export class ChoiceError extends Error {}

export function oneOf<Value extends string>(what: string, values: readonly Value[], text: string): Value {
  const value = values.find((value) => value === text.trim().toLowerCase());
  if (value !== undefined) return value;
  throw new ChoiceError(`There is no ${what} ${JSON.stringify(text)}: use ${listed(values, "or")}.`);
}

/**
 * The providers of a list such as `github, google`, each by its id or by the subpath it is imported from.
 *
 * @throws {ChoiceError} If the list is empty, or names what is no provider.
 */
export function toProviders(text: string): Provider[] {
  const names = text.split(/[\s,]+/).filter(Boolean).map((name) => name.toLowerCase());
  if (names.length === 0) {
    throw new ChoiceError("A project needs a provider, such as github, google, credentials or nodemailer.");
  }
  const found = names.map((name) => PROVIDERS.find(({ id, module }) => name === module || name === id));
  const wrong = names.filter((_, index) => found[index] === undefined);
  if (wrong.length > 0) throw new ChoiceError(wrong.map(unknownProvider).join("\n"));
  const chosen = [...new Set(found)].filter((provider) => provider !== undefined);
  // Who forgets a password, or is new, proves an address by a mail
  const isAlone = chosen.some(({ type }) => type === "credentials") &&
    !chosen.some(({ type }) => type === "email");
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

/**
 * @returns The choices.
 * @throws {ChoiceError} If no user could sign in with them.
 */
export function assertFitting<Some extends Pick<Choices, "providers" | "database">>(choices: Some): Some {
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
  if (webauthn.length > 1) {
    throw new ChoiceError(`Choose one of ${listed(webauthn, "and")}: both are passkeys.`);
  }
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
