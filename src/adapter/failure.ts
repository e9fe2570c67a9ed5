/** Why a call of the adapter failed, and the errors for it: one for the log, one for the client. */
import { errorChain, rootMessage } from "../utils/error_chain.ts";
import { FastifyAuthError } from "../errors.ts";
import { SessionStoreFailure } from "../store/shared_store.ts";

/**
 * - `unanswered`: no connection, no answer in time, or too busy. Trying again may help.
 * - `conflict`: there is a row with the same unique key. Another request may have written it a moment ago.
 * - `refused`: the database refused the query: no such table, a value too long, a constraint, a permission.
 * - `failed`: anything else.
 */
type FailureKind = "unanswered" | "conflict" | "refused" | "failed";

/** A call of the adapter failed (503). Its `cause` is what the adapter threw, without secrets. */
export class AdapterFailure extends FastifyAuthError {
  /** After a timeout: the result of the call, which goes on. */
  readonly late: Promise<unknown> | undefined;

  constructor(
    method: string,
    readonly kind: FailureKind,
    { cause, timeout, late }: { cause?: Error; timeout?: number; late?: Promise<unknown> },
  ) {
    const message = timeout === undefined
      ? logMessage(kind, method, rootMessage(cause))
      : `The adapter's ${method}() took over ${timeout} ms.`;
    super("FST_AUTHJS_UNAVAILABLE", message, { cause });
    this.late = late;
  }
}

export function isUnanswered(error: unknown): boolean {
  return error instanceof AdapterFailure && error.kind === "unanswered";
}

function logMessage(kind: FailureKind, method: string, why: string | undefined): string {
  const because = why === undefined ? "." : `: ${why.replace(/[.\s]+$/, "")}.`;
  if (kind === "unanswered") return `The database did not answer the adapter's ${method}()${because}`;
  if (kind === "failed") return `The adapter's ${method}() failed${because}`;
  if (kind === "conflict") {
    return `The database refused the adapter's ${method}(), since there is a row with the same unique key${because} ` +
      "If two requests wrote it at the same time, such as first sign-ins of one user in two processes without a " +
      "`store`, the second one succeeds when it is repeated. If it fails each time, another column is unique, or the " +
      "database takes texts for equal that the adapter's look-ups tell apart, such as by their case.";
  }
  const advice = NO_TABLE.some((pattern) => pattern.test(why ?? ""))
    ? "Create the tables of the adapter: run its migration on the database that this process uses."
    : "Compare its tables, columns and permissions with those that the adapter documents.";
  return `The database refused the adapter's ${method}()${because} ${advice}`;
}

