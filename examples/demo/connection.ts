import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "@libsql/client";
import { drizzle as drizzleLibsql, type LibSQLDatabase } from "drizzle-orm/libsql";
import { drizzle as drizzlePostgres } from "drizzle-orm/node-postgres";
import pg from "pg";
import * as libsqlTables from "./schema.ts";
import * as postgresTables from "./schema_postgres.ts";

/** An open database, and its tables as drizzle knows them. */
export interface Connection {
  readonly db: LibSQLDatabase;
  readonly tables: Pick<typeof libsqlTables, keyof typeof postgresTables>;
  close(): Promise<void>;
}

/** One file in the data folder: for one machine, with nothing to install. */
export async function connectLibsql(dataDir: string): Promise<Connection> {
  const client = createClient({ url: pathToFileURL(join(dataDir, "demo.db")).href });
  const connection = {
    db: drizzleLibsql(client),
    tables: libsqlTables,
    close: () => Promise.resolve(client.close()),
  };
  const types = { time: "integer", flag: "integer" };
  return await made(connection, () => client.batch(libsqlTables.createTables(types), "write"));
}

/** A PostgreSQL, which any number of processes can share. */
export async function connectPostgres(url: string): Promise<Connection> {
  const pool = new pg.Pool({ connectionString: url });
  // The server closed a connection that nobody used; the next query opens another.
  pool.on("error", () => {});
  const types = { time: "timestamp", flag: "boolean" };
  // One process makes the tables while the others wait: IF NOT EXISTS alone does not keep two from trying.
  const statements = ["SELECT pg_advisory_xact_lock(7462)", ...libsqlTables.createTables(types)];
  const connection = {
    // Drizzle's queries are written alike for both; it is only their types that differ.
    db: drizzlePostgres(pool) as unknown as LibSQLDatabase,
    tables: postgresTables as unknown as Connection["tables"],
    close: () => pool.end(),
  };
  return await made(connection, () => pool.query(statements.join(";\n")));
}

/** The connection once its tables are there, or nothing that stays open. */
async function made(connection: Connection, makeTables: () => Promise<unknown>): Promise<Connection> {
  try {
    await makeTables();
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}
