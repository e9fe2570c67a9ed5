/** Tells from the error of a database driver or ORM why a call failed. */
import { errorChain } from "../utils/error_chain.ts";
import type { FailureKind } from "./failure.ts";

export function failureKind(error: unknown): FailureKind {
  // The innermost error is the driver's, which says more than the ORM's around it.
  for (const details of [...errorChain(error)].map(detailsOf).reverse()) {
    const rule = RULES.find(([, part, pattern]) => matches(details, part, pattern));
    if (rule !== undefined) return rule[0];
  }
  return "failed";
}

/** What Prisma, PostgREST, MikroORM's adapter, Kysely, TypeORM and Sequelize say of a row that does not exist. */
export function isMissingRow(error: unknown): boolean {
  return [...errorChain(error)].map(detailsOf).some((details) =>
    matches(details, "code", /^(?:P2025|PGRST116)$/) ||
    matches(details, "name", /^(?:EntityNotFoundError|SequelizeEmptyResultError)$/) ||
    matches(details, "message", /^(?:no result|Account not found)$/)
  );
}

/** Codes of all kinds, with the HTTP status as "HTTP 503"; codes and labels of MongoDB alone; the name; the message. */
type Details = Readonly<Record<"code" | "mongo" | "name" | "message", readonly string[]>>;

function detailsOf(error: object): Details {
  const { name, message, errorLabels, $metadata } = error as Record<string, unknown>;
  const { code, extendedCode, sqlState, errorCode, errno, number } = error as Record<string, unknown>;
  const { status, statusCode } = error as Record<string, unknown>;
  const { httpStatusCode } = ($metadata ?? {}) as { httpStatusCode?: unknown };
  const codes = [code, extendedCode, sqlState, errorCode, errno, number, ...[errorLabels].flat()]
    .filter((each) => typeof each === "string" || typeof each === "number").map(String);
  return {
    code: [...codes, `HTTP ${httpStatusCode ?? status ?? statusCode}`],
    mongo: /^Mongo/.test(String(name)) ? codes : [],
    name: [String(name ?? "")],
    message: [String(message ?? "")],
  };
}

function matches(details: Details, part: keyof Details, pattern: RegExp): boolean {
  return details[part].some((text) => pattern.test(text));
}

