/**
 * What to run against the tables that adapters document, if these lack something.
 *
 * @module
 */

/** A change of the tables. */
export interface Fix {
  /** What it is for. */
  readonly about: "columns" | "indices";
  readonly sql: string;
}

/** The changes for each case. */
export const FIXES: Record<string, readonly Fix[]> = {
  "drizzle-mariadb": [longColumns("mariadb", "account", "user")],
  "kysely-better-sqlite3": [index("mariadb", "Account", "provider", "providerAccountId")],
  "kysely-postgresql": [index("postgresql", "Account", "provider", "providerAccountId")],
  "kysely-mariadb": [index("mariadb", "Account", "provider", "providerAccountId")],
  "typeorm-postgresql": [
    index("postgresql", "accounts", "provider", "providerAccountId"),
    index("postgresql", "verification_tokens", "token"),
  ],
  "typeorm-mariadb": [
    longColumns("mariadb", "accounts", "users"),
    index("mariadb", "accounts", "provider", "providerAccountId"),
    index("mariadb", "verification_tokens", "token"),
  ],
  "mikro-orm-postgresql": [longColumns("postgresql", "account", "user")],
  "sequelize-postgresql": [
    longColumns("postgresql", "accounts", "users"),
    index("postgresql", "accounts", "provider", "provider_account_id"),
  ],
  "sequelize-mariadb": [
    longColumns("mariadb", "accounts", "users"),
    index("mariadb", "accounts", "provider", "provider_account_id"),
  ],
  "pg-postgresql": [
    index("postgresql", "sessions", "sessionToken"),
    index("postgresql", "accounts", "provider", "providerAccountId"),
    index("postgresql", "users", "email"),
  ],
};

type Database = "postgresql" | "mariadb";

function quoted(database: Database, name: string): string {
  return database === "mariadb" ? `\`${name}\`` : `"${name}"`;
}

function longColumns(database: Database, accounts: string, users: string): Fix {
  const change = (name: string) =>
    database === "mariadb" ? `MODIFY ${quoted(database, name)} text` : `ALTER ${quoted(database, name)} TYPE text`;
  const tokens = ["access_token", "refresh_token", "id_token", "scope"].map(change).join(", ");
  const sql = `ALTER TABLE ${quoted(database, accounts)} ${tokens};
ALTER TABLE ${quoted(database, users)} ${change("image")};`;
  return { about: "columns", sql };
}

function index(database: Database, table: string, ...columns: string[]): Fix {
  const name = `${table}_${columns[0]!.toLowerCase()}_unique`;
  const list = columns.map((column) => quoted(database, column)).join(", ");
  return { about: "indices", sql: `CREATE UNIQUE INDEX ${name} ON ${quoted(database, table)} (${list});` };
}
