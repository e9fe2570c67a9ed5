/** Access tokens of providers in the rows of accounts, if sessions are in a database. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Adapter } from "@auth/core/adapters";
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import PostgresAdapter from "@auth/pg-adapter";
import { createClient } from "@libsql/client";
import { and, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/libsql";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, memoryStore } from "fastify-authjs";
import { type AccountTokens, type ListedAccount, withAccountList, withAccountUpdate } from "fastify-authjs/adapters";
import type { Provider } from "fastify-authjs/providers";
import { captureLog, testConfig } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { openPostgres, serverUrl } from "../../support/databases.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { testStore } from "../../support/test_store.ts";
import { DRIZZLE_LIBSQL_TABLES, PG_ADAPTER_TABLES } from "../../support/tables.ts";
import { access, Acme, finishSignIn, later, signedInApp, signIn, tokenApp } from "../../support/token_provider.ts";

/** A database, and what the application adds to its adapter. */
interface Database extends AsyncDisposable {
  readonly adapter: Adapter;
  readonly list: (userId: string) => Promise<readonly ListedAccount[]>;
  readonly update: (account: AccountTokens) => Promise<unknown>;
}

function inMemory(): Database & { readonly tables: MemoryTables } {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const { accounts } = tables;
  return {
    tables,
    adapter: memoryAdapter(tables),
    list: (userId) => Promise.resolve(accounts.filter((each) => each.userId === userId)),
    update(account) {
      const index = accounts.findIndex((each) =>
        each.provider === account.provider && each.providerAccountId === account.providerAccountId
      );
      accounts[index] = { ...accounts[index]!, ...account } as typeof accounts[number];
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** A database in memory that writes no tokens while `fails` is set. */
function failing() {
  const database = inMemory();
  const own = {
    ...database,
    fails: false,
    update: (account: AccountTokens) =>
      own.fails ? Promise.reject(new Error("no connection")) : database.update(account),
  };
  return own;
}

const accounts = sqliteTable("account", {
  userId: text().notNull(),
  type: text().notNull(),
  provider: text().notNull(),
  providerAccountId: text().notNull(),
  access_token: text(),
  refresh_token: text(),
  expires_at: integer(),
});

async function onLibsql(): Promise<Database> {
  const client = createClient({ url: "file::memory:" });
  await client.executeMultiple(DRIZZLE_LIBSQL_TABLES);
  const db = drizzle(client);
  return {
    adapter: DrizzleAdapter(db),
    list: async (userId) => await db.select().from(accounts).where(eq(accounts.userId, userId)),
    update: async ({ provider, providerAccountId, ...tokens }) =>
      await db.update(accounts).set(tokens).where(
        and(eq(accounts.provider, provider), eq(accounts.providerAccountId, providerAccountId)),
      ),
    [Symbol.asyncDispose]: () => Promise.resolve(client.close()),
  };
}

/** Its `expires_at` is a bigint, which the driver returns as text. */
async function onPostgres(url: string): Promise<Database> {
  const { pool, [Symbol.asyncDispose]: close } = await openPostgres(url, PG_ADAPTER_TABLES);
  return {
    adapter: PostgresAdapter(pool),
    list: async (id) => (await pool.query('SELECT * FROM accounts WHERE "userId" = $1', [id])).rows,
    update: ({ provider, providerAccountId, access_token, refresh_token, expires_at }) =>
      pool.query(
        "UPDATE accounts SET access_token = $3, refresh_token = $4, expires_at = $5 " +
          'WHERE provider = $1 AND "providerAccountId" = $2',
        [provider, providerAccountId, access_token, refresh_token, expires_at],
      ),
    [Symbol.asyncDispose]: close,
  };
}

const postgres = serverUrl("TEST_POSTGRES_URL", "the tests of tokens in PostgreSQL");
const DATABASES: Readonly<Record<string, () => Database | Promise<Database>>> = {
  "on libSQL": onLibsql,
  ...(postgres && { "on PostgreSQL": () => onPostgres(postgres) }),
};

/** The database, and a promise that is kept when rows have been listed so often. */
function countReads(database: Database, times: number): { database: Database; read: Promise<void> } {
  let count = 0, settle = () => {};
  const read = new Promise<void>((resolve) => settle = resolve);
  const list: Database["list"] = async (userId) => {
    const rows = await database.list(userId);
    if (++count === times) settle();
    return rows;
  };
  return { database: { ...database, list }, read };
}

function configOf({ adapter, list, update }: Database): Partial<FastifyAuthConfig> {
  return { adapter: withAccountUpdate(withAccountList(adapter, list), update) };
}

for (const [where, open] of Object.entries(DATABASES)) {
  Deno.test(`tokens ${where}: those of the sign-in are refreshed in the row, and never in a session`, async () => {
    await using database = await open();
    await using opened = await signedInApp({
      config: {
        ...configOf(database),
        callbacks: { session: ({ session, user }) => ({ ...session, user: { ...user } }) },
      },
      lifetime: 40,
    });
    const { acme, client } = opened;
    assertEquals([await access(client), acme.refreshes], [{ token: "access-1" }, 0]);
    const refreshed = await later(20, () => client.get("/access"));
    assertEquals([refreshed.json(), acme.refreshes, setCookies(refreshed)], [{ token: "access-2" }, 1, []]);
    assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 1]);
    for (const path of ["/me", "/auth/session"]) {
      const { body } = await client.get(path);
      assertStringIncludes(body, '"name":"ada"');
      assert(!/access-|refresh-|_token/.test(body), body);
    }
    assertEquals((await client.get("/claims")).json(), { claims: null });
  });

  Deno.test(`tokens ${where}: processes with a lock use a refresh token once`, async () => {
    await using database = await open();
    const acme = new Acme();
    // Each request has read the row before the first refresh is answered, which reads it once more.
    const counted = countReads(database, 5);
    const config = { ...configOf(counted.database), store: testStore() };
    await using first = await signedInApp({ acme, config, lifetime: 5 });
    await using second = await tokenApp({ acme, config });
    acme.before = counted.read;
    const headers = { cookie: first.client.cookie! };
    const send = async ({ app }: typeof first) => (await app.inject({ url: "/access", headers })).json();
    const answers = await Promise.all([first, second, first, second].map(send));
    assertEquals(answers, answers.map(() => ({ token: "access-2" })));
    assertEquals(acme.refreshes, 1);
  });

  Deno.test(`tokens ${where}: a later sign-in replaces them in the row`, async () => {
    await using database = await open();
    await using opened = await signedInApp({ config: configOf(database), lifetime: 5 });
    const { acme, client } = opened;
    await client.signOut();
    // Some providers issue a refresh token only once.
    acme.issuesRefreshTokens = false;
    acme.lifetime = 40;
    await signIn(client);
    assertEquals([await access(client), acme.refreshes], [{ token: "access-2" }, 0]);
    acme.answer = () => Response.json({ access_token: "access-9", token_type: "bearer", expires_in: 3600 });
    assertEquals(await later(20, () => access(client)), { token: "access-9" });
    assertStringIncludes(await acme.requests.at(-1)!.text(), "refresh_token=refresh-1");
    // The refresh token that was not replaced stays.
    assertEquals(await later(3600, () => access(client)), { token: "access-9" });
    assertEquals(acme.refreshes, 2);
  });
}

Deno.test("requests at the same time refresh once in their process", async () => {
  const { database, read } = countReads(inMemory(), 3);
  await using opened = await signedInApp({ config: configOf(database), lifetime: 5 });
  const { acme, app, client } = opened;
  acme.before = read;
  const headers = { cookie: client.cookie! };
  const send = async () => (await app.inject({ url: "/access", headers })).json();
  assertEquals(await Promise.all([send(), send()]), [{ token: "access-2" }, { token: "access-2" }]);
  assertEquals(acme.refreshes, 1);
});

Deno.test("a new configuration of a tenant joins the refresh that the one before has begun", async () => {
  const { database, read } = countReads(inMemory(), 3);
  const acme = new Acme();
  const configOfTenant = () =>
    testConfig({ providers: [acme.provider], refreshTokens: true, tenant: "acme", ...configOf(database) });
  let config = configOfTenant();
  const auth = createAuth(() => config);
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/access", async (request) => ({ token: await auth.getAccessToken(request, "acme") }));
  const client = new Client(app);
  acme.lifetime = 5;
  await signIn(client);
  acme.lifetime = 3600;
  acme.before = read;
  const headers = { cookie: client.cookie! };
  const send = async () => (await app.inject({ url: "/access", headers })).json();
  const answers = [send()];
  while (acme.refreshes === 0) await new Promise((resolve) => setImmediate(resolve));
  config = configOfTenant();
  answers.push(send());
  assertEquals(await Promise.all(answers), [{ token: "access-2" }, { token: "access-2" }]);
  assertEquals(acme.refreshes, 1);
});

Deno.test("without a lock, a process whose refresh token was just used takes the new tokens of the row", async () => {
  const database = inMemory();
  const acme = new Acme();
  await using first = await signedInApp({ acme, config: configOf(database), lifetime: 5 });
  await using second = await tokenApp({ acme, config: configOf(database) });
  const headers = { cookie: first.client.cookie! };
  let faster: Promise<{ json(): unknown }> | undefined;
  acme.answer = async () => {
    acme.answer = undefined;
    faster = second.app.inject({ url: "/access", headers });
    assertEquals((await faster).json(), { token: "access-2" });
    return Response.json({ error: "invalid_grant" }, { status: 400 });
  };
  assertEquals(await access(first.client), { token: "access-2" });
  assertEquals(acme.refreshes, 2);
});

Deno.test("nothing of the reply is needed to refresh tokens in a row, and a bearer token gets them, too", async () => {
  const database = inMemory();
  await using opened = await signedInApp({ config: { ...configOf(database), bearer: true }, lifetime: 5 });
  const { app, acme, client } = opened;
  const csrfToken = await client.csrfToken();
  const issued = await client.request("POST", "/auth/token", { json: { csrfToken } });
  const authorization = `Bearer ${issued.json().access_token}`;
  const upgrade = { connection: "upgrade", upgrade: "websocket" };
  assertEquals((await client.get("/access", { headers: upgrade })).json(), { token: "access-2" });
  acme.lifetime = 5;
  assertEquals((await later(3600, () => app.inject({ url: "/access", headers: { authorization } }))).json(), {
    token: "access-3",
  });
});

Deno.test("an access token is of the account of its provider that signed in last", async () => {
  const database = inMemory();
  await using opened = await signedInApp({ config: configOf(database) });
  const { accounts } = database.tables;
  const [own] = accounts;
  const other = { ...own!, providerAccountId: "2", access_token: "of-2", expires_at: own!.expires_at! - 60 };
  accounts.unshift(other, { ...other, provider: "gitlab", access_token: "of-gitlab", expires_at: 2 ** 40 });
  assertEquals(await access(opened.client), { token: "access-1" });
  // As a driver returns a bigint.
  const asText = (seconds: number) => String(seconds) as unknown as number;
  accounts[0] = { ...other, expires_at: asText(9) };
  accounts[2] = { ...own!, expires_at: asText(own!.expires_at!) };
  assertEquals(await access(opened.client), { token: "access-1" });
  accounts[0] = { ...other, expires_at: asText(own!.expires_at! + 60) };
  assertEquals(await access(opened.client), { token: "of-2" });
  accounts.splice(0, accounts.length);
  assertEquals(await access(opened.client), { token: null });
});

Deno.test("a refresh token that is refused is a 401, and a database that fails is a 503", async () => {
  const database = inMemory();
  const { logger, lines } = captureLog();
  let failing = "";
  const config = configOf({
    ...database,
    adapter: {
      ...database.adapter,
      getSessionAndUser: (token) =>
        failing === "session" ? Promise.reject(new Error("no connection")) : database.adapter.getSessionAndUser!(token),
    },
    list: (id) => failing === "list" ? Promise.reject(new Error("no connection")) : database.list(id),
    update: (account) =>
      failing === "update" ? Promise.reject(new Error("not written: access-2 refresh-2")) : database.update(account),
  });
  await using opened = await signedInApp({ config, logger, lifetime: 5 });
  const { acme, client } = opened;
  acme.answer = () => Response.json({ error: "invalid_grant" }, { status: 400 });
  const refused = await later(6, () => client.get("/access"));
  assertEquals([refused.statusCode, refused.json().code], [401, "FST_AUTHJS_ACCESS_TOKEN_EXPIRED"]);
  acme.answer = undefined;
  for (failing of ["session", "list", "update"]) {
    const answer = await later(6, () => client.get("/access"));
    assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
  }
  assert(lines.length > 0);
  assert(!/refresh-2|access-2/.test(JSON.stringify(lines)), JSON.stringify(lines));
});

Deno.test("refreshed tokens that cannot be written are kept and written again, and the spent one is not used", async () => {
  const database = failing();
  const { logger, lines } = captureLog();
  await using opened = await signedInApp({ config: configOf(database), logger, lifetime: 5 });
  const { acme, client } = opened;
  database.fails = true;
  const answers = await later(6, async () => [await client.get("/access"), await client.get("/access")]);
  assertEquals(answers.map(({ statusCode }) => statusCode), [503, 503]);
  database.fails = false;
  assertEquals(await later(6, () => access(client)), { token: "access-2" });
  assertEquals([acme.refreshes, database.tables.accounts[0]!.refresh_token], [1, "refresh-2"]);
  assert(lines.some(({ level, msg }) => level >= 50 && msg.includes("They are kept for a day")));
  assert(!/refresh-2|access-2/.test(JSON.stringify(lines)));
});

Deno.test("refreshed tokens that one process could not write are written by another with the same store", async () => {
  const database = inMemory();
  const acme = new Acme();
  const store = testStore();
  const update = () => Promise.reject(new Error("no connection"));
  await using first = await signedInApp({ acme, config: { ...configOf(database), store }, lifetime: 5 });
  await using failing = await tokenApp({ acme, config: { ...configOf({ ...database, update }), store } });
  const headers = { cookie: first.client.cookie! };
  assertEquals((await later(6, () => failing.app.inject({ url: "/access", headers }))).statusCode, 503);
  assert(![...store.values.values()].some((value) => /access-2|refresh-2/.test(value)), "they are sealed");
  assertEquals(await access(first.client), { token: "access-2" });
  assertEquals(acme.refreshes, 1);
});

Deno.test("refreshed tokens are kept if the database and the store fail at once", async () => {
  const database = failing();
  const shared = memoryStore();
  const down = () => database.fails ? Promise.reject(new Error("no connection")) : undefined;
  const store = {
    ...shared,
    get: (names: readonly string[]) => down() ?? shared.get(names),
    set: (name: string, value: string, milliseconds: number) => down() ?? shared.set(name, value, milliseconds),
  };
  await using opened = await signedInApp({ config: { ...configOf(database), store }, lifetime: 5 });
  const { acme, client } = opened;
  database.fails = true;
  assertEquals((await later(6, () => client.get("/access"))).statusCode, 503);
  database.fails = false;
  assertEquals(await later(60, () => access(client)), { token: "access-2" });
  assertEquals(acme.refreshes, 1);
});

Deno.test("once refreshed tokens were written, a refresh token that stays is used again", async () => {
  const database = failing();
  await using opened = await signedInApp({ config: configOf(database), lifetime: 5 });
  const { acme, client } = opened;
  acme.answer = () => Response.json({ access_token: `next-${acme.refreshes}`, token_type: "bearer", expires_in: 3600 });
  const get = (seconds: number) => later(seconds, () => client.get("/access"));
  database.fails = true;
  assertEquals((await get(6)).statusCode, 503);
  database.fails = false;
  assertEquals((await get(6)).json(), { token: "next-1" });
  assertEquals((await get(3700)).json(), { token: "next-2" });
});

Deno.test("refreshed tokens that could not be written give way to those of a later sign-in", async () => {
  const database = failing();
  await using opened = await signedInApp({ config: configOf(database), lifetime: 5 });
  const { acme, client } = opened;
  database.fails = true;
  assertEquals((await later(6, () => client.get("/access"))).statusCode, 503);
  database.fails = false;
  acme.lifetime = 40;
  await signIn(client);
  acme.lifetime = 3600;
  assertEquals(await access(client), { token: "access-3" });
  assertEquals(await later(20, () => access(client)), { token: "access-4" });
  assertEquals(database.tables.accounts[0]!.refresh_token, "refresh-4");
});

Deno.test("a refresh leaves the tokens of a sign-in that came meanwhile", async () => {
  const database = inMemory();
  await using opened = await signedInApp({ config: configOf(database), lifetime: 5 });
  const { acme, app, client } = opened;
  acme.answer = async () => {
    await signIn(new Client(app));
    return Response.json({ access_token: "late", refresh_token: "late", token_type: "bearer", expires_in: 3600 });
  };
  assertEquals(await access(client), { token: "access-2" });
  assertEquals(database.tables.accounts[0]!.refresh_token, "refresh-2");
});

Deno.test("a sign-in whose tokens cannot be written fails, and leaves no session", async () => {
  const database = inMemory();
  const { sessions } = database.tables;
  let fails = false;
  const update = (account: AccountTokens) =>
    fails ? Promise.reject(new Error("the disk is full")) : database.update(account);
  await using opened = await signedInApp({ config: configOf({ ...database, update }) });
  const { client } = opened;
  await client.signOut();
  fails = true;
  const answer = await finishSignIn(client);
  assertEquals([answer.statusCode, sessions.size], [503, 0]);
  fails = false;
  await signIn(client);
  assertEquals([await access(client), sessions.size], [{ token: "access-3" }, 1]);
});

Deno.test("while another process refreshes the tokens of a row for too long, it is a 503", async () => {
  const store = { ...memoryStore(), lock: () => Promise.resolve(false) };
  const config = { ...configOf(inMemory()), store, providerTimeout: 100 };
  await using opened = await signedInApp({ config, lifetime: 5 });
  const answer = await later(6, () => opened.client.get("/access"));
  assertEquals([answer.statusCode, answer.json().code, opened.acme.refreshes], [503, "FST_AUTHJS_UNAVAILABLE", 0]);
});

Deno.test("a sign-in by mail has no tokens, and writes none", async () => {
  let code = "";
  const sendVerificationRequest = (mail: { code: string }) => void (code = mail.code);
  const mail = { id: "mail", name: "Mail", type: "email", sendVerificationRequest } as unknown as Provider;
  const acme = new Acme();
  await using opened = await tokenApp({ acme, config: { ...configOf(inMemory()), providers: [acme.provider, mail] } });
  const { client } = opened;
  await client.post("/auth/signin/mail", { csrfToken: await client.csrfToken(), email: "ada@example.com" });
  await client.post("/auth/callback/mail", { csrfToken: await client.csrfToken(), code });
  assertEquals((await client.get("/me")).json().session.user.email, "ada@example.com");
  assertEquals(await access(client), { token: null });
});

Deno.test("refreshTokens says at boot what the adapter lacks", async () => {
  const { adapter, list, update } = inMemory();
  const cases: [Adapter, string][] = [
    [adapter, "no `listAccountsByUserId()` and no `updateAccount()`. Add `withAccountList("],
    [withAccountUpdate(adapter, update), "no `listAccountsByUserId()`. Add `withAccountList("],
    [withAccountList(adapter, list), "no `updateAccount()`. Add `withAccountUpdate("],
    [withAccountUpdate(withAccountList(adapter, list), update), "none"],
  ];
  for (const [adapter, expected] of cases) {
    const config = testConfig({ providers: [new Acme().provider], refreshTokens: true, adapter });
    await using app = Fastify() as FastifyInstance;
    const message = await app.register(createAuth(config).plugin, { prefix: "/auth" }).then(
      () => "none",
      (error) => `${error.code}: ${error.message}`,
    );
    assertStringIncludes(message, expected);
    if (expected !== "none") assertStringIncludes(message, "FST_AUTHJS_ADAPTER_INVALID");
  }
});
