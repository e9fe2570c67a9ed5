/** `@auth/mikro-orm-adapter`. */
import type { Adapter } from "@auth/core/adapters";
import { defaultEntities, MikroOrmAdapter } from "@auth/mikro-orm-adapter";
import { MikroORM, type Options } from "@mikro-orm/core";
import { PostgreSqlDriver } from "@mikro-orm/postgresql";
import { type AdapterCase, type OpenCase, postgresDatabase } from "./adapter_case.ts";

/** On PostgreSQL, with the tables that the adapter's entities make. */
export const mikroOrm: readonly AdapterCase[] = [
  {
    id: "mikro-orm-postgresql",
    adapter: "@auth/mikro-orm-adapter",
    database: "PostgreSQL",
    server: "TEST_POSTGRES_URL",
    open: onPostgres,
  },
];

async function onPostgres(server: string): Promise<OpenCase> {
  const database = await postgresDatabase(server);
  const options: Options = {
    driver: PostgreSqlDriver,
    clientUrl: database.url,
    entities: Object.values(defaultEntities),
    // The adapter keeps its connections to itself, so nobody else can close them.
    pool: { min: 0, max: 10, idleTimeoutMillis: 50, reapIntervalMillis: 50 },
  };
  const orm = await MikroORM.init(options);
  await orm.getSchemaGenerator().createSchema();
  await orm.close();
  return {
    adapter: MikroOrmAdapter(options) as Adapter,
    query: database.query,
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
