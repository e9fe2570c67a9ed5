//? postgres
import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import { type Database, toDatabase } from "../src/database.ts";
import { MIGRATION } from "../src/schema.ts";

/** PostgreSQL in this process: the tests need no server. */
export async function openTestDatabase(): Promise<Database> {
  const client = new PGlite();
  await client.exec(MIGRATION);
  return toDatabase(drizzle(client), () => client.close());
}
//? end
