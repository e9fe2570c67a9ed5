//? postgres
import {
  boolean, //? webauthn
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";

export const users = pgTable("user", {
  id: text().primaryKey().$defaultFn(() => crypto.randomUUID()),
  name: text(),
  email: text().unique(),
  emailVerified: timestamp({ mode: "date", withTimezone: true }),
  image: text(),
});

export const accounts = pgTable("account", {
  userId: text().notNull().references(() => users.id, { onDelete: "cascade" }),
  type: text().$type<"oauth" | "oidc" | "email" | "webauthn">().notNull(),
  provider: text().notNull(),
  providerAccountId: text().notNull(),
  refresh_token: text(),
  access_token: text(),
  expires_at: integer(),
  token_type: text(),
  scope: text(),
  id_token: text(),
  session_state: text(),
}, (row) => [
  primaryKey({ columns: [row.provider, row.providerAccountId] }),
  index("account_user").on(row.userId),
]);

export const sessions = pgTable("session", {
  sessionToken: text().primaryKey(),
  userId: text().notNull().references(() => users.id, { onDelete: "cascade" }),
  expires: timestamp({ mode: "date", withTimezone: true }).notNull(),
}, (row) => [
  index("session_user").on(row.userId),
  index("session_expires").on(row.expires),
]);

export const verificationTokens = pgTable("verificationToken", {
  identifier: text().notNull(),
  token: text().notNull(),
  expires: timestamp({ mode: "date", withTimezone: true }).notNull(),
}, (row) => [
  primaryKey({ columns: [row.identifier, row.token] }),
  index("verification_token_expires").on(row.expires),
]);
//? webauthn

export const authenticators = pgTable("authenticator", {
  credentialID: text().notNull().unique(),
  userId: text().notNull().references(() => users.id, { onDelete: "cascade" }),
  providerAccountId: text().notNull(),
  credentialPublicKey: text().notNull(),
  counter: integer().notNull(),
  credentialDeviceType: text().notNull(),
  credentialBackedUp: boolean().notNull(),
  transports: text(),
}, (row) => [primaryKey({ columns: [row.userId, row.credentialID] })]);
//? end

/**
 * Makes what is not there yet. Later changes are easier with drizzle-kit, which
 * writes the SQL from the tables above.
 */
export const MIGRATION = `
create table if not exists "user" (
  "id" text primary key, "name" text, "email" text unique,
  "emailVerified" timestamptz, "image" text
);
create table if not exists "account" (
  "userId" text not null references "user" ("id") on delete cascade,
  "type" text not null, "provider" text not null,
  "providerAccountId" text not null,
  "refresh_token" text, "access_token" text, "expires_at" integer,
  "token_type" text, "scope" text, "id_token" text, "session_state" text,
  primary key ("provider", "providerAccountId")
);
create table if not exists "session" (
  "sessionToken" text primary key,
  "userId" text not null references "user" ("id") on delete cascade,
  "expires" timestamptz not null
);
create table if not exists "verificationToken" (
  "identifier" text not null, "token" text not null,
  "expires" timestamptz not null,
  primary key ("identifier", "token")
);
//? webauthn
create table if not exists "authenticator" (
  "credentialID" text not null unique,
  "userId" text not null references "user" ("id") on delete cascade,
  "providerAccountId" text not null, "credentialPublicKey" text not null,
  "counter" integer not null, "credentialDeviceType" text not null,
  "credentialBackedUp" boolean not null, "transports" text,
  primary key ("userId", "credentialID")
);
//? end
create index if not exists "account_user" on "account" ("userId");
create index if not exists "session_user" on "session" ("userId");
create index if not exists "session_expires" on "session" ("expires");
create index if not exists "verification_token_expires"
  on "verificationToken" ("expires");
`;
//? end
