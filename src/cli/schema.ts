/** `schema`: the tables of Auth.js, with the indices that its queries and the pruning use. */

export const FORMATS = ["drizzle", "prisma", "sql"] as const;
export const DIALECTS = ["sqlite", "postgres", "mysql"] as const;
type Dialect = typeof DIALECTS[number];

/**
 * Of a column. `key` is compared, so MySQL needs a length; `text` may have thousands of characters; `user` is the id of
 * a row of users, which is deleted with that.
 */
type Kind = "key" | "text" | "date" | "int" | "bool" | "user";

/** With marks at the end: `!` is not null, `^` unique, `#` the primary key. */
type Column = `${Kind}${"" | "!" | "^" | "#" | "!^"}`;

interface Table {
  readonly name: string;
  readonly plural: string;
  readonly columns: Readonly<Record<string, Column>>;
  /** The type of provider that needs it. */
  readonly when?: "webauthn" | "credentials";
  readonly primary?: readonly string[];
  readonly indices?: Readonly<Record<string, string>>;
}

function all(column: Column, ...names: readonly string[]): Record<string, Column> {
  return Object.fromEntries(names.map((name) => [name, column]));
}

const TABLES: readonly Table[] = [
  {
    name: "user",
    plural: "users",
    columns: { id: "key#", name: "text", email: "key^", emailVerified: "date", image: "text" },
  },
  {
    name: "account",
    plural: "accounts",
    columns: {
      userId: "user!",
      ...all("key!", "type", "provider", "providerAccountId"),
      ...all("text", "refresh_token", "access_token"),
      expires_at: "int",
      ...all("text", "token_type", "scope", "id_token", "session_state"),
    },
    primary: ["provider", "providerAccountId"],
    indices: { account_user: "userId" },
  },
  {
    name: "session",
    plural: "sessions",
    columns: { sessionToken: "key#", userId: "user!", expires: "date!" },
    indices: { session_user: "userId", session_expires: "expires" },
  },
  {
    name: "verificationToken",
    plural: "verificationTokens",
    columns: { identifier: "key!", token: "key!", expires: "date!" },
    primary: ["identifier", "token"],
    indices: { verification_token_expires: "expires" },
  },
  {
    name: "authenticator",
    plural: "authenticators",
    when: "webauthn",
    columns: {
      credentialID: "key!^",
      userId: "user!",
      ...all("text!", "providerAccountId", "credentialPublicKey"),
      counter: "int!",
      credentialDeviceType: "text!",
      credentialBackedUp: "bool!",
      transports: "text",
    },
    primary: ["userId", "credentialID"],
  },
  {
    name: "password",
    plural: "passwords",
    when: "credentials",
    columns: { userId: "user!", hash: "text!" },
    primary: ["userId"],
  },
];

const tablesOf = (extras: readonly string[]) => TABLES.filter(({ when }) => !when || extras.includes(when));

/** The columns of a table: what type each is of, and what its marks say. A user's id is a key. */
function columnsOf({ columns }: Table) {
  return Object.entries(columns).map(([column, text]) => {
    const kind = /^\w+/.exec(text)![0] as Kind;
    const has = (mark: string) => text.includes(mark);
    const type = kind === "user" ? "key" : kind;
    return { column, type, isUser: kind === "user", isPrimary: has("#"), isRequired: has("!"), isUnique: has("^") };
  });
}

export function schemaOf(format: typeof FORMATS[number], dialect: Dialect, extras: readonly string[]): string {
  return { drizzle, prisma, sql }[format](dialect, extras);
}

/** What a kind is in SQL, and for drizzle. */
const TYPES: Readonly<Record<Dialect, Readonly<Record<string, readonly [sql: string, drizzle: string]>>>> = {
  sqlite: {
    key: ["text", "text()"],
    text: ["text", "text()"],
    date: ["integer", 'integer({ mode: "timestamp_ms" })'],
    int: ["integer", "integer()"],
    bool: ["integer", 'integer({ mode: "boolean" })'],
  },
  postgres: {
    key: ["text", "text()"],
    text: ["text", "text()"],
    date: ["timestamptz", 'timestamp({ mode: "date", withTimezone: true })'],
    int: ["integer", "integer()"],
    bool: ["boolean", "boolean()"],
  },
  mysql: {
    // Other collations take "a" for "A", also in the ids of two accounts
    key: ["varchar(255) character set utf8mb4 collate utf8mb4_bin", "varchar({ length: 255 })"],
    text: ["text", "text()"],
    // Unlike a timestamp it is not set to now by every update
    date: ["datetime(3)", 'timestamp({ mode: "date", fsp: 3 })'],
    int: ["int", "int()"],
    bool: ["boolean", "boolean()"],
  },
};