/** A table or column that is not there, as SQLite, PostgreSQL, MySQL, SQL Server, Prisma and MongoDB say it. */
const NO_TABLE = [
  /no such (?:table|column|collection)|invalid (?:object|column) name|unknown column/i,
  /(?:relation|table|column|collection)\b.* (?:does not|doesn't) exist/i,
];

export function unavailableError(failure: unknown): FastifyAuthError {
  // Core wraps what it caught.
  const errors = errorChain(failure);
  if (errors.some((error) => error instanceof SessionStoreFailure)) {
    return new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", "The store failed. Try again in a moment.");
  }
  return new DatabaseUnavailable(errors.find((error) => error instanceof AdapterFailure)?.kind ?? "failed");
}

export class DatabaseUnavailable extends FastifyAuthError {
  constructor(readonly kind: FailureKind) {
    super("FST_AUTHJS_UNAVAILABLE", CLIENT_MESSAGES[kind]);
  }
}

const CLIENT_MESSAGES: Record<FailureKind, string> = {
  unanswered: "The database did not answer. Try again in a moment.",
  conflict: "Another request may have stored the same at the same time. Try again. If that fails, too, the reason " +
    "is in the application's log.",
  refused: "The database refused the request. Trying again will not help: the reason is in the application's log.",
  failed: "The database failed. The reason is in the application's log.",
};

export function failureKind(error: unknown): FailureKind {
  // The innermost error is the driver's, which says more than the ORM's around it.
  for (const each of errorChain(error).reverse()) {
    const found = KINDS.find(([, patterns]) => matches(each as Record<string, unknown>, patterns));
    if (found !== undefined) return found[0];
  }
  return "failed";
}

/** What Prisma, PostgREST, MikroORM's adapter, Kysely, TypeORM and Sequelize say of a row that does not exist. */
export function isMissingRow(error: unknown): boolean {
  return errorChain(error).some((each) => matches(each as Record<string, unknown>, MISSING_ROW));
}

/** Of codes of all kinds, with the HTTP status as "HTTP 503"; of codes and labels of MongoDB alone. */
type Patterns = Partial<Record<"code" | "mongo" | "name" | "message", readonly RegExp[]>>;

function matches(error: Record<string, unknown>, { code = [], mongo = [], name = [], message = [] }: Patterns) {
  const { extendedCode, sqlState, errorCode, errno, number, errorLabels, $metadata, status, statusCode } = error;
  const { httpStatusCode } = ($metadata ?? {}) as { httpStatusCode?: unknown };
  const codes = [error.code, extendedCode, sqlState, errorCode, errno, number, ...[errorLabels].flat()]
    .filter((each) => typeof each === "string" || typeof each === "number").map(String);
  const ofCodes = /^Mongo/.test(String(error.name)) ? [...code, ...mongo] : code;
  return ofCodes.some((pattern) => codes.some((each) => pattern.test(each))) ||
    code.some((pattern) => pattern.test(`HTTP ${httpStatusCode ?? status ?? statusCode}`)) ||
    name.some((pattern) => pattern.test(String(error.name))) ||
    message.some((pattern) => pattern.test(String(error.message)));
}

const MISSING_ROW: Patterns = {
  code: [/^(?:P2025|PGRST116)$/],
  name: [/^(?:EntityNotFoundError|SequelizeEmptyResultError)$/],
  message: [/^(?:no result|Account not found)$/],
};

/** The first that matches decides. Codes are preferred, since messages change from version to version. */
const KINDS: readonly (readonly [FailureKind, Patterns])[] = [
  // Unique keys, before the other constraints: PostgreSQL, MySQL, SQLite, Prisma, SQL Server; ORMs; MongoDB.
  ["conflict", {
    code: [/^(?:23505|ER_DUP_ENTRY|SQLITE_CONSTRAINT_(?:UNIQUE|PRIMARYKEY|ROWID)|P2002)$/],
    name: [/^(?:SequelizeUniqueConstraintError|UniqueConstraintViolationException)$/],
    message: [
      /\bUNIQUE constraint failed\b|^Violation of (?:UNIQUE|PRIMARY) KEY constraint/,
      /^Cannot insert duplicate key/,
    ],
    mongo: [/^11000$/],
  }],
  // Prisma (https://www.prisma.io/docs/orm/reference/error-reference): P1 is about the connection, but for these.
  ["refused", { code: [/^P10(?:00|03|09|1[02-6])$/] }],
  ["unanswered", {
    code: [
      // Node, Deno and Bun; databases over HTTP.
      /^E(?:CONN\w+|PIPE|TIMED?OUT|SOCKET\w*|NOTFOUND|AI_\w+|(?:HOST|NET)(?:UNREACH|DOWN))$/,
      /^(?:UND_ERR_\w+|ConnectionRefused|ConnectionClosed|FailedToOpenSocket)$/,
      /^HTTP (?:408|425|429|502|503|504)$/,
      /^(?:P1\d{3}|P20(?:24|28|34|37)|P600[48])$/,
      // MySQL and MariaDB: their SQLSTATE is a misleading one, or none of their own ("HY000").
      /^(?:PROTOCOL_\w+|POOL_CLOSED|POOL_\w*(?:EXHAUSTED|TIMEOUT))$/,
      /^ER_(?:\w*(?:TIMEOUT|DEADLOCK|CON_COUNT_ERROR)|TOO_MANY_USER_CONNECTIONS)$/,
      /^ER_(?:SERVER_SHUTDOWN|QUERY_INTERRUPTED|SOCKET_\w+|CONNECTION_\w+)$/,
      /^ER_(?:DISK_FULL|OUT_OF_RESOURCES|OUTOFMEMORY)$/,
      // SQLSTATE (ISO 9075, and PostgreSQL's appendix A): the class is the first two characters.
      /^(?:(?:08|40|53|57)[0-9A-Z]{3}|55P03)$/,
      // SQLite (https://www.sqlite.org/rescode.html) and libSQL; postgres.js and PostgREST; SQL Server (tedious).
      /^(?:SQLITE_(?:BUSY|LOCKED|INTERRUPT|PROTOCOL|FULL)|HRANA_\w+$|SERVER_ERROR$)/,
      /^(?:CONNECT\w*_(?:CLOSED|ENDED|DESTROYED|TIMEOUT)|CONNECT_TIMEOUT|PGRST00[0-3])$/,
      /^(?:ENOTOPEN|ECONNCLOSED|EINSTLOOKUP|1205)$/,
    ],
    // Other databases use the numeric codes of MongoDB for other errors.
    mongo: [/^(?:Retryable|Transient)/, /^(?:6|7|24|50|64|89|91|112|189|202|262|9001|10107|11600|11602|13435|13436)$/],
    name: [
      /^(?:AbortError|TimeoutError|TimedOut|NotConnected|BrokenPipe|Connection(?:Refused|Reset|Aborted))$/,
      /^Mongo(?:Network|ServerSelection|Topology|NotConnected|WaitQueue|Pool|OperationTimeout|ServerClosed)/,
      // Redis: ioredis and node-redis.
      /^(?:MaxRetriesPerRequest|ClusterAllFailed|DisconnectsClient|SocketClosedUnexpectedly)Error$/,
      /^(?:(?:Connection|Socket)Timeout|Client(?:Closed|Offline))Error$/,
      // DynamoDB and other services of AWS.
      /Throttl|ThroughputExceeded|RequestLimit|ServiceUnavailable|InternalServerError|NetworkingError/,
      // Query builders and ORMs, which do not keep the driver's error.
      /^(?:KnexTimeoutError|ConnectionException|Sequelize(?:Connection\w*|Timeout)Error)$/,
    ],
    // node-postgres, which has no codes for these; Redis; databases over HTTP.
    message: [
      /^(?:timeout exceeded when trying to connect|timeout expired|Query read timeout|Connection terminated)/,
      /^(?:Cannot use a pool after calling end|Client has encountered a connection error)/,
      /^(?:Connection is closed|Stream isn't writeable|Command timed out)/,
      /^(?:LOADING|BUSY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|NOREPLICAS|OOM) /,
      /^(?:fetch failed|Failed to fetch|error sending request)/,
    ],
  }],
  ["refused", {
    code: [
      /^(?:P2\d|PGRST\d|HTTP 4)\d\d$/,
      /^(?:(?:0A|21|22|23|28|2F|38|3D|3F|42|44|54)[0-9A-Z]{3}|ER_\w+)$/,
      /^SQLITE_(?:ERROR|PERM|READONLY|TOOBIG|CONSTRAINT|MISMATCH|MISUSE|AUTH|RANGE|NOTADB)/,
      /^(?:ERR_SQLITE_ERROR|ELOGIN|EREQUEST)$/,
    ],
    mongo: [/^\d+$/],
    name: [
      /^(?:PrismaClientValidationError|ReplyError|ErrorReply|SimpleError|Sequelize\w+)$/,
      /^(?:ResourceNotFound|Validation|AccessDenied|UnrecognizedClient|ConditionalCheckFailed)Exception$/,
      /^(?:(?:Unique|ForeignKey|NotNull|Check)\w*ConstraintViolation)Exception$/,
      /^(?:TableNotFound|InvalidFieldName|SyntaxError)Exception$/,
    ],
    // D1, which has the code in its message; Redis.
    message: [
      /\bSQLITE_(?:ERROR|CONSTRAINT|MISMATCH|TOOBIG|READONLY|AUTH)\b/,
      /^(?:NOAUTH|WRONGPASS|NOPERM|WRONGTYPE|READONLY) /,
    ],
  }],
];
