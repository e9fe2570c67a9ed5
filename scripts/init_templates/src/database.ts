//? libsql
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { createClient } from "@libsql/client";
//| import { eq, lt } from "drizzle-orm"; //? credentials
import { lt } from "drizzle-orm"; //? !credentials
import { drizzle } from "drizzle-orm/libsql";
import { withSessionList } from "fastify-authjs/adapters"; //? credentials
import {
  accounts,
  authenticators, //? webauthn
  MIGRATION,
  sessions,
  users,
  verificationTokens,
} from "./schema.ts";

export type Database = Awaited<ReturnType<typeof openDatabase>>;

/** Opens the database, and makes the tables that it lacks. */
export async function openDatabase(url: string) {
  const client = createClient({ url });
  await client.executeMultiple(MIGRATION);
  const orm = drizzle(client);
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
    close: () => client.close(),
  };
}
//? end