/** The first rule that matches decides. Codes are preferred, since messages change from version to version. */
const RULES: readonly (readonly [FailureKind, keyof Details, RegExp])[] = [
  // Unique keys, before the other constraints: PostgreSQL, MySQL, SQLite, Prisma, SQL Server; MongoDB; ORMs.
  ["conflict", "code", /^(?:23505|ER_DUP_ENTRY|SQLITE_CONSTRAINT_(?:UNIQUE|PRIMARYKEY|ROWID)|P2002)$/],
  ["conflict", "name", /^(?:SequelizeUniqueConstraintError|UniqueConstraintViolationException)$/],
  ["conflict", "message", /\bUNIQUE constraint failed\b|^Violation of (?:UNIQUE|PRIMARY) KEY constraint/],
  ["conflict", "message", /^Cannot insert duplicate key/],
  ["conflict", "mongo", /^11000$/],
  // Network errors of Node, Deno and Bun.
  [
    "unanswered",
    "code",
    /^E(?:CONN\w+|PIPE|TIMED?OUT|SOCKET\w*|NOTFOUND|AI_\w+|(?:HOST|NET)(?:UNREACH|DOWN))$/,
  ],
  ["unanswered", "code", /^(?:UND_ERR_\w+|ConnectionRefused|ConnectionClosed|FailedToOpenSocket)$/],
  ["unanswered", "name", /^(?:AbortError|TimeoutError|TimedOut|NotConnected|BrokenPipe)$/],
  ["unanswered", "name", /^Connection(?:Refused|Reset|Aborted)$/],
  // Prisma (https://www.prisma.io/docs/orm/reference/error-reference): P1 is about the connection, P2 about the query.
  ["refused", "code", /^P10(?:00|03|09|1[02-6])$/],
  ["unanswered", "code", /^(?:P1\d{3}|P20(?:24|28|34|37)|P600[48])$/],
  ["refused", "code", /^P2\d{3}$/],
  ["refused", "name", /^PrismaClientValidationError$/],
  // MySQL and MariaDB, before their SQLSTATE: these have none of their own ("HY000"), or a misleading one.
  ["unanswered", "code", /^(?:PROTOCOL_\w+|POOL_CLOSED|POOL_\w*(?:EXHAUSTED|TIMEOUT))$/],
  ["unanswered", "code", /^ER_(?:\w*(?:TIMEOUT|DEADLOCK|CON_COUNT_ERROR)|TOO_MANY_USER_CONNECTIONS)$/],
  ["unanswered", "code", /^ER_(?:SERVER_SHUTDOWN|QUERY_INTERRUPTED|SOCKET_\w+|CONNECTION_\w+)$/],
  ["unanswered", "code", /^ER_(?:DISK_FULL|OUT_OF_RESOURCES|OUTOFMEMORY)$/],
  // SQLSTATE (ISO 9075, and PostgreSQL's appendix A): the class is the first two characters.
  ["unanswered", "code", /^(?:(?:08|40|53|57)[0-9A-Z]{3}|55P03)$/],
  ["refused", "code", /^(?:(?:0A|21|22|23|28|2F|38|3D|3F|42|44|54)[0-9A-Z]{3}|ER_\w+)$/],
  // SQLite (https://www.sqlite.org/rescode.html), libSQL, and D1, which has the code in its message.
  ["unanswered", "code", /^(?:SQLITE_(?:BUSY|LOCKED|INTERRUPT|PROTOCOL|FULL)|HRANA_\w+$|SERVER_ERROR$)/],
  ["refused", "code", /^SQLITE_(?:ERROR|PERM|READONLY|TOOBIG|CONSTRAINT|MISMATCH|MISUSE|AUTH|RANGE|NOTADB)/],
  ["refused", "code", /^ERR_SQLITE_ERROR$/],
  ["refused", "message", /\bSQLITE_(?:ERROR|CONSTRAINT|MISMATCH|TOOBIG|READONLY|AUTH)\b/],
  // postgres.js, node-postgres (which has no codes for these) and PostgREST.
  ["unanswered", "code", /^(?:CONNECT\w*_(?:CLOSED|ENDED|DESTROYED|TIMEOUT)|CONNECT_TIMEOUT|PGRST00[0-3])$/],
  [
    "unanswered",
    "message",
    /^(?:timeout exceeded when trying to connect|timeout expired|Query read timeout)/,
  ],
  ["unanswered", "message", /^(?:Cannot use a pool after calling end|Connection terminated)/],
  ["unanswered", "message", /^Client has encountered a connection error/],
  ["refused", "code", /^PGRST\d{3}$/],
  // SQL Server (tedious).
  ["unanswered", "code", /^(?:ENOTOPEN|ECONNCLOSED|EINSTLOOKUP|1205)$/],
  ["refused", "code", /^(?:ELOGIN|EREQUEST)$/],
  // MongoDB. Other databases use its numeric codes for other errors.
  ["unanswered", "mongo", /^(?:Retryable|Transient)/],
  ["unanswered", "mongo", /^(?:6|7|24|50|64|89|91|112|189|202|262|9001|10107|11600|11602|13435|13436)$/],
  ["unanswered", "name", /^Mongo(?:Network|ServerSelection|Topology|NotConnected|WaitQueue|Pool)/],
  ["unanswered", "name", /^Mongo(?:OperationTimeout|ServerClosed)/],
  ["refused", "mongo", /^\d+$/],
  // Redis: ioredis and node-redis.
  ["unanswered", "name", /^(?:MaxRetriesPerRequest|ClusterAllFailed|DisconnectsClient)Error$/],
  ["unanswered", "name", /^(?:SocketClosedUnexpectedly|(?:Connection|Socket)Timeout)Error$/],
  ["unanswered", "name", /^Client(?:Closed|Offline)Error$/],
  ["unanswered", "message", /^(?:Connection is closed|Stream isn't writeable|Command timed out)/],
  ["unanswered", "message", /^(?:LOADING|BUSY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|NOREPLICAS|OOM) /],
  ["refused", "name", /^(?:ReplyError|ErrorReply|SimpleError)$/],
  ["refused", "message", /^(?:NOAUTH|WRONGPASS|NOPERM|WRONGTYPE|READONLY) /],
  // DynamoDB and other services of AWS.
  ["unanswered", "name", /Throttl|ThroughputExceeded|RequestLimit|ServiceUnavailable/],
  ["unanswered", "name", /InternalServerError|NetworkingError/],
  ["refused", "name", /^(?:ResourceNotFound|Validation|AccessDenied|UnrecognizedClient)Exception$/],
  ["refused", "name", /^ConditionalCheckFailedException$/],
  // Query builders and ORMs, which do not keep the driver's error.
  [
    "unanswered",
    "name",
    /^(?:KnexTimeoutError|ConnectionException|Sequelize(?:Connection\w*|Timeout)Error)$/,
  ],
  ["refused", "name", /^(?:Unique|ForeignKey|NotNull|Check)\w*ConstraintViolationException$/],
  ["refused", "name", /^(?:Sequelize\w+|(?:TableNotFound|InvalidFieldName|SyntaxError)Exception)$/],
  // Databases over HTTP.
  ["unanswered", "code", /^HTTP (?:408|425|429|502|503|504)$/],
  ["unanswered", "message", /^(?:fetch failed|Failed to fetch|error sending request)/],
  ["refused", "code", /^HTTP 4\d\d$/],
];
