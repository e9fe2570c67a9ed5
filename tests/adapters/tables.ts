/**
 * The tables of each adapter, as its documentation has them.
 *
 * @module
 */

/** `@auth/drizzle-adapter` on MySQL and MariaDB. */
export const DRIZZLE_MARIADB_TABLES = `
CREATE TABLE \`user\` (
  \`id\` varchar(255) PRIMARY KEY,
  \`name\` varchar(255),
  \`email\` varchar(255) UNIQUE,
  \`emailVerified\` timestamp(3) NULL,
  \`image\` varchar(255)
);
CREATE TABLE \`account\` (
  \`userId\` varchar(255) NOT NULL REFERENCES \`user\` (\`id\`) ON DELETE CASCADE,
  \`type\` varchar(255) NOT NULL,
  \`provider\` varchar(255) NOT NULL,
  \`providerAccountId\` varchar(255) NOT NULL,
  \`refresh_token\` varchar(255),
  \`access_token\` varchar(255),
  \`expires_at\` int,
  \`token_type\` varchar(255),
  \`scope\` varchar(255),
  \`id_token\` varchar(2048),
  \`session_state\` varchar(255),
  PRIMARY KEY (\`provider\`, \`providerAccountId\`)
);
CREATE TABLE \`session\` (
  \`sessionToken\` varchar(255) PRIMARY KEY,
  \`userId\` varchar(255) NOT NULL REFERENCES \`user\` (\`id\`) ON DELETE CASCADE,
  \`expires\` timestamp NOT NULL
);
CREATE TABLE \`verificationToken\` (
  \`identifier\` varchar(255) NOT NULL,
  \`token\` varchar(255) NOT NULL,
  \`expires\` timestamp NOT NULL,
  PRIMARY KEY (\`identifier\`, \`token\`)
);`;

/** `@auth/pg-adapter`: nothing but primary keys. */
export const PUBLISHED_PG_TABLES = `
CREATE TABLE verification_token (
  identifier TEXT NOT NULL,
  expires TIMESTAMPTZ NOT NULL,
  token TEXT NOT NULL,
  PRIMARY KEY (identifier, token)
);
CREATE TABLE accounts (
  id SERIAL,
  "userId" INTEGER NOT NULL,
  type VARCHAR(255) NOT NULL,
  provider VARCHAR(255) NOT NULL,
  "providerAccountId" VARCHAR(255) NOT NULL,
  refresh_token TEXT,
  access_token TEXT,
  expires_at BIGINT,
  id_token TEXT,
  scope TEXT,
  session_state TEXT,
  token_type TEXT,
  PRIMARY KEY (id)
);
CREATE TABLE sessions (
  id SERIAL,
  "userId" INTEGER NOT NULL,
  expires TIMESTAMPTZ NOT NULL,
  "sessionToken" VARCHAR(255) NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE users (
  id SERIAL,
  name VARCHAR(255),
  email VARCHAR(255),
  "emailVerified" TIMESTAMPTZ,
  image TEXT,
  PRIMARY KEY (id)
);`;

/** The types of one database in the tables of `@auth/kysely-adapter`. */
interface KyselyTypes {
  /** Of an id that the database makes. */
  readonly id: string;
  readonly reference: string;
  readonly key: string;
  readonly date: string;
  readonly quote: (name: string) => string;
}

