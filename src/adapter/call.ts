/**
 * One call of an adapter: with a deadline, Dates in its result, no secrets in its errors, and a check that
 * the row is the one that was looked for.
 */
import type { VerificationToken } from "@auth/core/adapters";
import { type DatedCall, withDates } from "./dated_results.ts";
import { withDeadline } from "../utils/deadline.ts";
import { failureKind } from "./driver_errors.ts";
import { AdapterFailure } from "./failure.ts";
import { redactError } from "../http/redact_error.ts";
import { adapterCalls } from "../telemetry/operations.ts";

/** A call to make. */
export interface AdapterCall extends DatedCall {
  /** Makes the call. */
  readonly run: () => unknown;
  /** Milliseconds it may take; 0 for no limit. */
  readonly timeout: number;
}

/**
 * Makes the call.
 *
 * @throws {AdapterFailure} Where it fails or takes too long.
 */
export function callAdapter(call: AdapterCall): Promise<unknown> {
  if (!adapterCalls.isObserved) return callInTime(call);
  const failure = (error: unknown) => ({ errorType: (error as AdapterFailure).kind });
  return adapterCalls.trace({ method: call.name }, () => callInTime(call), { failure });
}

async function callInTime(call: AdapterCall): Promise<unknown> {
  const { name, timeout } = call;
  const result = runCall(call);
  const onTimeout = () => new AdapterFailure(name, "unanswered", { timeout, late: result });
  return await withDeadline(result, timeout, onTimeout);
}

async function runCall(call: AdapterCall): Promise<unknown> {
  const { name, args, run } = call;
  try {
    return withDates(call, validated(name, args, await run()));
  } catch (error) {
    if (LOOKUPS.has(name) && isImpossibleKey(args, error)) return null;
    throw new AdapterFailure(name, failureKind(error), { cause: redactError(error, args) });
  }
}

/**
 * Methods whose key comes from the client, or from `authorize()`. A key that no row can have is "not found",
 * not a failure.
 */
const LOOKUPS = new Set([
  "deleteSession",
  "getAccount",
  "getAuthenticator",
  "getSessionAndUser",
  "getUser",
  "getUserByAccount",
  "getUserByEmail",
  "useVerificationToken",
]);

/**
 * Whether the database refused the key itself. SQL databases answer with a "data exception" (for a cookie of
 * "%00"), unstorage with a message (for ".."), and some drivers refuse `undefined` (a sign-in link without
 * its address).
 */
function isImpossibleKey([key]: readonly unknown[], error: unknown): boolean {
  if (typeof key === "object" && key !== null && "identifier" in key && key.identifier === undefined) {
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
 * Checks that the row is the one that was looked for. A collation that ignores accents, or a key-value store
 * that cuts keys at a character, may return another one: then the owner of a similar address could sign in as
 * this user.
 */
function validated(name: string, [key]: readonly unknown[], result: unknown): unknown {
  if (typeof result !== "object" || result === null) return result;
  if (name === "useVerificationToken") {
    const { identifier, token } = key as Partial<VerificationToken>;
    const row = result as Partial<VerificationToken>;
    return matches(row.token, token) && matches(row.identifier, identifier) ? result : null;
  }
  const { email } = result as { email?: unknown };
  if (
    name === "getUserByEmail" && typeof email === "string" && foldAddress(email) !== foldAddress(String(key))
  ) {
    // Not null: core would create a user, and in a key-value store overwrite the other user's key.
    throw new Error("The adapter's getUserByEmail() answered with a user of another e-mail address.");
  }
  return result;
}

/** Some adapters leave columns out, and some sign-in links have no address: what is missing matches. */
function matches(actual: string | undefined, expected: string | undefined): boolean {
  return actual === undefined || expected === undefined || actual === expected;
}

function foldAddress(email: string): string {
  return email.normalize("NFKC").toLowerCase().trim();
}
