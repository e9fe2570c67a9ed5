/**
 * Why a call of the database failed: whether it did not answer, which may pass, or refused, which does not.
 *
 * @module
 */
import { errorChain } from "../utils/error_chain.ts";
import { FastifyAuthError } from "../errors.ts";

/**
 * - `unanswered`: no connection, no answer in time, or too busy to give one. Trying again may help.
 * - `refused`: it understood and said no: no such table, a value too long, a constraint, a permission.
 * - `failed`: anything else.
 */
export type FailureKind = "unanswered" | "refused" | "failed";

/** What a failed call of the adapter is thrown as: 503, and in `cause` what the adapter threw, without secrets. */
export class AdapterFailure extends FastifyAuthError {
  /** Why it failed. */
  readonly kind: FailureKind;
  /** The adapter's method. */
  readonly method: string;
  /** What it gives after all, where it was given up for taking too long. */
  readonly late?: Promise<unknown>;

  /**
   * @param method The adapter's method.
   * @param kind Why it failed.
   * @param details What the adapter threw, or for how long it was waited for.
   */
  constructor(
    method: string,
    kind: FailureKind,
    details: { cause?: Error; timeout?: number; late?: Promise<unknown> },
  ) {
    const { cause, timeout, late } = details;
    const what = timeout === undefined
      ? SAID[kind](method)
      : `The adapter's ${method}() took over ${timeout} ms.`;
    super("FST_AUTHJS_UNAVAILABLE", what, { cause });
    this.kind = kind;
    this.method = method;
    if (late) this.late = late;
  }
}

/** For the log. */
const SAID: Record<FailureKind, (method: string) => string> = {
  unanswered: (method) => `The database did not answer the adapter's ${method}().`,
  refused: (method) =>
    `The database refused the adapter's ${method}(), and trying again will not help. ` +
    "Compare its tables, columns and permissions with those that the adapter documents.",
  failed: (method) => `The adapter's ${method}() failed.`,
};

/** What a client is told; the details are in the log. */
const TOLD: Record<FailureKind, string> = {
  unanswered: "The database did not answer. Try again in a moment.",
  refused:
    "The database refused the request. Trying again will not help: the reason is in the application's log.",
  failed: "The database failed. The reason is in the application's log.",
};

/** The error that a client is answered with, for what stopped the work on its request. */
export function unavailableError(failure: unknown): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", TOLD[kindIn(failure)]);
}

/** The kind of the failure in an error or its causes; core puts what it caught into `cause.err`. */
function kindIn(error: unknown): FailureKind {
  for (const each of errorChain(error)) {
    if (each instanceof AdapterFailure) return each.kind;
  }
  return "failed";
}
