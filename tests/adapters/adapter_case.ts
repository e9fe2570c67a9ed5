/**
 * An adapter of Auth.js over a database, with the tables that the adapter documents.
 *
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Adapter } from "@auth/core/adapters";
import type { SessionListAdapter } from "fastify-authjs/adapters";
import mysql from "mysql2/promise";
import pg from "pg";

/** The servers, by the variable that says where they are. */
export type Server = "TEST_POSTGRES_URL" | "TEST_MARIADB_URL" | "TEST_REDIS_URL";

/** One row of an answer. */
export type Row = Record<string, unknown>;

/** Sends a query whose rows are read. */
export type Query = (sql: string) => Promise<Row[]>;

/** An empty database, and the adapter over it. */
export interface OpenCase extends AsyncDisposable {
  readonly adapter: Adapter;
  /** The adapter with the change that its documentation here recommends, if there is one. */
  readonly changed?: Adapter;
  /** The query for `withSessionList()` that docs/sessions.md shows. */
  readonly listSessions?: SessionListAdapter["listSessionsByUserId"];
  /** How the schema is read; none in a key-value store. */
  readonly query?: Query;
}

/** One combination of adapter, driver and database. */
export interface AdapterCase {
  /** Its name in the recorded results. */
  readonly id: string;
  /** The package of the adapter. */
  readonly adapter: string;
  /** Which driver or database. */
  readonly database: string;
  readonly server?: Server;
  /** Opens an empty one. */
  readonly open: (url: string) => Promise<OpenCase>;
}

/** A database of its own on a server, removed at the end. */
export interface TestServerDatabase extends AsyncDisposable {
  readonly url: string;
  readonly query: Query;
}

const uniqueName = () => `test_${crypto.randomUUID().replaceAll("-", "")}`;

/** A new database on PostgreSQL. */
export async function postgresDatabase(server: string, tables = ""): Promise<TestServerDatabase> {
  const name = uniqueName();
  await withPostgres(server, (client) => client.query(`CREATE DATABASE ${name}`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 1 });
  if (tables) await pool.query(tables);
  return {
    url: url.href,
    query: async (sql) => (await pool.query(sql)).rows,
    async [Symbol.asyncDispose]() {
      await pool.end();
      // It waits for connections that are being closed.
      await withPostgres(server, (client) => client.query(`DROP DATABASE ${name}`));
    },
  };
}

async function withPostgres(url: string, run: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await run(client);
  await client.end();
}

/** A new database on MariaDB. */
export async function mariadbDatabase(server: string, tables = ""): Promise<TestServerDatabase> {
  const name = uniqueName();
  const connection = await mysql.createConnection({ uri: server, multipleStatements: true });
  await connection.query(`CREATE DATABASE ${name}; USE ${name}; ${tables}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    query: async (sql) => (await connection.query(sql))[0] as Row[],
    async [Symbol.asyncDispose]() {
      await connection.query(`DROP DATABASE ${name}`);
      await connection.end();
    },
  };
}

/** Queries of a database in this process. */
export function sqliteQuery(database: Sqlite): Query {
  return (sql) => {
    const statement = database.prepare(sql);
    if (statement.reader) return Promise.resolve(statement.all());
    statement.run();
    return Promise.resolve([]);
  };
}

/** The part of `better-sqlite3` that is used. */
interface Sqlite {
  prepare(sql: string): { readonly reader: boolean; all(): Row[]; run(): unknown };
}

/** A file for an embedded database. */
export async function databaseFile(): Promise<AsyncDisposable & { readonly path: string }> {
  const directory = await mkdtemp(join(tmpdir(), "fastify-authjs-"));
  return {
    path: join(directory, "test.db"),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
}

/** Where the server of a case is: empty for one that needs none, nothing if it is missing. */
export function urlOf({ server }: AdapterCase): string | undefined {
  return server === undefined ? "" : process.env[server] || undefined;
}
