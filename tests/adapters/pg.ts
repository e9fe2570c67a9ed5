/** `@auth/pg-adapter`. */
import PostgresAdapter from "@auth/pg-adapter";
import pg from "pg";
import { type AdapterCase, type OpenCase, postgresDatabase } from "./adapter_case.ts";
import { PUBLISHED_PG_TABLES } from "./tables.ts";

/** On PostgreSQL. */
export const pgCases: readonly AdapterCase[] = [
  {
    id: "pg-postgresql",
    adapter: "@auth/pg-adapter",
    database: "PostgreSQL",
    server: "TEST_POSTGRES_URL",
    open: onPostgres,
  },
];

async function onPostgres(server: string): Promise<OpenCase> {
  const database = await postgresDatabase(server, PUBLISHED_PG_TABLES);
  const pool = new pg.Pool({ connectionString: database.url });
  return {
    adapter: PostgresAdapter(pool),
    listSessions: async (userId) => (await pool.query('SELECT * FROM sessions WHERE "userId" = $1', [userId])).rows,
    query: database.query,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await database[Symbol.asyncDispose]();
    },
  };
}