/** Accounts have an index on the user alone. */
const kyselyTables = ({ id, reference, key, date, quote }: KyselyTypes) => {
  const users = `${quote("User")} (${quote("id")})`;
  const columns = (...all: string[]) => all.map((name) => `${quote(name)} text`).join(", ");
  return `
CREATE TABLE ${quote("User")} (
  ${quote("id")} ${id}, ${columns("name", "image")},
  ${quote("email")} ${key} UNIQUE NOT NULL,
  ${quote("emailVerified")} ${date} NULL
);
CREATE TABLE ${quote("Account")} (
  ${quote("id")} ${id},
  ${quote("userId")} ${reference} NOT NULL REFERENCES ${users} ON DELETE CASCADE,
  ${quote("type")} ${key} NOT NULL, ${quote("provider")} ${key} NOT NULL,
  ${quote("providerAccountId")} ${key} NOT NULL,
  ${columns("refresh_token", "access_token", "token_type", "scope", "id_token", "session_state")},
  ${quote("expires_at")} bigint
);
CREATE TABLE ${quote("Session")} (
  ${quote("id")} ${id},
  ${quote("userId")} ${reference} NOT NULL REFERENCES ${users} ON DELETE CASCADE,
  ${quote("sessionToken")} ${key} NOT NULL UNIQUE,
  ${quote("expires")} ${date} NOT NULL
);
CREATE TABLE ${quote("VerificationToken")} (
  ${quote("identifier")} ${key} NOT NULL,
  ${quote("token")} ${key} NOT NULL UNIQUE,
  ${quote("expires")} ${date} NOT NULL
);
CREATE INDEX ${quote("Account_userId_index")} ON ${quote("Account")} (${quote("userId")});
CREATE INDEX ${quote("Session_userId_index")} ON ${quote("Session")} (${quote("userId")});`;
};

/** `@auth/kysely-adapter` on PostgreSQL. */
export const KYSELY_POSTGRES_TABLES = kyselyTables({
  id: "uuid PRIMARY KEY DEFAULT gen_random_uuid()",
  reference: "uuid",
  key: "text",
  date: "timestamptz",
  quote: (name) => `"${name}"`,
});

/** `@auth/kysely-adapter` on SQLite. */
export const KYSELY_SQLITE_TABLES = kyselyTables({
  id: "text PRIMARY KEY DEFAULT (lower(hex(randomblob(16))))",
  reference: "text",
  key: "text",
  date: "text",
  quote: (name) => `"${name}"`,
});

/** `@auth/kysely-adapter` on MariaDB. */
export const KYSELY_MARIADB_TABLES = kyselyTables({
  id: "varchar(36) PRIMARY KEY DEFAULT uuid()",
  reference: "varchar(36)",
  key: "varchar(255)",
  date: "datetime(3)",
  quote: (name) => `\`${name}\``,
});

/** `@auth/prisma-adapter` on PostgreSQL, as `prisma migrate` makes them of `prisma/schema.prisma`. */
export const PRISMA_TABLES = `
CREATE TABLE "User" (
  "id" TEXT NOT NULL,
  "name" TEXT,
  "email" TEXT NOT NULL,
  "emailVerified" TIMESTAMP(3),
  "image" TEXT,
  "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updatedAt" TIMESTAMP(3) NOT NULL,
  CONSTRAINT "User_pkey" PRIMARY KEY ("id")
);
CREATE TABLE "Account" (
  "userId" TEXT NOT NULL,
  "type" TEXT NOT NULL,
  "provider" TEXT NOT NULL,
  "providerAccountId" TEXT NOT NULL,
  "refresh_token" TEXT,
  "access_token" TEXT,
  "expires_at" INTEGER,
  "token_type" TEXT,
  "scope" TEXT,
  "id_token" TEXT,
  "session_state" TEXT,
  "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updatedAt" TIMESTAMP(3) NOT NULL,
  CONSTRAINT "Account_pkey" PRIMARY KEY ("provider", "providerAccountId")
);
CREATE TABLE "Session" (
  "sessionToken" TEXT NOT NULL,
  "userId" TEXT NOT NULL,
  "expires" TIMESTAMP(3) NOT NULL,
  "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updatedAt" TIMESTAMP(3) NOT NULL
);
CREATE TABLE "VerificationToken" (
  "identifier" TEXT NOT NULL,
  "token" TEXT NOT NULL,
  "expires" TIMESTAMP(3) NOT NULL,
  CONSTRAINT "VerificationToken_pkey" PRIMARY KEY ("identifier", "token")
);
CREATE UNIQUE INDEX "User_email_key" ON "User" ("email");
CREATE UNIQUE INDEX "Session_sessionToken_key" ON "Session" ("sessionToken");
ALTER TABLE "Account" ADD FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "Session" ADD FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE;
`;
