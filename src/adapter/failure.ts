/** The error that a failed call of the adapter is thrown as, and the one that the client is answered with. */
import { errorChain, rootMessage } from "../utils/error_chain.ts";
import { FastifyAuthError } from "../errors.ts";

/**
 * - `unanswered`: no connection, no answer in time, or too busy. Trying again may help.
 * - `conflict`: there is a row with the same unique key. Another request may have written it a moment ago.
 * - `refused`: the database refused the query: no such table, a value too long, a constraint, a permission.
 * - `failed`: anything else.
 */
export type FailureKind = "unanswered" | "conflict" | "refused" | "failed";

/** A call of the adapter failed (503). Its `cause` is what the adapter threw, without secrets. */
export class AdapterFailure extends FastifyAuthError {
  readonly kind: FailureKind;
  /** After a timeout: the result of the call, which goes on. */
  readonly late?: Promise<unknown>;

  /** @param details What the adapter threw; or the timeout in milliseconds, and the call that goes on. */
  constructor(
    method: string,
    kind: FailureKind,
    details: { cause?: Error; timeout?: number; late?: Promise<unknown> },
  ) {
    const { cause, timeout, late } = details;
    const message = timeout === undefined
      ? LOG_MESSAGES[kind](method, rootMessage(cause))
      : `The adapter's ${method}() took over ${timeout} ms.`;
    super("FST_AUTHJS_UNAVAILABLE", message, { cause });
    this.kind = kind;
    if (late) this.late = late;
  }
}

export function isUnanswered(error: unknown): boolean {
  return error instanceof AdapterFailure && error.kind === "unanswered";
}

const LOG_MESSAGES: Record<FailureKind, (method: string, why: string | undefined) => string> = {
  unanswered: (method, why) => `The database did not answer the adapter's ${method}()${because(why)}`,
  conflict: (method, why) =>
    `The database refused the adapter's ${method}(), since there is a row with the same unique key` +
    `${because(why)} If two requests wrote it at the same time, such as first sign-ins of one user in two ` +
    "processes without a `store`, the second one succeeds when it is repeated. If it fails each time, " +
    "another column is unique, or the database takes texts for equal that the adapter's look-ups tell " +
    "apart, such as by their case.",
  refused: (method, why) =>
    `The database refused the adapter's ${method}()${because(why)} ` +
    (why !== undefined && NO_TABLE.some((pattern) => pattern.test(why))
      ? "Create the tables of the adapter: run its migration on the database that this process uses."
      : "Compare its tables, columns and permissions with those that the adapter documents."),
  failed: (method, why) => `The adapter's ${method}() failed${because(why)}`,
};

/** A table or column that is not there, as SQLite, PostgreSQL, MySQL, SQL Server, Prisma and MongoDB say it. */
const NO_TABLE = [
  /no such (?:table|column|collection)|invalid (?:object|column) name|unknown column/i,
  /(?:relation|table|column|collection)\b.* (?:does not|doesn't) exist/i,
];

function because(why: string | undefined): string {
  return why === undefined ? "." : `: ${why.replace(/[.\s]+$/, "")}.`;
}

/** The error for the client; the details are in the log only. */
export function unavailableError(failure: unknown): FastifyAuthError {
  // Core wraps what it caught.
  const found = [...errorChain(failure)].find((error) => error instanceof AdapterFailure);
  return new DatabaseUnavailable(found?.kind ?? "failed");
}

export class DatabaseUnavailable extends FastifyAuthError {
  readonly temporary: boolean;

  constructor(kind: FailureKind) {
    super("FST_AUTHJS_UNAVAILABLE", CLIENT_MESSAGES[kind]);
    this.temporary = kind === "unanswered" || kind === "conflict";
  }
}

const CLIENT_MESSAGES: Record<FailureKind, string> = {
  unanswered: "The database did not answer. Try again in a moment.",
  conflict:
    "Another request may have stored the same at the same time. Try again. If that fails, too, the reason " +
    "is in the application's log.",
  refused:
    "The database refused the request. Trying again will not help: the reason is in the application's log.",
  failed: "The database failed. The reason is in the application's log.",
};