/** SQL that makes the tables that are not there yet. */
export function sql(dialect: Dialect, extras: readonly string[]): string {
  const mysql = dialect === "mysql";
  const quoted = (name: string) => mysql ? `\`${name}\`` : `"${name}"`;
  const list = (names: readonly string[]) => `(${names.map(quoted).join(", ")})`;
  const after: string[] = [];
  const tables = tablesOf(extras).map((table) => {
    const { name, columns, primary, indices = {} } = table;
    const lines = columnsOf(table).map(({ column, type, isUser, isPrimary, isRequired, isUnique }) =>
      [
        quoted(column),
        // An address is the same in any case
        mysql && column === "email" ? "varchar(255)" : TYPES[dialect][type]![0],
        isPrimary && "primary key",
        (isRequired || isPrimary && dialect === "sqlite") && "not null",
        isUnique && "unique",
        isUser && !mysql && `references "user" ("id") on delete cascade`,
      ].filter(Boolean).join(" ")
    );
    if (primary) lines.push(`primary key ${list(primary)}`);
    for (const [index, column] of Object.entries(indices)) {
      if (mysql) lines.push(`index ${quoted(index)} ${list([column])}`);
      else after.push(`create index if not exists "${index}"\n  on ${quoted(name)} ${list([column])};`);
    }
    if (mysql && columns.userId) lines.push("foreign key (`userId`) references `user` (`id`) on delete cascade");
    return `create table if not exists ${quoted(name)} (\n  ${lines.join(",\n  ")}\n);`;
  });
  return [...tables, ...after].join("\n");
}

/** The names of drizzle begin with it. */
const PREFIXES: Readonly<Record<Dialect, string>> = { sqlite: "sqlite", postgres: "pg", mysql: "mysql" };

/** A module with the tables for `@auth/drizzle-adapter`. */
export function drizzle(dialect: Dialect, extras: readonly string[]): string {
  const table = `${PREFIXES[dialect]}Table`;
  const used = new Set([table, "primaryKey", "index"]);
  const tables = tablesOf(extras).map((each) => {
    const { name, plural, primary, indices = {} } = each;
    const lines = columnsOf(each).map(({ column, type, isUser, isPrimary, isRequired, isUnique }) => {
      const [, called] = TYPES[dialect][type]!;
      used.add(/^\w+/.exec(called)![0]);
      return `  ${column}: ` + [
        called,
        name === "account" && column === "type" && '$type<"oauth" | "oidc" | "email" | "webauthn">()',
        isPrimary && "primaryKey()",
        isPrimary && name === "user" && "$defaultFn(() => crypto.randomUUID())",
        isRequired && "notNull()",
        isUnique && "unique()",
        isUser && 'references(() => users.id, { onDelete: "cascade" })',
      ].filter(Boolean).join(".") + ",";
    });
    const extra = [
      ...primary ? [`primaryKey({ columns: [${primary.map((column) => `row.${column}`).join(", ")}] })`] : [],
      ...Object.entries(indices).map(([index, column]) => `index("${index}").on(row.${column})`),
    ];
    const end = extra.length === 0
      ? ""
      : `, (row) => [${extra.length === 1 ? extra[0] : `\n  ${extra.join(",\n  ")},\n`}]`;
    return `export const ${plural} = ${table}("${name}", {\n${lines.join("\n")}\n}${end});\n`;
  });
  const note = dialect === "mysql" ? MYSQL_NOTE : "";
  const imports = [...used].sort().map((name) => `  ${name},\n`).join("");
  return `import {\n${imports}} from "drizzle-orm/${PREFIXES[dialect]}-core";\n\n${note}${tables.join("\n")}`;
}

const MYSQL_NOTE = "// Ids are compared as MySQL compares texts: make the database with `collate utf8mb4_bin`\n";

const PRISMA_TYPES: Readonly<Record<string, string>> = {
  key: "String",
  text: "String",
  date: "DateTime",
  int: "Int",
  bool: "Boolean",
};

/** Models for `@auth/prisma-adapter`. */
function prisma(dialect: Dialect, extras: readonly string[]): string {
  const tables = tablesOf(extras);
  const models = tables.map((table) => {
    const { name, columns, primary, indices = {} } = table;
    const lines = columnsOf(table).map(({ column, type, isPrimary, isRequired, isUnique }) =>
      [
        column,
        PRISMA_TYPES[type] + (isRequired || isPrimary ? "" : "?"),
        isPrimary && "@id",
        isPrimary && name === "user" && "@default(cuid())",
        isUnique && "@unique",
        dialect === "mysql" && type === "text" && "@db.Text",
      ].filter(Boolean).join(" ")
    );
    if (columns.userId) lines.push("user User @relation(fields: [userId], references: [id], onDelete: Cascade)");
    if (name === "user") {
      const own = tables.filter(({ columns }) => columns.userId);
      lines.push(...own.map(({ name, plural }) => `${plural} ${modelOf(name)}[]`));
    }
    if (primary) lines.push(`@@id([${primary.join(", ")}])`);
    lines.push(...Object.values(indices).map((column) => `@@index([${column}])`));
    return `model ${modelOf(name)} {\n  ${lines.join("\n  ")}\n}\n`;
  });
  return (dialect === "mysql" ? MYSQL_NOTE : "") + models.join("\n");
}

const modelOf = (name: string) => name[0]!.toUpperCase() + name.slice(1);
