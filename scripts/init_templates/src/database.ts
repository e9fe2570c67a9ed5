//? libsql
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { createClient } from "@libsql/client";
import { lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/libsql";
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
    adapter,
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
