/** Tells from the error of a database driver or ORM why a call failed. */
import { errorChain } from "../utils/error_chain.ts";
import type { FailureKind } from "./failure.ts";

/** Why a call failed. */
export function failureKind(error: unknown): FailureKind {
  const chain = [...errorChain(error)];
  // The innermost error is the driver's, which says more than the ORM's around it.
  for (const details of chain.map(detailsOf).reverse()) {
    const rule = RULES.find((rule) => matches(details, rule));
    if (rule !== undefined) return rule.kind;
  }
  return "failed";
}

/**
 * Whether a query failed because its row does not exist: Prisma, PostgREST, the adapter for MikroORM, and
 * queries of Kysely, TypeORM and Sequelize that are to find one.
 */
export function isMissingRow(error: unknown): boolean {
  return [...errorChain(error)].map(detailsOf).some((details) => matches(details, MISSING_ROW));
}

const MISSING_ROW: Omit<Rule, "kind"> = {
  code: /^(?:P2025|PGRST116)$/,
  name: /^(?:EntityNotFoundError|SequelizeEmptyResultError)$/,
  message: /^(?:no result|Account not found)$/,
};

/** The parts of an error that are compared. */
interface ErrorDetails {
  /** Codes of all kinds, labels of MongoDB, and the HTTP status as "HTTP 503". */
  readonly codes: readonly string[];
  readonly name: string;
  readonly message: string;
}

function detailsOf(error: object): ErrorDetails {
  const { name, message, errorLabels, $metadata } = error as Record<string, unknown>;
  const { code, extendedCode, sqlState, errorCode, errno, number } = error as Record<string, unknown>;
  const { status, statusCode } = error as Record<string, unknown>;
  const { httpStatusCode } = ($metadata ?? {}) as { httpStatusCode?: unknown };
  const codes = [code, extendedCode, sqlState, errorCode, errno, number, ...[errorLabels].flat()]
    .filter((each) => typeof each === "string" || typeof each === "number").map(String);
  return {
    codes: [...codes, `HTTP ${httpStatusCode ?? status ?? statusCode}`],
    name: String(name ?? ""),
    message: String(message ?? ""),
  };
}

/** An error matches if one of the patterns does. */
interface Rule {
  readonly kind: FailureKind;
  /** The names of the errors that the rule is for. */
  readonly only?: RegExp;
  readonly code?: RegExp;
  readonly name?: RegExp;
  readonly message?: RegExp;
}

function matches({ codes, name, message }: ErrorDetails, rule: Omit<Rule, "kind">): boolean {
  if (rule.only && !rule.only.test(name)) return false;
  return codes.some((code) => rule.code?.test(code)) || !!rule.name?.test(name) ||
    !!rule.message?.test(message);
}

/**
 * The first rule that matches decides. Codes are preferred, since messages change from version to version.
 */
