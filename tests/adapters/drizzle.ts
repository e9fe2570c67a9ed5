/** `@auth/drizzle-adapter`. */
import { pathToFileURL } from "node:url";
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { createClient } from "@libsql/client";
import Database from "better-sqlite3";
import { drizzle as drizzleSqlite } from "drizzle-orm/better-sqlite3";
import { drizzle as drizzleLibsql } from "drizzle-orm/libsql";
import { drizzle as drizzleMysql } from "drizzle-orm/mysql2";
import { drizzle as drizzlePostgres } from "drizzle-orm/node-postgres";
import { eq } from "drizzle-orm";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import mysql from "mysql2/promise";
import pg from "pg";
import { DRIZZLE_LIBSQL_TABLES, DRIZZLE_POSTGRES_TABLES } from "../support/tables.ts";
import {
  type AdapterCase,
  databaseFile,
  mariadbDatabase,
  type OpenCase,
  postgresDatabase,
  type Row,
  sqliteQuery,
} from "./adapter_case.ts";
import { DRIZZLE_MARIADB_TABLES } from "./tables.ts";

const adapter = "@auth/drizzle-adapter";

/** On each database. */
export const drizzle: readonly AdapterCase[] = [
  { id: "drizzle-libsql", adapter, database: "libSQL", open: onLibsql },
  { id: "drizzle-better-sqlite3", adapter, database: "better-sqlite3", open: onSqlite },
  {
    id: "drizzle-postgresql",
    adapter,
    database: "PostgreSQL",
    server: "TEST_POSTGRES_URL",
    open: onPostgres,
  },
  { id: "drizzle-mariadb", adapter, database: "MariaDB", server: "TEST_MARIADB_URL", open: onMariadb },
];

/** As in the schema of an application. */
const sessions = sqliteTable("session", {
  sessionToken: text("sessionToken").primaryKey(),
  userId: text("userId").notNull(),
  expires: integer("expires", { mode: "timestamp_ms" }).notNull(),
});

async function onLibsql(): Promise<OpenCase> {
  const file = await databaseFile();
  const client = createClient({ url: pathToFileURL(file.path).href });
  await client.executeMultiple(DRIZZLE_LIBSQL_TABLES);
  const db = drizzleLibsql(client);
  return {
    adapter: DrizzleAdapter(db),
    listSessions: (userId) => db.select().from(sessions).where(eq(sessions.userId, userId)),
    query: async (sql) => (await client.execute(sql)).rows as Row[],
    async [Symbol.asyncDispose]() {
      client.close();
      await file[Symbol.asyncDispose]();
    },
  };
}

function onSqlite(): Promise<OpenCase> {
  const client = new Database(":memory:");
  client.exec(DRIZZLE_LIBSQL_TABLES);
  return Promise.resolve({
    adapter: DrizzleAdapter(drizzleSqlite(client)),
    query: sqliteQuery(client),
    [Symbol.asyncDispose]: () => Promise.resolve(void client.close()),
  });
}

async function onPostgres(server: string): Promise<OpenCase> {
  const database = await postgresDatabase(server, DRIZZLE_POSTGRES_TABLES);
  const pool = new pg.Pool({ connectionString: database.url });
  return {
    adapter: DrizzleAdapter(drizzlePostgres(pool)),
    query: database.query,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await database[Symbol.asyncDispose]();
    },
  };
}

async function onMariadb(server: string): Promise<OpenCase> {
  const database = await mariadbDatabase(server, DRIZZLE_MARIADB_TABLES);
  const pool = mysql.createPool({ uri: database.url, timezone: "Z" });
  return {
    adapter: DrizzleAdapter(drizzleMysql(pool)),
    query: database.query,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await database[Symbol.asyncDispose]();
    },
  };
}
