import type { Adapter } from "@auth/core/adapters";
import type { Store } from "fastify-authjs";
import type { PasskeyAdapter } from "fastify-authjs/adapters";
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { eq } from "drizzle-orm";
import { type Connection, connectLibsql, connectPostgres } from "./connection.ts";
import { hashPassword, verifyPassword } from "./passwords.ts";
import type { users } from "./schema.ts";
import { databaseStore } from "./store.ts";

/** What the demo needs of its database. */
export interface DemoDatabase {
  /** For Auth.js: users, accounts, magic links and passkeys. */
  readonly adapter: Adapter;
  /** For Auth.js: what processes share, such as the list of the sessions that a user has. */
  readonly store: Store;
  /** The user with this name and password, if there is one. */
  checkPassword(username: string, password: string): Promise<UserRow | null>;
  /** What is stored about a user, for the page that shows it. */
  describeUser(id: string): Promise<UserRecord | null>;
  close(): Promise<void>;
}

export type UserRow = typeof users.$inferSelect;

export interface UserRecord {
  readonly user: UserRow;
  readonly accounts: readonly { readonly provider: string; readonly providerAccountId: string }[];
}

/**
 * Opens the database, and makes its tables and its first user when they are not there.
 *
 * @param dataDir The folder of the file, if it is one.
 * @param url A PostgreSQL to use instead.
 */
export async function openDatabase(dataDir: string, url?: string): Promise<DemoDatabase> {
  const connection = url ? await connectPostgres(url) : await connectLibsql(dataDir);
  const { close } = connection;
  try {
    await addFirstUser(connection);
    return {
      adapter: passkeyAdapter(connection),
      store: databaseStore(connection),
      checkPassword: (username, password) => checkPassword(connection, username, password),
      describeUser: (id) => describeUser(connection, id),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** With what `removePasskey()` needs beside the adapter of Auth.js. */
function passkeyAdapter({ db, tables }: Connection): PasskeyAdapter {
  const { authenticators } = tables;
  return {
    ...DrizzleAdapter(db, {
      usersTable: tables.users,
      accountsTable: tables.accounts,
      authenticatorsTable: authenticators,
      verificationTokensTable: tables.verificationTokens,
    }),
    deleteAuthenticator: (id) => db.delete(authenticators).where(eq(authenticators.credentialID, id)),
  };
}

async function addFirstUser({ db, tables: { passwords, users } }: Connection): Promise<void> {
  const [ada] = await db.select().from(passwords).where(eq(passwords.username, "ada"));
  if (ada) return;
  const userId = crypto.randomUUID();
  const hash = await hashPassword("lovelace");
  await db.transaction(async (transaction) => {
    const user = { id: userId, name: "Ada Lovelace", email: "ada@example.com" };
    // Another process may be starting on the same database.
    const added = await transaction.insert(users).values(user).onConflictDoNothing().returning();
    if (added.length > 0) await transaction.insert(passwords).values({ username: "ada", userId, hash });
  });
}

async function checkPassword(
  { db, tables: { passwords, users } }: Connection,
  username: string,
  password: string,
): Promise<UserRow | null> {
  const [row] = await db.select().from(passwords)
    .innerJoin(users, eq(users.id, passwords.userId))
    .where(eq(passwords.username, username));
  return row && await verifyPassword(password, row.password.hash) ? row.user : null;
}

async function describeUser(
  { db, tables: { accounts, users } }: Connection,
  id: string,
): Promise<UserRecord | null> {
  const [user] = await db.select().from(users).where(eq(users.id, id));
  if (!user) return null;
  const { provider, providerAccountId } = accounts;
  const linked = await db.select({ provider, providerAccountId }).from(accounts).where(
    eq(accounts.userId, id),
  );
  return { user, accounts: linked };
}
