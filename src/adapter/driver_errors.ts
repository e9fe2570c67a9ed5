/**
 * Tells from the error of a database driver or ORM why a call failed.
 *
 * @module
 */
import { errorChain } from "../utils/error_chain.ts";
import type { FailureKind } from "./failure.ts";

/**
 * Why a call failed. Codes are looked at first, since drivers change their messages from version to version.
 */
export function failureKind(error: unknown): FailureKind {
  const chain = [...errorChain(error)];
  // The innermost error is the driver's, which says more than the ORM's around it.
  for (const details of chain.map(detailsOf).reverse()) {
    const rule = RULES.find(([, matches]) => matches(details));
    if (rule !== undefined) return rule[0];
  }
  return "failed";
}

/** The parts of an error that the rules compare. */
interface ErrorDetails {
  /** Codes of all kinds, as text. */
  readonly codes: readonly string[];
  readonly name: string;
  readonly message: string;
  /** The HTTP status, of databases that answer over HTTP. */
  readonly status: number;
  readonly labels: readonly unknown[];
}

function detailsOf(error: object): ErrorDetails {
  const { name, message, errorLabels, $metadata } = error as Record<string, unknown>;
  const { code, extendedCode, sqlState, errorCode, errno, number } = error as Record<string, unknown>;
  const { status, statusCode } = error as Record<string, unknown>;
  const { httpStatusCode } = ($metadata ?? {}) as { httpStatusCode?: unknown };
  return {
    codes: [code, extendedCode, sqlState, errorCode, errno, number]
      .filter((each) => typeof each === "string" || typeof each === "number").map(String),
    name: String(name ?? ""),
    message: String(message ?? ""),
    status: Number(httpStatusCode ?? status ?? statusCode ?? 0),
    labels: Array.isArray(errorLabels) ? errorLabels : [],
  };
}

type Rule = readonly [FailureKind, (details: ErrorDetails) => boolean];

const code = (pattern: RegExp) => ({ codes }: ErrorDetails) => codes.some((each) => pattern.test(each));
const name = (pattern: RegExp) => (details: ErrorDetails) => pattern.test(details.name);
const message = (pattern: RegExp) => (details: ErrorDetails) => pattern.test(details.message);
/** Numeric codes, which other databases use for other errors. */
const mongo = (pattern: RegExp) => (details: ErrorDetails) =>
  /^Mongo/.test(details.name) && code(pattern)(details);

