import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Adapter } from "@auth/core/adapters";
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { createClient } from "@libsql/client";
import { and, eq } from "drizzle-orm";
import { drizzle, type LibSQLDatabase } from "drizzle-orm/libsql";
import { hashPassword, verifyPassword } from "./passwords.ts";
import { accounts, authenticators, CREATE_TABLES, passwords, users, verificationTokens } from "./schema.ts";

/** What the demo needs of its database; another kind of database is another function that returns one of these. */
export interface DemoDatabase {
  /** For Auth.js: users, accounts, magic links and passkeys. */
  readonly adapter: Adapter;
  /** The user with this name and password, if there is one. */
  checkPassword(username: string, password: string): Promise<UserRow | null>;
  /** What is stored about a user, for the page that shows it. */
  describeUser(id: string): Promise<UserRecord | null>;
  /** The passkeys of a user. */
  listPasskeys(userId: string): Promise<readonly PasskeyRow[]>;
  /** Has a passkey of the user sign in nobody from now on; false where the user has no such passkey. */
  removePasskey(userId: string, credentialID: string): Promise<boolean>;
  close(): void;
}

export type UserRow = typeof users.$inferSelect;
export type PasskeyRow = typeof authenticators.$inferSelect;

export interface UserRecord {
  readonly user: UserRow;
  readonly accounts: readonly { readonly provider: string; readonly providerAccountId: string }[];
}

/** Opens the database in the data folder, and makes its tables and its first user when they are not there. */
export async function openDatabase(dataDir: string): Promise<DemoDatabase> {
  const client = createClient({ url: pathToFileURL(join(dataDir, "demo.db")).href });
  try {
    await client.batch(CREATE_TABLES, "write");
    const db = drizzle(client);
    await addFirstUser(db);
    return {
      adapter: DrizzleAdapter(db, {
        usersTable: users,
        accountsTable: accounts,
        authenticatorsTable: authenticators,
        verificationTokensTable: verificationTokens,
      }),
      checkPassword: (username, password) => checkPassword(db, username, password),
      describeUser: (id) => describeUser(db, id),
      listPasskeys: (userId) => db.select().from(authenticators).where(eq(authenticators.userId, userId)),
      removePasskey: (userId, credentialID) => removePasskey(db, userId, credentialID),
      close: () => client.close(),
    };
  } catch (error) {
    client.close();
    throw error;
  }
}

async function addFirstUser(db: LibSQLDatabase): Promise<void> {
  const [ada] = await db.select().from(passwords).where(eq(passwords.username, "ada"));
  if (ada) return;
  const userId = crypto.randomUUID();
  const hash = await hashPassword("lovelace");
  await db.batch([
    db.insert(users).values({ id: userId, name: "Ada Lovelace", email: "ada@example.com" }),
    db.insert(passwords).values({ username: "ada", userId, hash }),
  ]);
}

async function checkPassword(
  db: LibSQLDatabase,
  username: string,
  password: string,
): Promise<UserRow | null> {
  const [row] = await db.select().from(passwords)
    .innerJoin(users, eq(users.id, passwords.userId))
    .where(eq(passwords.username, username));
  return row && await verifyPassword(password, row.password.hash) ? row.user : null;
}

async function describeUser(db: LibSQLDatabase, id: string): Promise<UserRecord | null> {
  const [user] = await db.select().from(users).where(eq(users.id, id));
  if (!user) return null;
  const { provider, providerAccountId } = accounts;
  const linked = await db.select({ provider, providerAccountId }).from(accounts).where(
    eq(accounts.userId, id),
  );
  return { user, accounts: linked };
}

async function removePasskey(db: LibSQLDatabase, userId: string, credentialID: string): Promise<boolean> {
  const [removed] = await db.batch([
    db.delete(authenticators)
      .where(and(eq(authenticators.userId, userId), eq(authenticators.credentialID, credentialID)))
      .returning(),
    db.delete(accounts).where(
      and(
        eq(accounts.userId, userId),
        eq(accounts.type, "webauthn"),
        eq(accounts.providerAccountId, credentialID),
      ),
    ),
  ]);
  return removed.length > 0;
}
