/** `@auth/kysely-adapter`. */
import type { Adapter } from "@auth/core/adapters";
import { type Database as Tables, KyselyAdapter } from "@auth/kysely-adapter";
import Sqlite from "better-sqlite3";
import { type Dialect, Kysely, MysqlDialect, PostgresDialect, SqliteDialect } from "kysely";
import mysql from "mysql2";
import pg from "pg";
import {
  type AdapterCase,
  mariadbDatabase,
  type OpenCase,
  postgresDatabase,
  type Query,
  sqliteQuery,
  type TestServerDatabase,
} from "./adapter_case.ts";
import { KYSELY_MARIADB_TABLES, KYSELY_POSTGRES_TABLES, KYSELY_SQLITE_TABLES } from "./tables.ts";

const adapter = "@auth/kysely-adapter";

/** On each database. */
export const kysely: readonly AdapterCase[] = [
  { id: "kysely-better-sqlite3", adapter, database: "better-sqlite3", open: onSqlite },
  { id: "kysely-postgresql", adapter, database: "PostgreSQL", server: "TEST_POSTGRES_URL", open: onPostgres },
  { id: "kysely-mariadb", adapter, database: "MariaDB", server: "TEST_MARIADB_URL", open: onMariadb },
];

function over(dialect: Dialect, query: Query, database?: TestServerDatabase): OpenCase {
  const client = new Kysely<Tables>({ dialect });
  return {
    adapter: KyselyAdapter(client) as Adapter,
    listSessions: (userId) => client.selectFrom("Session").selectAll().where("userId", "=", userId).execute(),
    query,
    async [Symbol.asyncDispose]() {
      await client.destroy();
      await database?.[Symbol.asyncDispose]();
    },
  };
}

function onSqlite(): Promise<OpenCase> {
  const database = new Sqlite(":memory:");
  database.exec(KYSELY_SQLITE_TABLES);
  return Promise.resolve(over(new SqliteDialect({ database }), sqliteQuery(database)));
}

async function onPostgres(server: string): Promise<OpenCase> {
  const database = await postgresDatabase(server, KYSELY_POSTGRES_TABLES);
  const pool = new pg.Pool({ connectionString: database.url });
  return over(new PostgresDialect({ pool }), database.query, database);
}

async function onMariadb(server: string): Promise<OpenCase> {
  const database = await mariadbDatabase(server, KYSELY_MARIADB_TABLES);
  return over(
    new MysqlDialect({ pool: mysql.createPool({ uri: database.url, timezone: "Z" }) }),
    database.query,
    database,
  );
}
