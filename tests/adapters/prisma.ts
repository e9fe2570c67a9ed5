/**
 * `@auth/prisma-adapter`.
 *
 * The client is what `prisma generate` (the generator `prisma-client` of Prisma 7) makes of
 * `prisma/schema.prisma`, without the types: `prisma/client.json` has what differs from schema to schema. The
 * command itself downloads an engine for migrations, unless `PRISMA_SCHEMA_ENGINE_BINARY` names any program; the client
 * does not need it.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import { PrismaAdapter } from "@auth/prisma-adapter";
import { PrismaPg } from "@prisma/adapter-pg";
import { getPrismaClient } from "@prisma/client/runtime/client";
import type { ListedSession } from "fastify-authjs/adapters";
import { Buffer } from "node:buffer";
import { type AdapterCase, type OpenCase, postgresDatabase } from "./adapter_case.ts";
import generated from "./prisma/client.json" with { type: "json" };
import { PRISMA_TABLES } from "./tables.ts";

/** On PostgreSQL. */
export const prisma: readonly AdapterCase[] = [
  {
    id: "prisma-postgresql",
    adapter: "@auth/prisma-adapter",
    database: "PostgreSQL",
    server: "TEST_POSTGRES_URL",
    open: onPostgres,
  },
];

const PrismaClient = getPrismaClient({
  ...generated as unknown as Pick<Parameters<typeof getPrismaClient>[0], keyof typeof generated>,
  previewFeatures: [],
  clientVersion: "7.10.0",
  engineVersion: "none",
  activeProvider: "postgresql",
  compilerWasm: {
    getRuntime: async () => await import("@prisma/client/runtime/query_compiler_fast_bg.postgresql.mjs"),
    async getQueryCompilerWasmModule() {
      const { wasm } = await import(
        "@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.mjs"
      );
      return new WebAssembly.Module(Buffer.from(wasm, "base64"));
    },
    importName: "./query_compiler_fast_bg.js",
  },
});

async function onPostgres(server: string): Promise<OpenCase> {
  const database = await postgresDatabase(server, PRISMA_TABLES);
  const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) });
  const { session } = client as unknown as { session: { findMany(query: object): Promise<ListedSession[]> } };
  return {
    listSessions: (userId) => session.findMany({ where: { userId } }),
    adapter: PrismaAdapter(client as unknown as Parameters<typeof PrismaAdapter>[0]) as Adapter,
    query: database.query,
    async [Symbol.asyncDispose]() {
      await client.$disconnect();
      await database[Symbol.asyncDispose]();
    },
  };
}
