//? postgres
import { DrizzleAdapter } from "@auth/drizzle-adapter";
//| import { eq, lt } from "drizzle-orm"; //? credentials
import { lt } from "drizzle-orm"; //? !credentials
import { drizzle } from "drizzle-orm/node-postgres";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import pg from "pg";
import { withSessionList } from "fastify-authjs/adapters"; //? credentials
import {
  accounts,
  authenticators, //? webauthn
  MIGRATION,
  sessions,
  users,
  verificationTokens,
} from "./schema.ts";

export type Database = ReturnType<typeof toDatabase>;

/** Opens the database, and makes the tables that it lacks. */
export async function openDatabase(url: string): Promise<Database> {
  const pool = new pg.Pool({ connectionString: url });
  // An idle connection broke. Without a listener the process would end
  pool.on("error", (error: Error) => console.warn(error.message));
  await pool.query(MIGRATION);
  return toDatabase(drizzle(pool), () => pool.end());
}

/** What the application needs of a database, whatever connects to it. */
export function toDatabase(
  orm: PgDatabase<PgQueryResultHKT>,
  close: () => Promise<void>,
) {
  const adapter = DrizzleAdapter(orm, {
    usersTable: users,
    accountsTable: accounts,
    sessionsTable: sessions,
    verificationTokensTable: verificationTokens,
    authenticatorsTable: authenticators, //? webauthn
  });
  return {
    orm,
    adapter, //? !credentials
    //? credentials
//|     // So that a new password ends the sessions of the old one
//|     adapter: withSessionList(
//|       adapter,
//|       (userId) =>
//|         orm.select().from(sessions).where(eq(sessions.userId, userId)),
//|     ),
    //? end
    /** Deletes what has expired. */
    async prune() {
      const now = new Date();
      await orm.delete(sessions).where(lt(sessions.expires, now));
      await orm.delete(verificationTokens)
        .where(lt(verificationTokens.expires, now));
    },
    close,
  };
}
//? end
