/** Whether a database did not answer or refused, by what its drivers throw. */
import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { createClient } from "@libsql/client";
import { AdapterError } from "@auth/core/errors";
import { AdapterFailure, failureKind, isMissingRow, unavailableError } from "../../../src/adapter/failure.ts";

/** An error with members, as drivers make them. */
function thrown(members: Record<string, unknown>): Error {
  return Object.assign(new Error(String(members.message ?? "")), members);
}

const codes = (...list: (string | number)[]) => list.map((code) => ({ code }));

/** What drivers and ORMs throw, by what it means. */
const THROWN: Record<
  "unanswered" | "conflict" | "refused" | "failed",
  Record<string, Record<string, unknown>[]>
> = {
  unanswered: {
    "operating system": [
      ...codes("ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENOTFOUND", "EAI_AGAIN"),
      { name: "ConnectionRefused" },
      { name: "TimeoutError" },
      { message: "fetch failed", cause: { code: "UND_ERR_CONNECT_TIMEOUT" } },
      { name: "AggregateError", errors: codes("ECONNREFUSED", "ECONNREFUSED") },
    ],
    PostgreSQL: [
      ...codes("08006", "08001", "53300", "57P01", "57P03", "57014", "40001", "40P01", "55P03"),
      ...codes("CONNECT_TIMEOUT", "CONNECTION_CLOSED", "CONNECTION_ENDED", "PGRST000"),
      { message: "Connection terminated unexpectedly" },
      { message: "timeout exceeded when trying to connect" },
      { message: "Query read timeout" },
    ],
    MySQL: [
      ...codes(
        "PROTOCOL_CONNECTION_LOST",
        "ER_CON_COUNT_ERROR",
        "ER_LOCK_DEADLOCK",
        "ER_GET_CONNECTION_TIMEOUT",
      ),
      { code: "ER_LOCK_WAIT_TIMEOUT", errno: 1205, sqlState: "HY000" },
      { code: "ER_SERVER_SHUTDOWN", errno: 1053, sqlState: "08S01" },
    ],
    SQLite: [
      ...codes("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "HRANA_WEBSOCKET_ERROR", "SERVER_ERROR"),
    ],
    Prisma: [...codes("P1001", "P1002", "P1008", "P1017", "P2024", "P2034"), { errorCode: "P1001" }],
    MongoDB: [
      { name: "MongoServerSelectionError" },
      { name: "MongoNetworkTimeoutError" },
      { name: "MongoServerError", code: 11600 },
      { name: "MongoServerError", code: 1, errorLabels: ["RetryableWriteError"] },
    ],
    Redis: [
      { name: "MaxRetriesPerRequestError" },
      { message: "Connection is closed." },
      { name: "ReplyError", message: "LOADING Redis is loading the dataset in memory" },
      { name: "SocketClosedUnexpectedlyError" },
    ],
    "SQL Server": [...codes("ESOCKET", "ETIMEOUT", "ECONNCLOSED"), { code: "EREQUEST", number: 1205 }],
    "over HTTP": [{ status: 503 }, { status: 429 }, { name: "ThrottlingException" }],
    ORMs: [
      { name: "SequelizeConnectionRefusedError" },
      { name: "KnexTimeoutError" },
      { name: "QueryFailedError", driverError: { code: "57P01" } },
      { name: "DrizzleQueryError", cause: { code: "ECONNRESET" } },
    ],
  },
  conflict: {
    PostgreSQL: [...codes("23505"), {
      name: "DrizzleQueryError",
      message: "Failed query",
      cause: { code: "23505" },
    }],
    MySQL: [{ code: "ER_DUP_ENTRY", errno: 1062, sqlState: "23000" }],
    SQLite: [
      ...codes("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"),
      { code: "SQLITE_CONSTRAINT", message: "SQLITE_CONSTRAINT: UNIQUE constraint failed: user.email" },
      { code: "ERR_SQLITE_ERROR", message: "UNIQUE constraint failed: user.email" },
      { message: "D1_ERROR: UNIQUE constraint failed: users.email: SQLITE_CONSTRAINT" },
    ],
    Prisma: codes("P2002"),
    MongoDB: [{ name: "MongoServerError", code: 11000 }],
    "SQL Server": [
      { code: "EREQUEST", number: 2627, message: "Violation of UNIQUE KEY constraint 'UQ_user'." },
      { code: "EREQUEST", number: 2601, message: "Cannot insert duplicate key row in object 'dbo.user'." },
    ],
    ORMs: [
      { name: "SequelizeUniqueConstraintError" },
      { name: "UniqueConstraintViolationException" },
      { name: "QueryFailedError", driverError: { code: "23505" } },
    ],
  },
  refused: {
    PostgreSQL: codes(
      "42P01",
      "42703",
      "42501",
      "22001",
      "23503",
      "23502",
      "28P01",
      "3D000",
      "PGRST116",
    ),
    MySQL: [
      { code: "ER_NO_SUCH_TABLE", errno: 1146, sqlState: "42S02" },
      { code: "ER_DATA_TOO_LONG", errno: 1406, sqlState: "22001" },
      { code: "ER_ACCESS_DENIED_ERROR", errno: 1045, sqlState: "28000" },
      { code: "ER_NO_DEFAULT_FOR_FIELD", errno: 1364, sqlState: "HY000" },
    ],
    SQLite: [
      ...codes(
        "SQLITE_ERROR",
        "SQLITE_CONSTRAINT",
        "SQLITE_CONSTRAINT_NOTNULL",
        "SQLITE_READONLY",
        "ERR_SQLITE_ERROR",
      ),
      { message: "D1_ERROR: no such table: users: SQLITE_ERROR" },
    ],
    Prisma: [
      ...codes("P2021", "P2022", "P2000", "P1000", "P1003", "P1010"),
      { name: "PrismaClientValidationError" },
    ],
    MongoDB: [{ name: "MongoServerError", code: 13 }],
    Redis: [
      { name: "ReplyError", message: "WRONGTYPE Operation against a key holding the wrong kind of value" },
      { name: "ReplyError", message: "NOAUTH Authentication required." },
    ],
    "SQL Server": [{ code: "EREQUEST", number: 208 }, { code: "ELOGIN" }],
    "over HTTP": [{ status: 404 }, { name: "ResourceNotFoundException", $metadata: { httpStatusCode: 400 } }],
    ORMs: [
      { name: "SequelizeForeignKeyConstraintError" },
      { name: "QueryFailedError", driverError: { code: "42P01" } },
      { name: "DrizzleQueryError", message: "Failed query", cause: { code: "42P01" } },
    ],
  },
  failed: {
    anything: [{}, { message: "down" }, { code: "XX000" }, { code: "EACCES" }, { status: 500 }, { code: 42 }],
  },
};

for (const [kind, databases] of Object.entries(THROWN)) {
  for (const [database, errors] of Object.entries(databases)) {
    Deno.test(`failureKind() says "${kind}" of what ${database} throws`, () => {
      for (const members of errors) assertEquals(failureKind(thrown(members)), kind, JSON.stringify(members));
    });
  }
}

Deno.test("failureKind() takes whatever is thrown", () => {
  for (const value of [undefined, null, "down", 42, {}, []]) assertEquals(failureKind(value), "failed");
  const loop = thrown({});
  loop.cause = loop;
  assertEquals(failureKind(loop), "failed");
});

Deno.test("failureKind() tells what libSQL throws", async () => {
  const client = createClient({ url: ":memory:" });
  const kindOf = (sql: string) => client.execute(sql).then(() => undefined, failureKind);
  assertEquals(await kindOf("SELECT * FROM nothing"), "refused");
  await client.execute("CREATE TABLE a (b TEXT UNIQUE)");
  await client.execute("INSERT INTO a VALUES ('x')");
  assertEquals(await kindOf("INSERT INTO a VALUES ('x')"), "conflict");
  client.close();
});

Deno.test("a client is told whether trying again helps, and nothing of what was asked", () => {
  const messages = (["unanswered", "conflict", "refused", "failed"] as const).map((kind) => {
    const cause = new AdapterFailure("createUser", kind, { cause: new Error("value too long: ada") });
    const wrapped = new AdapterError(cause as never);
    assertStringIncludes(cause.message, "createUser()", "the log says what failed");
    for (const error of [cause, wrapped]) {
      const { code, statusCode, message } = unavailableError(error);
      assertEquals([code, statusCode, message.includes("ada")], ["FST_AUTHJS_UNAVAILABLE", 503, false]);
    }
    return unavailableError(wrapped).message;
  });
  assertStringIncludes(messages[0]!, "did not answer. Try again");
  assertStringIncludes(messages[1]!, "at the same time. Try again.");
  assertStringIncludes(messages[2]!, "refused the request. Trying again will not help");
  assertEquals(new Set(messages).size, 4);
  assertEquals(unavailableError(new Error("?")).message, messages[3]);
});

Deno.test("isMissingRow() tells a row that is gone from a query that failed", () => {
  const gone = [
    { code: "P2025" },
    { code: "PGRST116" },
    { message: "no result" },
    { message: "Account not found" },
    { name: "EntityNotFoundError" },
    { name: "DriverAdapterError", cause: { code: "P2025" } },
  ];
  for (const members of gone) assert(isMissingRow(thrown(members)), JSON.stringify(members));
  for (
    const members of [{ code: "P2021" }, { code: "42P01" }, { name: "NotFoundError" }, {
      message: "no results table",
    }]
  ) {
    assertFalse(isMissingRow(thrown(members)), JSON.stringify(members));
  }
  assertFalse(isMissingRow("no result"));
});
