/**
 * Real databases, each as a fresh and empty one for a test.
 *
 * libSQL is embedded. PostgreSQL and Redis are servers: TEST_POSTGRES_URL and TEST_REDIS_URL say where they are.
 *
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import type { Adapter } from "@auth/core/adapters";
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import PostgresAdapter from "@auth/pg-adapter";
import { UnstorageAdapter } from "@auth/unstorage-adapter";
import { createClient } from "@libsql/client";
import { drizzle as drizzleLibsql } from "drizzle-orm/libsql";
import { drizzle as drizzlePostgres } from "drizzle-orm/node-postgres";
// Before unstorage's driver, which looks for it.
import "ioredis";
import pg from "pg";
import { createStorage } from "unstorage";
import redisDriver from "unstorage/drivers/redis";
import { DRIZZLE_LIBSQL_TABLES, DRIZZLE_POSTGRES_TABLES, PG_ADAPTER_TABLES } from "./tables.ts";

/** What is counted. */
export type Table = "users" | "accounts" | "sessions" | "tokens";

/** A database with an adapter over it. */
export interface TestDatabase extends AsyncDisposable {
  readonly adapter: Adapter;
  /** Where another process finds it. */
  readonly url?: string;
  /** How many rows there are. */
  count(table: Table): Promise<number>;
  /** Removes a table, if there are any. */
  readonly drop?: (table: Table) => Promise<void>;
}

/** One combination of adapter and database. */
export interface DatabaseKind {
  /** Both names. */
  readonly name: string;
  /** Opens an empty one. */
  readonly open: () => Promise<TestDatabase>;
}

/** A name that no other test uses, so that tests can share a server. */
function uniqueName(): string {
  return `test_${crypto.randomUUID().replaceAll("-", "")}`;
}

/** `@auth/drizzle-adapter` on libSQL. */
export const libsql: DatabaseKind = {
  name: "@auth/drizzle-adapter on libSQL",
  async open() {
    const directory = await mkdtemp(join(tmpdir(), "fastify-authjs-"));
    const client = createClient({ url: pathToFileURL(join(directory, "test.db")).href });
    await client.executeMultiple(DRIZZLE_LIBSQL_TABLES);
    const tables = { users: "user", accounts: "account", sessions: "session", tokens: "verificationToken" };
    return {
      adapter: DrizzleAdapter(drizzleLibsql(client)),
      async count(table) {
        const { rows } = await client.execute(`SELECT count(*) AS n FROM "${tables[table]}"`);
        return Number(rows[0]!.n);
      },
      async drop(table) {
        await client.execute(`DROP TABLE "${tables[table]}"`);
      },
      async [Symbol.asyncDispose]() {
        client.close();
        await rm(directory, { recursive: true });
      },
    };
  },
};

/** `@auth/drizzle-adapter` on PostgreSQL. */
export function drizzlePg(url: string): DatabaseKind {
  return {
    name: "@auth/drizzle-adapter on PostgreSQL",
    async open() {
      const { pool, place, count, drop, [Symbol.asyncDispose]: close } = await openPostgres(
        url,
        DRIZZLE_POSTGRES_TABLES,
      );
      const tables = { users: "user", accounts: "account", sessions: "session", tokens: "verificationToken" };
      return {
        adapter: DrizzleAdapter(drizzlePostgres(pool)),
        url: place,
        count: (table) => count(tables[table]),
        drop: (table) => drop(tables[table]),
        [Symbol.asyncDispose]: close,
      };
    },
  };
}

/** `@auth/pg-adapter` on PostgreSQL. */
export function pgAdapter(url: string): DatabaseKind {
  return {
    name: "@auth/pg-adapter on PostgreSQL",
    async open() {
      const { pool, count, drop, [Symbol.asyncDispose]: close } = await openPostgres(url, PG_ADAPTER_TABLES);
      const nameOf = (table: Table) => table === "tokens" ? "verification_token" : table;
      return {
        adapter: PostgresAdapter(pool),
        count: (table) => count(nameOf(table)),
        drop: (table) => drop(nameOf(table)),
        [Symbol.asyncDispose]: close,
      };
    },
  };
}

/** A schema of its own, which every connection of the pool is in. */
export async function openPostgres(url: string, tables: string) {
  const schema = uniqueName();
  const place = new URL(url);
  place.searchParams.set("options", `-c search_path=${schema}`);
  const pool = new pg.Pool({ connectionString: place.href, max: 8 });
  // The server may close an idle connection. Without a listener that would end the process.
  pool.on("error", () => {});
  await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query(tables);
  return {
    pool,
    place: place.href,
    async count(table: string): Promise<number> {
      const { rows } = await pool.query(`SELECT count(*)::int AS n FROM "${table}"`);
      return rows[0].n;
    },
    async drop(table: string): Promise<void> {
      await pool.query(`DROP TABLE "${table}" CASCADE`);
    },
    async [Symbol.asyncDispose]() {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  };
}

/** `@auth/unstorage-adapter` on Redis. */
export function unstorageRedis(url: string): DatabaseKind {
  return {
    name: "@auth/unstorage-adapter on Redis",
    open() {
      const storage = createStorage({ driver: redisDriver({ url, base: uniqueName() }) });
      const keys = {
        users: /^user:[^:]+$/,
        accounts: /^user:account:(?!by-user-id:)/,
        sessions: /^user:session:(?!by-user-id:)/,
        tokens: /^user:token:/,
      };
      return Promise.resolve({
        adapter: UnstorageAdapter(storage),
        async count(table: Table) {
          return (await storage.getKeys()).filter((key) => keys[table].test(key)).length;
        },
        async [Symbol.asyncDispose]() {
          await storage.clear();
          await storage.dispose();
        },
      });
    },
  };
}

/**
 * The URL of a server, or nothing if there is none to test against: that is said, and with CI set it is an error.
 *
 * @param variable The environment variable.
 * @param what What is not run without it.
 */
export function serverUrl(variable: string, what: string): string | undefined {
  const url = process.env[variable];
  if (url) return url;
  if (process.env.CI) throw new Error(`${variable} is not set, so ${what} would not be tested.`);
  console.warn(`NOT RUN: ${what}. Set ${variable} to run them.`);
}
