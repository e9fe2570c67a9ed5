/**
 * One call of an adapter: with a deadline, Dates in its result, no secrets in its errors, and a check of what
 * it returns.
 */
import { checked } from "./checked_results.ts";
import { type DatedCall, withDates } from "./dated_results.ts";
import { withDeadline } from "../utils/deadline.ts";
import { failureKind, isMissingRow } from "./driver_errors.ts";
import { AdapterFailure } from "./failure.ts";
import { redactError } from "../http/redact_error.ts";
import { adapterCalls } from "../telemetry/operations.ts";

/** A call to make. */
export interface AdapterCall extends DatedCall {
  /** Makes the call. */
  readonly run: () => unknown;
  /** Milliseconds it may take; 0 for no limit. */
  readonly timeout: number;
  /** Whether the row that it is to change is gone. */
  readonly isGone?: () => Promise<boolean>;
}

/**
 * Makes the call.
 *
 * @throws {AdapterFailure} If it fails or takes too long.
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
    const result = await run();
    // Some adapters return what their query gives for no row.
    if (result === undefined && LOOKUPS.has(name)) return null;
    return withDates(call, checked(call, result));
  } catch (error) {
    if (LOOKUPS.has(name) && isImpossibleKey(args, error)) return null;
    // Another request was faster, or the row was deleted elsewhere.
    if (ENDINGS.has(name) && (isMissingRow(error) || await isGone(call, error))) return null;
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

/** Methods for which a row that is gone is no failure: it was to be deleted, or its session has ended. */
const ENDINGS = new Set(["deleteSession", "deleteUser", "unlinkAccount", "updateSession"]);

/**
 * Whether a call failed because its row is gone, if the error does not say that: the adapter for MikroORM
 * fails with a TypeError. After the error of a database it is not asked again.
 */
async function isGone({ isGone }: AdapterCall, error: unknown): Promise<boolean> {
  if (isGone === undefined || !(error instanceof TypeError)) return false;
  return await isGone().catch(() => false);
}

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
