/** `@auth/typeorm-adapter`. */
import type { Adapter } from "@auth/core/adapters";
import { entities } from "@auth/typeorm-adapter";
import mysql from "mysql2";
import pg from "pg";
import { DataSource } from "typeorm";
import {
  type AdapterCase,
  mariadbDatabase,
  type OpenCase,
  postgresDatabase,
  type TestServerDatabase,
} from "./adapter_case.ts";

const adapter = "@auth/typeorm-adapter";

/** On each database, with the tables that the adapter's entities make. */
export const typeorm: readonly AdapterCase[] = [
  {
    id: "typeorm-postgresql",
    adapter,
    database: "PostgreSQL",
    server: "TEST_POSTGRES_URL",
    open: async (server) => await over(await postgresDatabase(server), { type: "postgres", driver: pg }),
  },
  {
    id: "typeorm-mariadb",
    adapter,
    database: "MariaDB",
    server: "TEST_MARIADB_URL",
    open: async (server) =>
      await over(await mariadbDatabase(server), {
        type: "mariadb",
        driver: mysql,
        connectorPackage: "mysql2",
      }),
  },
];

/** What differs between the databases. */
type Options =
  | { readonly type: "postgres"; readonly driver: typeof pg }
  | { readonly type: "mariadb"; readonly driver: typeof mysql; readonly connectorPackage: "mysql2" };

/** The module, evaluated anew: it keeps the first database that it is given, for the whole process. */
async function freshModule(): Promise<typeof import("@auth/typeorm-adapter")> {
  return await import(`${import.meta.resolve("@auth/typeorm-adapter")}?${crypto.randomUUID()}`);
}

async function over(database: TestServerDatabase, options: Options): Promise<OpenCase> {
  const source = { ...options, url: database.url };
  const tables = new DataSource({ ...source, entities: Object.values(entities), synchronize: true });
  await tables.initialize();
  await tables.destroy();
  const { TypeORMAdapter } = await freshModule();
  // Otherwise each call of the adapter compares all tables with the entities, outside production.
  const adapter = TypeORMAdapter({ ...source, synchronize: false }) as Adapter & {
    __disconnect(): Promise<void>;
  };
  return {
    adapter,
    query: database.query,
    async [Symbol.asyncDispose]() {
      await adapter.__disconnect();
      await database[Symbol.asyncDispose]();
    },
  };
}
