/**
 * The tables of each adapter, as its documentation has them.
 *
 * @module
 */

const drizzleTables = (timestamp: string) => `
CREATE TABLE "user" (
  "id" text PRIMARY KEY NOT NULL,
  "name" text,
  "email" text UNIQUE,
  "emailVerified" ${timestamp},
  "image" text
);
CREATE TABLE "account" (
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
);
CREATE TABLE "session" (
  "sessionToken" text PRIMARY KEY NOT NULL,
  "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE,
  "expires" ${timestamp} NOT NULL
);
CREATE TABLE "verificationToken" (
  "identifier" text NOT NULL,
  "token" text NOT NULL,
  "expires" ${timestamp} NOT NULL,
  PRIMARY KEY ("identifier", "token")
);`;

/** `@auth/drizzle-adapter` on SQLite. */
export const DRIZZLE_LIBSQL_TABLES = drizzleTables("integer");

/** `@auth/drizzle-adapter` on PostgreSQL. */
export const DRIZZLE_POSTGRES_TABLES = drizzleTables("timestamp");

/** `@auth/pg-adapter`; with constraints, which its documentation leaves out. */
export const PG_ADAPTER_TABLES = `
CREATE TABLE users (
  id serial PRIMARY KEY,
  name varchar(255),
  email varchar(255) UNIQUE,
  "emailVerified" timestamptz,
  image text
);
CREATE TABLE accounts (
  id serial PRIMARY KEY,
  "userId" integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  type varchar(255) NOT NULL,
  provider varchar(255) NOT NULL,
  "providerAccountId" varchar(255) NOT NULL,
  refresh_token text,
  access_token text,
  expires_at bigint,
  id_token text,
  scope text,
  session_state text,
  token_type text,
  UNIQUE (provider, "providerAccountId")
);
CREATE TABLE sessions (
  id serial PRIMARY KEY,
  "userId" integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires timestamptz NOT NULL,
  "sessionToken" varchar(255) NOT NULL UNIQUE
);
CREATE TABLE verification_token (
  identifier text NOT NULL,
  expires timestamptz NOT NULL,
  token text NOT NULL,
  PRIMARY KEY (identifier, token)
);`;
