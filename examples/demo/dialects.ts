/**
 * The tables of `schema.ts` for each database: as SQL that creates them, and as drizzle knows them on PostgreSQL.
 *
 * @module
 */
import { boolean, integer, type PgTable, pgTable, primaryKey, text, timestamp } from "drizzle-orm/pg-core";
import { getTableConfig, type SQLiteColumn, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { tables } from "./schema.ts";

/** A database's names of the column types in `schema.ts`. */
type Dialect = Record<string, string>;

export const SQLITE: Dialect = {
  SQLiteText: "text",
  SQLiteInteger: "integer",
  SQLiteTimestamp: "integer",
  SQLiteBoolean: "integer",
};

export const POSTGRES: Dialect = { ...SQLITE, SQLiteTimestamp: "timestamp", SQLiteBoolean: "boolean" };

/** The statements that create the tables, so that the demo needs no migration. */
export function createTables(dialect: Dialect): string[] {
  return Object.values(tables).map((table) => createTable(table, dialect));
}

function createTable(table: SQLiteTable, dialect: Dialect): string {
  const { name, columns, primaryKeys, foreignKeys } = getTableConfig(table);
  const references = new Map(foreignKeys.map(({ reference, onDelete }) => {
    const { columns: [column], foreignTable, foreignColumns: [foreign] } = reference();
    const target = `"${getTableConfig(foreignTable).name}" ("${foreign!.name}")`;
    return [column!.name, ` REFERENCES ${target} ON DELETE ${onDelete}`];
  }));
  const lines = columns.map((column) =>
    `"${column.name}" ${dialect[column.columnType]}` +
    (column.primary ? " PRIMARY KEY" : "") +
    (column.notNull ? " NOT NULL" : "") +
    (column.isUnique ? " UNIQUE" : "") +
    (references.get(column.name) ?? "")
  );
  const keys = primaryKeys.map(({ columns }) =>
    `PRIMARY KEY (${columns.map((column) => `"${column.name}"`).join(", ")})`
  );
  return `CREATE TABLE IF NOT EXISTS "${name}" (${[...lines, ...keys].join(", ")})`;
}

/** The tables for drizzle on PostgreSQL. Each property of a table in `schema.ts` has the name of its column. */
export function postgresTables(): Record<keyof typeof tables, PgTable> {
  const entries = Object.entries(tables).map(([key, table]) => [key, postgresTable(table)]);
  return Object.fromEntries(entries);
}

function postgresTable(table: SQLiteTable): PgTable {
  const { name, columns, primaryKeys } = getTableConfig(table);
  return pgTable(
    name,
    Object.fromEntries(columns.map((column) => [column.name, postgresColumn(column)])),
    (own) =>
      primaryKeys.map(({ columns: [first, ...rest] }) =>
        primaryKey({ columns: [own[first!.name]!, ...rest.map(({ name }) => own[name]!)] })
      ),
  );
}

function postgresColumn(column: SQLiteColumn) {
  const builder = {
    text: text(column.name),
    integer: integer(column.name),
    timestamp: timestamp(column.name, { mode: "date" }),
    boolean: boolean(column.name),
  }[POSTGRES[column.columnType]!]!;
  if (column.primary) builder.primaryKey();
  if (column.notNull) builder.notNull();
  if (column.defaultFn) builder.$defaultFn(column.defaultFn as () => never);
  return builder;
}
