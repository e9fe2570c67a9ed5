/** `schema`: what it prints makes the tables that the adapters and their queries need. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createClient } from "@libsql/client";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import process from "node:process";
import { run } from "../../../src/cli/run.ts";
import { schemaFacts } from "../../adapters/schema_facts.ts";
import { serverUrl } from "../../support/databases.ts";

type Rows = readonly Record<string, unknown>[];

const postgres = serverUrl("TEST_POSTGRES_URL", "the tests of what `schema sql postgres` prints");
const mariadb = serverUrl("TEST_MARIADB_URL", "the tests of what `schema sql mysql` prints");

/** Databases, each empty, and closed when it has been used. */
const SERVERS: Record<
  string,
  (use: (query: (text: string) => Promise<Rows>) => Promise<void>) => Promise<void>
> = {
  async sqlite(use) {
    const client = createClient({ url: "file::memory:" });
    await use(async (text) => {
      if (!/^\s*select/i.test(text)) return (await client.executeMultiple(text), []);
      return (await client.execute(text)).rows as unknown as Rows;
    });
    client.close();
  },
  async postgres(use) {
    const client = new pg.Client({ connectionString: postgres });
    const schema = `schema_${crypto.randomUUID().replaceAll("-", "")}`;
    await client.connect();
    await client.query(`create schema ${schema}; set search_path to ${schema}`);
    try {
      await use(async (text) => (await client.query(text)).rows);
    } finally {
      await client.query(`drop schema ${schema} cascade`);
      await client.end();
    }
  },
  async mysql(use) {
    const connection = await createConnection({
      uri: mariadb!,
      multipleStatements: true,
    });
    const name = `schema_${crypto.randomUUID().replaceAll("-", "")}`;
    await connection.query(`create database ${name}; use ${name}`);
    try {
      await use(async (text) => (await connection.query(text))[0] as unknown as Rows);
    } finally {
      await connection.query(`drop database ${name}`);
      await connection.end();
    }
  },
};

const DATABASES: Record<string, string> = { sqlite: "libSQL", postgres: "PostgreSQL", mysql: "MariaDB" };

async function printed(...args: string[]): Promise<string> {
  const { code, output, complaint } = await run(["schema", ...args]);
  assertEquals([code, complaint], [0, ""]);
  return output;
}

const HAS_SERVER: Record<string, boolean> = { sqlite: true, postgres: Boolean(postgres), mysql: Boolean(mariadb) };

for (const [dialect, database] of Object.entries(DATABASES)) {
  Deno.test({
    name: `schema sql ${dialect} makes tables with every column long enough and every lookup indexed`,
    ignore: !HAS_SERVER[dialect],
    fn: () =>
      SERVERS[dialect]!(async (query) => {
        const text = await printed("sql", dialect, "--passkeys");
        await query(text);
        await query(text); // does nothing
        assertEquals(await schemaFacts(database, async (text) => [...await query(text)]), {
          short: [],
          unindexed: [],
        });
        const quote = dialect === "mysql" ? "`" : '"';
        const insert = (table: string, values: Record<string, string>) =>
          query(
            `insert into ${quote}${table}${quote} (${Object.keys(values).map((name) => quote + name + quote)}) ` +
              `values (${Object.values(values).map((value) => `'${value}'`)})`,
          );
        const account = { userId: "1", type: "oidc", provider: "google" };
        await insert("user", { id: "1", email: "ada@example.com" });
        await insert("account", { ...account, providerAccountId: "a", access_token: "x".repeat(5000) });
        await insert("account", { ...account, providerAccountId: "A" }); // another one
        const count = async () => Number((await query(`select count(*) as n from account`))[0]!.n);
        assertEquals(await count(), 2);
        if (dialect === "sqlite") await query("pragma foreign_keys = on");
        await query(`delete from ${quote}user${quote}`);
        assertEquals(await count(), 0, "they go with the user");
      }),
  });
}

Deno.test("schema drizzle prints modules that @auth/drizzle-adapter takes", async () => {
  const drivers = { sqlite: "libsql", postgres: "node-postgres", mysql: "mysql2" };
  const files: URL[] = [];
  try {
    for (const [dialect, driver] of Object.entries(drivers)) {
      const file = new URL(`schema_${crypto.randomUUID()}.ts`, import.meta.url);
      files.push(file);
      await writeFile(
        file,
        `import { DrizzleAdapter } from "@auth/drizzle-adapter";
import type { drizzle } from "drizzle-orm/${driver}";
${await printed("drizzle", dialect, "--passkeys")}
export const adapter = (orm: ReturnType<typeof drizzle>) =>
  DrizzleAdapter(orm, {
    usersTable: users,
    accountsTable: accounts,
    sessionsTable: sessions,
    verificationTokensTable: verificationTokens,
    authenticatorsTable: authenticators,
  });
`,
      );
    }
    const config = process.env.CHECKOUT_CONFIG ? ["--config", process.env.CHECKOUT_CONFIG] : [];
    const args = ["check", "--no-lock", ...config, ...files.map(({ pathname }) => pathname)];
    const { success, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    assert(success, new TextDecoder().decode(stderr));
  } finally {
    for (const file of files) await rm(file, { force: true });
  }
});

Deno.test("schema prisma prints the models that the tests of its adapter have, with more indices", async () => {
  const tested = await readFile(new URL("../../adapters/prisma/schema.prisma", import.meta.url), "utf8");
  const linesOf = (text: string) => text.split("\n").map((line) => line.trim().replace(/\s+/g, " "));
  const lines = linesOf(await printed("prisma", "postgres"));
  const same: Record<string, string> = {
    "email String @unique": "email String? @unique",
    "sessionToken String @unique": "sessionToken String @id",
  };
  const needed = linesOf(tested.slice(tested.indexOf("model "))).filter((line) =>
    !/^(?:createdAt|updatedAt)/.test(line)
  );
  for (const line of needed) assert(lines.includes(same[line] ?? line), line);
  assertMatch(
    await printed("prisma", "mysql", "--passkeys"),
    /id_token String\? @db\.Text[^]*model Authenticator/,
  );
});

Deno.test("schema says what it takes", async () => {
  for (const args of [[], ["drizzle"], ["drizzle", "oracle"], ["sql", "mysql", "more"]]) {
    const { code, complaint } = await run(["schema", ...args]);
    assertEquals(code, 2);
    assertMatch(complaint, /drizzle, prisma, sql, and then sqlite, postgres, mysql/);
  }
});
