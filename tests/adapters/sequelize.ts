/** `@auth/sequelize-adapter`. */
import type { Adapter, VerificationToken } from "@auth/core/adapters";
import SequelizeAdapter from "@auth/sequelize-adapter";
import mysql from "mysql2";
import pg from "pg";
import { Sequelize } from "sequelize";
import {
  type AdapterCase,
  mariadbDatabase,
  type OpenCase,
  postgresDatabase,
  type TestServerDatabase,
} from "./adapter_case.ts";

const adapter = "@auth/sequelize-adapter";

/** On each database, with the tables that the adapter's models make. */
export const sequelize: readonly AdapterCase[] = [
  {
    id: "sequelize-postgresql",
    adapter,
    database: "PostgreSQL",
    server: "TEST_POSTGRES_URL",
    open: async (server) => await over(await postgresDatabase(server), pg),
  },
  {
    id: "sequelize-mariadb",
    adapter,
    database: "MariaDB",
    server: "TEST_MARIADB_URL",
    open: async (server) => await over(await mariadbDatabase(server), mysql),
  },
];

/** Deletes this link alone, and gives it to who deleted it: see docs/adapters.md. */
async function useOneLink({ models }: Sequelize, where: { identifier: string; token: string }) {
  const link = await models.verificationToken!.findOne({ where });
  const deleted = await models.verificationToken!.destroy({ where });
  return deleted === 1 ? link!.get({ plain: true }) as VerificationToken : null;
}

async function over(database: TestServerDatabase, dialectModule: object): Promise<OpenCase> {
  const client = new Sequelize(database.url, { dialectModule, logging: false });
  // deno-lint-ignore no-explicit-any -- the adapter's types are of another copy of sequelize
  const adapter = SequelizeAdapter(client as any, { synchronize: false }) as Adapter;
  await client.sync();
  return {
    adapter,
    listSessions: async (userId) =>
      (await client.models.session!.findAll({ where: { userId } })).map((row) => row.get({ plain: true })),
    changed: { ...adapter, useVerificationToken: (link) => useOneLink(client, link) },
    query: database.query,
    async [Symbol.asyncDispose]() {
      await client.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
