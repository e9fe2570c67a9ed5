/**
 * One call of a database adapter: bounded in time, with Dates in its results, without secrets in its errors, and
 * believed only where it answers what was asked.
 *
 * @module
 */
import type { VerificationToken } from "@auth/core/adapters";
import { withDates } from "./dated_results.ts";
import { withDeadline } from "../utils/deadline.ts";
import { failureKind } from "./driver_errors.ts";
import { AdapterFailure } from "./failure.ts";
import { redactError } from "../http/redact_error.ts";

/** A call that is to be made. */
export interface AdapterCall {
  /** The method's name. */
  readonly name: string;
  /** Its arguments. */
  readonly args: readonly unknown[];
  /** Makes the call. */
  readonly run: () => unknown;
  /** Milliseconds it may take; 0 for no limit. */
  readonly timeout: number;
  /** Told of results that make no sense, with what to change; `about` is the same for the same mistake. */
  readonly warn: (about: string, message: string) => void;
}

/** Methods that look for what a client named, and find nothing where nothing can be. */
const LOOKUPS = new Set([
  "deleteSession",
  "getAccount",
  "getAuthenticator",
  "getSessionAndUser",
  "getUserByAccount",
  "getUserByEmail",
  "useVerificationToken",
]);

/**
 * Makes the call.
 *
 * @throws {AdapterFailure} Where it fails or takes too long.
 */
export async function callAdapter(call: AdapterCall): Promise<unknown> {
  const { name, timeout } = call;
  const result = answer(call);
  return await withDeadline(
    result,
    timeout,
    () => new AdapterFailure(name, "unanswered", { timeout, late: result }),
  );
}

/** What the adapter answers, however long it takes. */
async function answer(call: AdapterCall): Promise<unknown> {
  const { name, args, run } = call;
  try {
    return withDates(call, believable(name, args, await run()));
  } catch (error) {
    if (LOOKUPS.has(name) && isImpossibleKey(args, error)) return null;
    throw new AdapterFailure(name, failureKind(error), { cause: redactError(error, args) });
  }
}

/**
 * Whether no row can have the key, which each store says in its own way: SQL by a class of states ("data exception", as
 * for a cookie of "%00"), unstorage in a message (for one of ".."), some drivers by refusing `undefined` (a sign-in link
 * without its address). Any of them would otherwise look like a database that is down.
 */
function isImpossibleKey([asked]: readonly unknown[], error: unknown): boolean {
  if (
    typeof asked === "object" && asked !== null && "identifier" in asked && asked.identifier === undefined
  ) {
    return true;
  }
  const { code, message, cause } = (error ?? {}) as Partial<Error> & { code?: unknown };
  return isDataException(code) || isDataException((cause as { code?: unknown } | undefined)?.code) ||
    /^\[unstorage\] Invalid key/.test(message ?? "");
}

function isDataException(state: unknown): boolean {
  return typeof state === "string" && /^22[0-9A-Z]{3}$/.test(state);
}

/**
 * A store may take one key for another: a collation that ignores accents, a key-value store that cuts keys at a
 * character. Anybody who can be mailed at such an address would sign in as somebody else.
 */
function believable(name: string, [asked]: readonly unknown[], result: unknown): unknown {
  if (typeof result !== "object" || result === null) return result;
  if (name === "useVerificationToken") {
    const { identifier, token } = asked as Partial<VerificationToken>;
    const row = result as Partial<VerificationToken>;
    return isOr(row.token, token) && isOr(row.identifier, identifier) ? result : null;
  }
  const { email } = result as { email?: unknown };
  if (name === "getUserByEmail" && typeof email === "string" && fold(email) !== fold(String(asked))) {
    // Not null: core would go on to create a user, and write over the other one's key.
    throw new Error("The adapter's getUserByEmail() answered with a user of another e-mail address.");
  }
  return result;
}

/** Some adapters leave columns out, and some links the address. */
function isOr(actual: string | undefined, expected: string | undefined): boolean {
  return actual === undefined || expected === undefined || actual === expected;
}

function fold(email: string): string {
  return email.normalize("NFKC").toLowerCase().trim();
}
