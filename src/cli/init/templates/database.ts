/** `src/database.ts` and `src/schema.ts`: the tables, through drizzle. */
import type { Choices, Database } from "../choices.ts";

/** A kind of SQL, as drizzle writes columns of it. */
interface Dialect {
  readonly module: string;
  readonly table: string;
  /** What else is imported beside \`index\`, \`integer\`, \`primaryKey\`, \`text\` and the table. */
  readonly imports: readonly string[];
  readonly time: string;
  readonly boolean: string;
  /** The types of SQL for these. */
  readonly sqlTime: string;
  readonly sqlBoolean: string;
  /** What SQL has after the primary key of one column. */
  readonly sqlKey: string;
}

const DIALECTS: Readonly<Record<Exclude<Database, "none">, Dialect>> = {
  libsql: {
    module: "drizzle-orm/sqlite-core",
    table: "sqliteTable",
    imports: [],
    time: `integer({ mode: "timestamp_ms" })`,
    boolean: `integer({ mode: "boolean" })`,
    sqlTime: "integer",
    sqlBoolean: "integer",
    sqlKey: "primary key not null",
  },
  postgres: {
    module: "drizzle-orm/pg-core",
    table: "pgTable",
    imports: ["boolean", "timestamp"],
    time: `timestamp({ mode: "date", withTimezone: true })`,
    boolean: "boolean()",
    sqlTime: "timestamptz",
    sqlBoolean: "boolean",
    sqlKey: "primary key",
  },
};

function hasPasskeys({ providers }: Choices): boolean {
  return providers.some(({ type }) => type === "webauthn");
}

/** `src/schema.ts`. */
export function schemaSource(choices: Choices): string {
  const { module, table, imports, time, sqlTime, sqlKey, ...dialect } =
    DIALECTS[choices.database as keyof typeof DIALECTS];
  const passkeys = hasPasskeys(choices);
  const names = ["index", "integer", "primaryKey", "text", table]
    .concat(imports.filter((name) => passkeys || name !== "boolean")).sort();
  return `import {
${names.map((name) => `  ${name},\n`).join("")}} from "${module}";

export const users = ${table}("user", {
  id: text().primaryKey().$defaultFn(() => crypto.randomUUID()),
  name: text(),
  email: text().unique(),
  emailVerified: ${time},
  image: text(),
});

export const accounts = ${table}("account", {
  userId: text().notNull().references(() => users.id, { onDelete: "cascade" }),
  type: text().$type<"oauth" | "oidc" | "email" | "webauthn">().notNull(),
  provider: text().notNull(),
  providerAccountId: text().notNull(),
  refresh_token: text(),
  access_token: text(),
  expires_at: integer(),
  token_type: text(),
  scope: text(),
  id_token: text(),
  session_state: text(),
}, (row) => [
  primaryKey({ columns: [row.provider, row.providerAccountId] }),
  index("account_user").on(row.userId),
]);

export const sessions = ${table}("session", {
  sessionToken: text().primaryKey(),
  userId: text().notNull().references(() => users.id, { onDelete: "cascade" }),
  expires: ${time}.notNull(),
}, (row) => [
  index("session_user").on(row.userId),
  index("session_expires").on(row.expires),
]);

export const verificationTokens = ${table}("verificationToken", {
  identifier: text().notNull(),
  token: text().notNull(),
  expires: ${time}.notNull(),
}, (row) => [
  primaryKey({ columns: [row.identifier, row.token] }),
  index("verification_token_expires").on(row.expires),
]);
${passkeys ? authenticators(table, dialect.boolean) : ""}
/**
 * Makes what is not there yet. Later changes are easier with drizzle-kit, which
 * writes the SQL from the tables above.
 */
export const MIGRATION = \`
create table if not exists "user" (
  "id" text ${sqlKey}, "name" text, "email" text unique,
  "emailVerified" ${sqlTime}, "image" text
);
create table if not exists "account" (
  "userId" text not null references "user" ("id") on delete cascade,
  "type" text not null, "provider" text not null,
  "providerAccountId" text not null,
  "refresh_token" text, "access_token" text, "expires_at" integer,
  "token_type" text, "scope" text, "id_token" text, "session_state" text,
  primary key ("provider", "providerAccountId")
);
create table if not exists "session" (
  "sessionToken" text ${sqlKey},
  "userId" text not null references "user" ("id") on delete cascade,
  "expires" ${sqlTime} not null
);
create table if not exists "verificationToken" (
  "identifier" text not null, "token" text not null,
  "expires" ${sqlTime} not null,
  primary key ("identifier", "token")
);
${
    passkeys
      ? authenticatorTable(dialect.sqlBoolean)
      : ""
  }create index if not exists "account_user" on "account" ("userId");
create index if not exists "session_user" on "session" ("userId");
create index if not exists "session_expires" on "session" ("expires");
create index if not exists "verification_token_expires"
  on "verificationToken" ("expires");
\`;
`;
}

