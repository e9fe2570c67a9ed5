import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "@libsql/client";
import { drizzle as drizzleLibsql, type LibSQLDatabase } from "drizzle-orm/libsql";
import { drizzle as drizzlePostgres } from "drizzle-orm/node-postgres";
import pg from "pg";
import { createTables, POSTGRES, postgresTables, SQLITE } from "./dialects.ts";
import { tables } from "./schema.ts";

/** An open database, and its tables as drizzle knows them. */
export interface Connection {
  readonly db: LibSQLDatabase;
  readonly tables: typeof tables;
  close(): Promise<void>;
}

/** One file in the data folder: for one machine, with nothing to install. */
export async function connectLibsql(dataDir: string): Promise<Connection> {
  const client = createClient({ url: pathToFileURL(join(dataDir, "demo.db")).href });
  const connection = {
    db: drizzleLibsql(client),
    tables,
    close: () => Promise.resolve(client.close()),
  };
  return await withTables(connection, () => client.batch(createTables(SQLITE), "write"));
}

/** A PostgreSQL, which any number of processes can share. */
export async function connectPostgres(url: string): Promise<Connection> {
  const pool = new pg.Pool({ connectionString: url });
  // The server closed an idle connection; the next query opens another.
  pool.on("error", () => {});
  // One process makes the tables while the others wait: IF NOT EXISTS alone does not keep two from trying.
  const statements = ["SELECT pg_advisory_xact_lock(7462)", ...createTables(POSTGRES)];
  const connection = {
    // Drizzle's queries are the same for both; only their types differ.
    db: drizzlePostgres(pool) as unknown as LibSQLDatabase,
    tables: postgresTables() as unknown as Connection["tables"],
    close: () => pool.end(),
  };
  return await withTables(connection, () => pool.query(statements.join(";\n")));
}

/** Creates the tables; closes the connection if that fails. */
async function withTables(connection: Connection, create: () => Promise<unknown>): Promise<Connection> {
  try {
    await create();
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}
