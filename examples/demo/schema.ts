/**
 * The tables of the demo, as drizzle defines them for SQLite. `dialects.ts` derives those for PostgreSQL.
 *
 * @module
 */
import type { AdapterAccountType } from "@auth/core/adapters";
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Every user that has signed in. The columns are those that Auth.js reads and writes. */
export const users = sqliteTable("user", {
  id: text("id").primaryKey().$defaultFn(() => crypto.randomUUID()),
  name: text("name"),
  email: text("email").unique(),
  emailVerified: integer("emailVerified", { mode: "timestamp_ms" }),
  image: text("image"),
});

/** The accounts at providers, each with its user. */
export const accounts = sqliteTable("account", {
  userId: text("userId").notNull().references(() => users.id, { onDelete: "cascade" }),
  type: text("type").$type<AdapterAccountType>().notNull(),
  provider: text("provider").notNull(),
  providerAccountId: text("providerAccountId").notNull(),
  refresh_token: text("refresh_token"),
  access_token: text("access_token"),
  expires_at: integer("expires_at"),
  token_type: text("token_type"),
  scope: text("scope"),
  id_token: text("id_token"),
  session_state: text("session_state"),
}, (account) => [primaryKey({ columns: [account.provider, account.providerAccountId] })]);

/** Sign-in links that were sent and not used yet. The tokens are hashed. */
export const verificationTokens = sqliteTable("verificationToken", {
  identifier: text("identifier").notNull(),
  token: text("token").notNull(),
  expires: integer("expires", { mode: "timestamp_ms" }).notNull(),
}, (row) => [primaryKey({ columns: [row.identifier, row.token] })]);

/** Passkeys: the public key of each, and what Auth.js needs to check its signatures. */
export const authenticators = sqliteTable("authenticator", {
  credentialID: text("credentialID").notNull().unique(),
  userId: text("userId").notNull().references(() => users.id, { onDelete: "cascade" }),
  providerAccountId: text("providerAccountId").notNull(),
  credentialPublicKey: text("credentialPublicKey").notNull(),
  counter: integer("counter").notNull(),
  credentialDeviceType: text("credentialDeviceType").notNull(),
  credentialBackedUp: integer("credentialBackedUp", { mode: "boolean" }).notNull(),
  transports: text("transports"),
}, (row) => [primaryKey({ columns: [row.userId, row.credentialID] })]);

/** The demo's own table: the users that sign in with a password. */
export const passwords = sqliteTable("password", {
  username: text("username").primaryKey(),
  userId: text("userId").notNull().references(() => users.id, { onDelete: "cascade" }),
  hash: text("hash").notNull(),
});

/** What processes share: records of sessions, which of them were ended, locks. */
export const shared = sqliteTable("shared", {
  key: text("key").notNull(),
  member: text("member").notNull(),
  value: text("value").notNull(),
  until: integer("until", { mode: "timestamp_ms" }).notNull(),
}, (row) => [primaryKey({ columns: [row.key, row.member] })]);

/** All of them, each after the tables that it references. */
export const tables = { users, accounts, verificationTokens, authenticators, passwords, shared };