function authenticators(table: string, boolean: string): string {
  return `
export const authenticators = ${table}("authenticator", {
  credentialID: text().notNull().unique(),
  userId: text().notNull().references(() => users.id, { onDelete: "cascade" }),
  providerAccountId: text().notNull(),
  credentialPublicKey: text().notNull(),
  counter: integer().notNull(),
  credentialDeviceType: text().notNull(),
  credentialBackedUp: ${boolean}.notNull(),
  transports: text(),
}, (row) => [primaryKey({ columns: [row.userId, row.credentialID] })]);
`;
}

function authenticatorTable(boolean: string): string {
  return `create table if not exists "authenticator" (
  "credentialID" text not null unique,
  "userId" text not null references "user" ("id") on delete cascade,
  "providerAccountId" text not null, "credentialPublicKey" text not null,
  "counter" integer not null, "credentialDeviceType" text not null,
  "credentialBackedUp" ${boolean} not null, "transports" text,
  primary key ("userId", "credentialID")
);
`;
}

/** `src/database.ts`. */
export function databaseSource(choices: Choices): string {
  return choices.database === "libsql" ? libsql(hasPasskeys(choices)) : postgres(hasPasskeys(choices));
}

const tables = (passkeys: boolean, spaces: string) =>
  ["usersTable: users", "accountsTable: accounts", "sessionsTable: sessions"]
    .concat(
      "verificationTokensTable: verificationTokens",
      passkeys ? "authenticatorsTable: authenticators" : [],
    )
    .map((member) => `${spaces}${member},\n`).join("");

const imported = (passkeys: boolean) =>
  `import {
  accounts,
${passkeys ? "  authenticators,\n" : ""}  MIGRATION,
  sessions,
  users,
  verificationTokens,
} from "./schema.ts";`;

const PRUNE = `    /** Deletes what has expired. */
    async prune() {
      const now = new Date();
      await orm.delete(sessions).where(lt(sessions.expires, now));
      await orm.delete(verificationTokens)
        .where(lt(verificationTokens.expires, now));
    },`;

function libsql(passkeys: boolean): string {
  return `import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { createClient } from "@libsql/client";
import { lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/libsql";
${imported(passkeys)}

export type Database = Awaited<ReturnType<typeof openDatabase>>;

/** Opens the database, and makes the tables that it lacks. */
export async function openDatabase(url: string) {
  const client = createClient({ url });
  await client.executeMultiple(MIGRATION);
  const orm = drizzle(client);
  const adapter = DrizzleAdapter(orm, {
${tables(passkeys, "    ")}  });
  return {
    orm,
    adapter,
${PRUNE}
    close: () => client.close(),
  };
}
`;
}

function postgres(passkeys: boolean): string {
  return `import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import pg from "pg";
${imported(passkeys)}

export type Database = ReturnType<typeof toDatabase>;

/** Opens the database, and makes the tables that it lacks. */
export async function openDatabase(url: string): Promise<Database> {
  const pool = new pg.Pool({ connectionString: url });
  // An idle connection broke. Without a listener the process would end
  pool.on("error", (error: Error) => console.warn(error.message));
  await pool.query(MIGRATION);
  return toDatabase(drizzle(pool), () => pool.end());
}

/** What the application needs of a database, whatever connects to it. */
export function toDatabase(
  orm: PgDatabase<PgQueryResultHKT>,
  close: () => Promise<void>,
) {
  const adapter = DrizzleAdapter(orm, {
${tables(passkeys, "    ")}  });
  return {
    orm,
    adapter,
${PRUNE}
    close,
  };
}
`;
}

/** `test/database.ts`: PostgreSQL without a server. */
export const TEST_DATABASE_SOURCE = `import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import { type Database, toDatabase } from "../src/database.ts";
import { MIGRATION } from "../src/schema.ts";

/** PostgreSQL in this process: the tests need no server. */
export async function openTestDatabase(): Promise<Database> {
  const client = new PGlite();
  await client.exec(MIGRATION);
  return toDatabase(drizzle(client), () => client.close());
}
`;