const RULES: readonly Rule[] = [
  // Unique keys, before the other constraints: PostgreSQL, MySQL, SQLite, Prisma, SQL Server; MongoDB; ORMs.
  {
    kind: "conflict",
    code: /^(?:23505|ER_DUP_ENTRY|SQLITE_CONSTRAINT_(?:UNIQUE|PRIMARYKEY|ROWID)|P2002)$/,
    name: /^(?:SequelizeUniqueConstraintError|UniqueConstraintViolationException)$/,
    message:
      /\bUNIQUE constraint failed\b|^Violation of (?:UNIQUE|PRIMARY) KEY constraint|^Cannot insert duplicate key/,
  },
  { kind: "conflict", only: /^Mongo/, code: /^11000$/ },
  // Network errors of Node, Deno and Bun.
  {
    kind: "unanswered",
    code: /^E(?:CONN\w+|PIPE|TIMEDOUT|TIMEOUT|SOCKET\w*|(?:HOST|NET)(?:UNREACH|DOWN)|NOTFOUND|AI_\w+)$/,
  },
  {
    kind: "unanswered",
    code: /^(?:UND_ERR_\w+|ConnectionRefused|ConnectionClosed|FailedToOpenSocket)$/,
    name:
      /^(?:AbortError|TimeoutError|TimedOut|NotConnected|BrokenPipe|Connection(?:Refused|Reset|Aborted))$/,
  },
  // Prisma (https://www.prisma.io/docs/orm/reference/error-reference): P1 is about the connection, P2 about
  // the query.
  { kind: "refused", code: /^P10(?:00|03|09|10|12|13|14|15|16)$/ },
  { kind: "unanswered", code: /^(?:P1\d{3}|P2024|P2028|P2034|P2037|P6004|P6008)$/ },
  { kind: "refused", code: /^P2\d{3}$/, name: /^PrismaClientValidationError$/ },
  // MySQL and MariaDB, before their SQLSTATE: these have none of their own ("HY000"), or a misleading one.
  {
    kind: "unanswered",
    code:
      /^(?:PROTOCOL_\w+|POOL_CLOSED|POOL_\w*(?:EXHAUSTED|TIMEOUT)|ER_\w*(?:TIMEOUT|DEADLOCK|CON_COUNT_ERROR))$/,
  },
  {
    kind: "unanswered",
    code: /^ER_(?:TOO_MANY_USER_CONNECTIONS|SERVER_SHUTDOWN|QUERY_INTERRUPTED|SOCKET_\w+|CONNECTION_\w+)$/,
  },
  { kind: "unanswered", code: /^ER_(?:DISK_FULL|OUT_OF_RESOURCES|OUTOFMEMORY)$/ },
  // SQLSTATE (ISO 9075, and PostgreSQL's appendix A): the class is the first two characters.
  { kind: "unanswered", code: /^(?:(?:08|40|53|57)[0-9A-Z]{3}|55P03)$/ },
  { kind: "refused", code: /^(?:(?:0A|21|22|23|28|2F|38|3D|3F|42|44|54)[0-9A-Z]{3}|ER_\w+)$/ },
  // SQLite (https://www.sqlite.org/rescode.html), libSQL, and D1, which has the code in its message.
  {
    kind: "unanswered",
    code: /^(?:SQLITE_(?:BUSY|LOCKED|INTERRUPT|PROTOCOL|FULL)|HRANA_\w+$|SERVER_ERROR$)/,
  },
  {
    kind: "refused",
    code:
      /^(?:SQLITE_(?:ERROR|PERM|READONLY|TOOBIG|CONSTRAINT|MISMATCH|MISUSE|AUTH|RANGE|NOTADB)|ERR_SQLITE_ERROR$)/,
    message: /\bSQLITE_(?:ERROR|CONSTRAINT|MISMATCH|TOOBIG|READONLY|AUTH)\b/,
  },
  // postgres.js, node-postgres (which has no codes for these) and PostgREST.
  {
    kind: "unanswered",
    code: /^(?:CONNECT\w*_(?:CLOSED|ENDED|DESTROYED|TIMEOUT)|CONNECT_TIMEOUT|PGRST00[0-3])$/,
    message: /^(?:timeout exceeded when trying to connect|timeout expired|Query read timeout)/,
  },
  {
    kind: "unanswered",
    message:
      /^(?:Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end)/,
  },
  { kind: "refused", code: /^PGRST\d{3}$/ },
  // SQL Server (tedious).
  { kind: "unanswered", code: /^(?:ENOTOPEN|ECONNCLOSED|EINSTLOOKUP|1205)$/ },
  { kind: "refused", code: /^(?:ELOGIN|EREQUEST)$/ },
  // MongoDB. Other databases use its numeric codes for other errors.
  {
    kind: "unanswered",
    only: /^Mongo/,
    code:
      /^(?:Retryable|Transient|(?:6|7|24|50|64|89|91|112|189|202|262|9001|10107|11600|11602|13435|13436)$)/,
    name:
      /^Mongo(?:Network|ServerSelection|Topology|NotConnected|WaitQueue|Pool|OperationTimeout|ServerClosed)/,
  },
  { kind: "refused", only: /^Mongo/, code: /^\d+$/ },
  // Redis: ioredis and node-redis.
  {
    kind: "unanswered",
    name: /^(?:MaxRetriesPerRequest|ClusterAllFailed|SocketClosedUnexpectedly|DisconnectsClient)Error$/,
    message: /^(?:Connection is closed|Stream isn't writeable|Command timed out)/,
  },
  {
    kind: "unanswered",
    name: /^(?:(?:Connection|Socket)TimeoutError|Client(?:Closed|Offline)Error)$/,
    message: /^(?:LOADING|BUSY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|NOREPLICAS|OOM) /,
  },
  {
    kind: "refused",
    name: /^(?:ReplyError|ErrorReply|SimpleError)$/,
    message: /^(?:NOAUTH|WRONGPASS|NOPERM|WRONGTYPE|READONLY) /,
  },
  // DynamoDB and other services of AWS.
  {
    kind: "unanswered",
    name: /Throttl|ThroughputExceeded|RequestLimit|ServiceUnavailable|InternalServerError|NetworkingError/,
  },
  {
    kind: "refused",
    name: /^(?:ResourceNotFound|Validation|AccessDenied|UnrecognizedClient|ConditionalCheckFailed)Exception$/,
  },
  // Query builders and ORMs, which do not keep the driver's error.
  {
    kind: "unanswered",
    name: /^(?:KnexTimeoutError|ConnectionException|Sequelize(?:Connection\w*|Timeout)Error)$/,
  },
  {
    kind: "refused",
    name: /^(?:Sequelize\w+|(?:Unique|ForeignKey|NotNull|Check)\w*ConstraintViolationException)$/,
  },
  { kind: "refused", name: /^(?:TableNotFound|InvalidFieldName|SyntaxError)Exception$/ },
  // Databases over HTTP.
  {
    kind: "unanswered",
    code: /^HTTP (?:408|425|429|502|503|504)$/,
    message: /^(?:fetch failed|Failed to fetch|error sending request)/,
  },
  { kind: "refused", code: /^HTTP 4\d\d$/ },
];
