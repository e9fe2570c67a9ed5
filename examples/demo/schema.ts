import type { AdapterAccountType } from "@auth/core/adapters";
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Everybody who ever signed in. The columns are the ones that Auth.js reads and writes. */
export const users = sqliteTable("user", {
  id: text("id").primaryKey().$defaultFn(() => crypto.randomUUID()),
  name: text("name"),
  email: text("email").unique(),
  emailVerified: integer("emailVerified", { mode: "timestamp_ms" }),
  image: text("image"),
});

/** Which account at which provider belongs to whom. */
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

/** Magic links that were sent and not used yet; the tokens are hashed. */
export const verificationTokens = sqliteTable("verificationToken", {
  identifier: text("identifier").notNull(),
  token: text("token").notNull(),
  expires: integer("expires", { mode: "timestamp_ms" }).notNull(),
}, (row) => [primaryKey({ columns: [row.identifier, row.token] })]);

/** Passkeys: the public half of each, and what Auth.js must know to check its signatures. */
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

/** The demo's own: who may sign in with a password. */
export const passwords = sqliteTable("password", {
  username: text("username").primaryKey(),
  userId: text("userId").notNull().references(() => users.id, { onDelete: "cascade" }),
  hash: text("hash").notNull(),
});

/** How a database writes the types of columns that differ. */
export interface ColumnTypes {
  readonly time: string;
  readonly flag: string;
}

/** The same five tables in SQL: the demo makes them itself, so that there is no migration to run first. */
export const createTables = ({ time, flag }: ColumnTypes): string[] => [
  `CREATE TABLE IF NOT EXISTS "user" (
    "id" text PRIMARY KEY NOT NULL,
    "name" text,
    "email" text UNIQUE,
    "emailVerified" ${time},
    "image" text
  )`,
  `CREATE TABLE IF NOT EXISTS "account" (
    "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE,
    "type" text NOT NULL,
    "provider" text NOT NULL,
    "providerAccountId" text NOT NULL,
    "refresh_token" text,
    "access_token" text,
    "expires_at" integer,
    "token_type" text,
    "scope" text,
    "id_token" text,
    "session_state" text,
    PRIMARY KEY ("provider", "providerAccountId")
  )`,
  `CREATE TABLE IF NOT EXISTS "verificationToken" (
    "identifier" text NOT NULL,
    "token" text NOT NULL,
    "expires" ${time} NOT NULL,
    PRIMARY KEY ("identifier", "token")
  )`,
  `CREATE TABLE IF NOT EXISTS "authenticator" (
    "credentialID" text NOT NULL UNIQUE,
    "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE,
    "providerAccountId" text NOT NULL,
    "credentialPublicKey" text NOT NULL,
    "counter" integer NOT NULL,
    "credentialDeviceType" text NOT NULL,
    "credentialBackedUp" ${flag} NOT NULL,
    "transports" text,
    PRIMARY KEY ("userId", "credentialID")
  )`,
  `CREATE TABLE IF NOT EXISTS "password" (
    "username" text PRIMARY KEY NOT NULL,
    "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE,
    "hash" text NOT NULL
  )`,
];
