/**
 * What the tables of an adapter lack, read from the database.
 *
 * @module
 */
import type { Query } from "./adapter_case.ts";

/** What is to be changed in the tables. */
export interface SchemaFacts {
  /** Columns that are too short for what providers send, with their length: `account.access_token (255)`. */
  readonly short: string[];
  /** Columns by which rows are looked up, without an index. */
  readonly unindexed: string[];
}

/** Characters that a column should hold at least: access and ID tokens may have several thousand. */
const LENGTHS: Record<string, number> = {
  accesstoken: 4096,
  refreshtoken: 4096,
  idtoken: 4096,
  scope: 1000,
  image: 1000,
};

/** By which columns each table is looked up: an index on the first of one of these groups is enough. */
const LOOKUPS: readonly { readonly table: RegExp; readonly columns: readonly string[] }[] = [
  { table: /^sessions?$/, columns: ["sessiontoken"] },
  { table: /^accounts?$/, columns: ["provider", "provideraccountid"] },
  { table: /^users?$/, columns: ["email"] },
  { table: /^verificationtokens?$/, columns: ["token", "identifier"] },
];

/** A column as a database describes it. */
interface Column {
  readonly table: string;
  readonly name: string;
  /** The most characters; none for a text without a limit. */
  readonly length: number | undefined;
  /** Whether an index begins with it. */
  readonly indexed: boolean;
}

/** Reads the tables of a database. */
export async function schemaFacts(database: string, query: Query | undefined): Promise<SchemaFacts> {
  if (query === undefined) return { short: [], unindexed: [] };
  const columns = (await query(COLUMNS[database] ?? SQLITE)).map((row): Column => ({
    table: String(row.tbl),
    name: String(row.col),
    length: row.len === null ? undefined : Number(row.len),
    indexed: Number(row.idx) > 0,
  }));
  const short = columns.filter(({ table, name, length = Infinity }) =>
    /^(?:accounts?|users?)$/.test(fold(table)) && length < (LENGTHS[fold(name)] ?? 0)
  );
  const unindexed = LOOKUPS.flatMap(({ table, columns: keys }) => {
    const found = columns.filter((column) => table.test(fold(column.table)) && keys.includes(fold(column.name)));
    return found.some(({ indexed }) => indexed) ? [] : found;
  });
  return {
    short: short.map(({ table, name, length }) => `${table}.${name} (${length})`).sort(),
    unindexed: unindexed.map(({ table, name }) => `${table}.${name}`).sort(),
  };
}

/** Names without case and underscores, which adapters write differently. */
function fold(name: string): string {
  return name.toLowerCase().replaceAll("_", "");
}

/** Queries for the columns `tbl`, `col`, `len` and `idx`: how many indices begin with the column. */
const COLUMNS: Record<string, string> = {
  PostgreSQL: `
    SELECT table_name AS tbl, column_name AS col, character_maximum_length AS len,
      (SELECT count(*) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
        WHERE indrelid = format('%I', table_name)::regclass AND attname = column_name) AS idx
    FROM information_schema.columns WHERE table_schema = current_schema()`,
  MariaDB: `
    SELECT c.table_name AS tbl, c.column_name AS col, c.character_maximum_length AS len,
      (SELECT count(*) FROM information_schema.statistics s WHERE s.table_schema = c.table_schema
        AND s.table_name = c.table_name AND s.column_name = c.column_name AND s.seq_in_index = 1) AS idx
    FROM information_schema.columns c WHERE c.table_schema = database()`,
};

/** SQLite does not enforce lengths. */
const SQLITE = `
  SELECT t.name AS tbl, c.name AS col, NULL AS len,
    (c.pk = 1) + (SELECT count(*) FROM pragma_index_list(t.name) l JOIN pragma_index_info(l.name) i
      WHERE i.seqno = 0 AND i.name = c.name) AS idx
  FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'`;
