/** First sign-ins of one user at the same time: one user, one account, and every browser is signed in. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Adapter } from "@auth/core/adapters";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { testApp, testConfig } from "../support/app.ts";
import { type Answer, Client } from "../support/client.ts";
import { mailProvider, reader, requestLink } from "../support/database_setup.ts";
import { codeFor, identityProvider, type Person } from "../support/identity.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { testStore } from "../support/test_store.ts";
import { emptyTables } from "../support/webauthn.ts";

const ADA = { id: "ada-1", email: "ada@example.com" };

/** A database with unique keys, whose answers take several turns of the event loop. */
function slowDatabase() {
  const tables = emptyTables();
  const adapter = memoryAdapter(tables);
  const refuse = () => {
    throw Object.assign(new Error("UNIQUE constraint failed"), { code: "SQLITE_CONSTRAINT_UNIQUE" });
  };
  const unique: Adapter = {
    ...adapter,
    createUser: async (user) => await adapter.getUserByEmail(user.email) ? refuse() : adapter.createUser(user),
    linkAccount: async (account) =>
      await adapter.getUserByAccount(account) ? refuse() : await adapter.linkAccount(account) as never,
  };
  const slow = Object.entries(unique).map(([name, method]) => [name, async (...args: never[]) => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    return await (method as (...args: never[]) => unknown)(...args);
  }]);
  return { tables, adapter: Object.fromEntries(slow) as Adapter };
}

/** An application over a database, and what it is told of users. */
async function signInApp(
  database: Pick<ReturnType<typeof slowDatabase>, "adapter">,
  overrides: Partial<FastifyAuthConfig> = {},
) {
  const events: string[] = [];
  const links: string[] = [];
  const app = await testApp(testConfig({
    adapter: database.adapter,
    session: { strategy: "database" },
    providers: [identityProvider("one"), identityProvider("two"), mailProvider("mail", links)],
    events: {
      createUser: () => void events.push("createUser"),
      linkAccount: () => void events.push("linkAccount"),
      signIn: ({ isNewUser }) => void events.push(`signIn ${isNewUser}`),
    },
    ...overrides,
  }));
  return { app, events, links, [Symbol.asyncDispose]: () => app.close() };
}

/** A browser that comes back from a provider. */
async function returning(app: FastifyInstance, provider: string, person: Person) {
  const client = new Client(app);
  const started = await client.post(`/auth/signin/${provider}`, { csrfToken: await client.csrfToken() });
  const state = new URL(String(started.headers.location)).searchParams.get("state")!;
  const query = new URLSearchParams({ code: codeFor(person), state });
  return { client, finish: () => client.get(`/auth/callback/${provider}?${query}`) };
}

const together = (browsers: { finish: () => Promise<Answer> }[]) => Promise.all(browsers.map(({ finish }) => finish()));

Deno.test("of three first sign-ins of one user at the same time each signs in, and one creates the user", async () => {
  const database = slowDatabase();
  await using opened = await signInApp(database);
  const { app, events } = opened;
  const browsers = [];
  for (let i = 0; i < 3; i++) browsers.push(await returning(app, "one", ADA));
  assertEquals((await together(browsers)).map(({ statusCode }) => statusCode), [302, 302, 302]);
  for (const { client } of browsers) assertEquals(await reader(client), ADA.email);
  assertEquals([database.tables.users.size, database.tables.accounts.length], [1, 1]);
  assertEquals(events.toSorted(), [
    "createUser",
    "linkAccount",
    "signIn false",
    "signIn false",
    "signIn true",
  ]);
});

Deno.test("processes that share a store do so, too", async () => {
  const database = slowDatabase();
  const store = testStore();
  await using first = await signInApp(database, { store });
  await using second = await signInApp(database, { store });
  const browsers = [await returning(first.app, "one", ADA), await returning(second.app, "one", ADA)];
  assertEquals((await together(browsers)).map(({ statusCode }) => statusCode), [302, 302]);
  for (const { client } of browsers) assertEquals(await reader(client), ADA.email);
  assertEquals([database.tables.users.size, database.tables.accounts.length], [1, 1]);
  assertEquals(store.owners.size, 0);
  assertEquals([...store.keys].some((key) => key.includes("ada")), false);
});

Deno.test("the same address at another provider is not linked, also at the same time", async () => {
  const database = slowDatabase();
  await using opened = await signInApp(database);
  const { app } = opened;
  const other = await returning(app, "two", { id: "mallory", email: ADA.email });
  const answers = await together([await returning(app, "one", ADA), other]);
  const refused = answers.filter(({ headers }) => String(headers.location).includes("error="));
  assertEquals(refused.length, 1);
  assertStringIncludes(String(refused[0]!.headers.location), "error=OAuthAccountNotLinked");
  assertEquals([database.tables.users.size, database.tables.accounts.length], [1, 1]);
});

Deno.test("two sign-in links for a new address that are followed at the same time both sign in", async () => {
  const database = slowDatabase();
  await using opened = await signInApp(database);
  const clients = [new Client(opened.app), new Client(opened.app)];
  const links: string[] = [];
  for (const client of clients) links.push(await requestLink(client, opened, ADA.email));
  await Promise.all(clients.map((client, i) => client.confirm(links[i]!)));
  for (const client of clients) assertEquals(await reader(client), ADA.email);
  assertEquals(database.tables.users.size, 1);
});

Deno.test("a first sign-in that hangs is not waited for any longer than a call of the adapter", async () => {
  const database = slowDatabase();
  let finish = () => {};
  const held = new Promise<void>((resolve) => finish = resolve);
  let created = () => {};
  const creating = new Promise<void>((resolve) => created = resolve);
  const events = { createUser: () => (created(), held) };
  await using opened = await signInApp(database, { events, adapterTimeout: 300 });
  const [first, second] = [await returning(opened.app, "one", ADA), await returning(opened.app, "one", ADA)];
  const hanging = first.finish();
  await creating;
  // The user is there, and the account is not linked yet.
  const { headers } = await second.finish();
  assertStringIncludes(String(headers.location), "error=OAuthAccountNotLinked");
  finish();
  await hanging;
  assertEquals(await reader(first.client), ADA.email);
});

Deno.test("a first sign-in that fails keeps no other waiting, also if its log fails", async () => {
  const store = testStore();
  let isDown = true;
  const add = (...args: Parameters<typeof store.add>) =>
    isDown ? Promise.reject(new Error("The store is down.")) : store.add(...args);
  await using opened = await signInApp(slowDatabase(), {
    session: { strategy: "jwt" },
    revocable: true,
    store: { ...store, add },
    logger: {
      error() {
        throw new Error("No space is left for the log.");
      },
    },
  });
  const first = await returning(opened.app, "one", ADA);
  assertEquals((await first.finish()).statusCode, 500);
  assertEquals([...store.owners], []);
  isDown = false;
  const second = await returning(opened.app, "one", ADA);
  assertEquals((await second.finish()).statusCode, 302);
  assertEquals(await reader(second.client), ADA.email);
});