/** The first rule that matches decides. */
const RULES: readonly Rule[] = [
  // Network errors of Node, Deno and Bun.
  [
    "unanswered",
    code(
      /^(?:E(?:CONN\w+|PIPE|TIMEDOUT|TIMEOUT|SOCKET\w*|(?:HOST|NET)(?:UNREACH|DOWN)|NOTFOUND|AI_\w+)|ENOTFOUND|UND_ERR_\w+)$/,
    ),
  ],
  ["unanswered", code(/^(?:ConnectionRefused|ConnectionClosed|FailedToOpenSocket)$/)],
  [
    "unanswered",
    name(
      /^(?:AbortError|TimeoutError|TimedOut|NotConnected|BrokenPipe|Connection(?:Refused|Reset|Aborted))$/,
    ),
  ],

  // Prisma (https://www.prisma.io/docs/orm/reference/error-reference): P1 is about the connection, P2 about
  // the query.
  ["refused", code(/^P10(?:00|03|09|10|12|13|14|15|16)$/)],
  ["unanswered", code(/^(?:P1\d{3}|P2024|P2028|P2034|P2037|P6004|P6008)$/)],
  ["refused", code(/^P2\d{3}$/)],
  ["refused", name(/^PrismaClientValidationError$/)],

  // MySQL and MariaDB, before their SQLSTATE: these have none of their own ("HY000"), or a misleading one.
  [
    "unanswered",
    code(
      /^(?:PROTOCOL_\w+|POOL_CLOSED|POOL_\w*(?:EXHAUSTED|TIMEOUT)|ER_(?:\w*(?:TIMEOUT|DEADLOCK)|\w*CON_COUNT_ERROR|TOO_MANY_USER_CONNECTIONS|SERVER_SHUTDOWN|QUERY_INTERRUPTED|DISK_FULL|OUT_OF_RESOURCES|OUTOFMEMORY|SOCKET_\w+|GET_CONNECTION_TIMEOUT|CONNECTION_\w+))$/,
    ),
  ],

  // SQLSTATE (ISO 9075, and PostgreSQL's appendix A): the class is the first two characters.
  ["unanswered", code(/^(?:08|40|53|57)[0-9A-Z]{3}$/)],
  ["unanswered", code(/^55P03$/)],
  ["refused", code(/^(?:0A|21|22|23|28|2F|38|3D|3F|42|44|54)[0-9A-Z]{3}$/)],
  ["refused", code(/^ER_\w+$/)],

  // SQLite (https://www.sqlite.org/rescode.html), libSQL, and D1, which has the code in its message.
  ["unanswered", code(/^SQLITE_(?:BUSY|LOCKED|INTERRUPT|PROTOCOL|FULL)/)],
  ["refused", code(/^SQLITE_(?:ERROR|PERM|READONLY|TOOBIG|CONSTRAINT|MISMATCH|MISUSE|AUTH|RANGE|NOTADB)/)],
  ["unanswered", code(/^(?:HRANA_\w+|SERVER_ERROR)$/)],
  ["refused", code(/^ERR_SQLITE_ERROR$/)],
  ["refused", message(/\bSQLITE_(?:ERROR|CONSTRAINT|MISMATCH|TOOBIG|READONLY|AUTH)\b/)],

  // postgres.js, node-postgres (which has no codes for these) and PostgREST.
  ["unanswered", code(/^(?:CONNECT\w*_(?:CLOSED|ENDED|DESTROYED|TIMEOUT)|CONNECT_TIMEOUT|PGRST00[0-3])$/)],
  [
    "unanswered",
    message(
      /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end)/,
    ),
  ],
  ["refused", code(/^PGRST\d{3}$/)],

  // SQL Server (tedious).
  ["unanswered", code(/^(?:ENOTOPEN|ECONNCLOSED|EINSTLOOKUP|1205)$/)],
  ["refused", code(/^(?:ELOGIN|EREQUEST)$/)],

  // MongoDB.
  ["unanswered", ({ labels }) => labels.some((label) => /^(?:Retryable|Transient)/.test(String(label)))],
  [
    "unanswered",
    name(
      /^Mongo(?:Network|ServerSelection|Topology|NotConnected|WaitQueue|Pool|OperationTimeout|ServerClosed)/,
    ),
  ],
  ["unanswered", mongo(/^(?:6|7|24|50|64|89|91|112|189|202|262|9001|10107|11600|11602|13435|13436)$/)],
  ["refused", mongo(/^\d+$/)],

  // Redis: ioredis and node-redis.
  [
    "unanswered",
    name(
      /^(?:MaxRetriesPerRequestError|ClusterAllFailedError|SocketClosedUnexpectedlyError|(?:Connection|Socket)TimeoutError|Client(?:Closed|Offline)Error|DisconnectsClientError)$/,
    ),
  ],
  [
    "unanswered",
    message(
      /^(?:Connection is closed|Stream isn't writeable|Command timed out|(?:LOADING|BUSY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|NOREPLICAS|OOM) )/,
    ),
  ],
  ["refused", name(/^(?:ReplyError|ErrorReply|SimpleError)$/)],
  ["refused", message(/^(?:NOAUTH|WRONGPASS|NOPERM|WRONGTYPE|READONLY) /)],

  // DynamoDB and other services of AWS.
  [
    "unanswered",
    name(/Throttl|ThroughputExceeded|RequestLimit|ServiceUnavailable|InternalServerError|NetworkingError/),
  ],
  [
    "refused",
    name(/^(?:ResourceNotFound|Validation|AccessDenied|UnrecognizedClient|ConditionalCheckFailed)Exception$/),
  ],

  // Query builders and ORMs, which do not keep the driver's error.
  ["unanswered", name(/^(?:KnexTimeoutError|ConnectionException|Sequelize(?:Connection\w*|Timeout)Error)$/)],
  [
    "refused",
    name(
      /^(?:Sequelize\w+|(?:Unique|ForeignKey|NotNull|Check)\w*ConstraintViolationException|(?:TableNotFound|InvalidFieldName|SyntaxError)Exception)$/,
    ),
  ],

  // Databases over HTTP.
  ["unanswered", ({ status }) => [408, 425, 429, 502, 503, 504].includes(status)],
  ["refused", ({ status }) => status >= 400 && status < 500],
  ["unanswered", message(/^(?:fetch failed|Failed to fetch|error sending request)/)],
];
