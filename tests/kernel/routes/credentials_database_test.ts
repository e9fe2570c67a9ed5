/** Signing in with a password if sessions are rows of a database. */
import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import type { Adapter, AdapterUser } from "@auth/core/adapters";
import type { FastifyInstance } from "fastify";
import { type FastifyAuthConfig, requireSession } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import { captureLog, type LogLine, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { COOKIE, DAY, reader, readerOf, rowOf } from "../../support/database_setup.ts";
import { type DatabaseKind, libsql, pgAdapter, serverUrl, type TestDatabase } from "../../support/databases.ts";
import { faultyAdapter } from "../../support/faults.ts";
import { identityProvider, signInAs } from "../../support/identity.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

interface Setup extends Pick<ReturnType<typeof faultyAdapter>, "faults"> {
  readonly app: FastifyInstance;
  readonly database: TestDatabase;
  readonly user: AdapterUser;
  readonly log: LogLine[];
}

const memory: DatabaseKind = {
  name: "in memory",
  open() {
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    const sizes = {
      users: () => tables.users.size,
      accounts: () => tables.accounts.length,
      sessions: () => tables.sessions.size,
      tokens: () => tables.tokens.length,
    };
    return Promise.resolve({
      adapter: memoryAdapter(tables),
      count: (table) => Promise.resolve(sizes[table]()),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  },
};

const PASSWORD = { username: "ada", password: "open" };

/** Signs in the user of the adapter, or the one that the username names. */
function passwords(adapter: Adapter) {
  return Credentials({
    credentials: { username: {}, password: {} },
    authorize({ username, password }) {
      if (password !== "open") return null;
      return username === "ada" ? adapter.getUserByEmail!("ada@example.com") : { id: String(username) };
    },
  });
}

async function withSetup(
  kind: DatabaseKind,
  run: (setup: Setup) => Promise<void>,
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<void> {
  await using database = await kind.open();
  const { adapter, faults } = faultyAdapter(database.adapter);
  const user = await adapter.createUser!({
    id: crypto.randomUUID(),
    email: "ada@example.com",
    name: "Ada",
    emailVerified: null,
  });
  const { logger, lines: log } = captureLog();
  const config = testConfig({
    adapter,
    providers: [passwords(database.adapter), identityProvider("one")],
    ...overrides,
  });
  await using app = await testApp(config, { logger });
  app.get("/private", { onRequest: requireSession(config) }, () => "private");
  await run({ app, database, user, log, faults });
}

async function signedIn(app: FastifyInstance): Promise<Client> {
  const client = new Client(app);
  await client.signIn(PASSWORD);
  return client;
}

const sessionLine = (answer: Answer) => setCookies(answer).find((line) => line.startsWith(COOKIE));

const url = serverUrl("TEST_POSTGRES_URL", "the tests of credentials with sessions on PostgreSQL");
for (const kind of [memory, libsql, ...(url ? [pgAdapter(url)] : [])]) {
  const test = (
    name: string,
    run: (setup: Setup) => Promise<void>,
    overrides: Partial<FastifyAuthConfig> = {},
  ) => Deno.test(`credentials with sessions ${kind.name}: ${name}`, () => withSetup(kind, run, overrides));

  test("a sign-in creates a row, and its token is the cookie", async ({ app, database, user }) => {
    const client = await signedIn(app);
    const row = await rowOf(database, client.cookies.get(COOKIE)!);
    assertEquals(String(row?.userId), String(user.id));
    assertEquals(await database.count("sessions"), 1);
    assertEquals([await reader(client), (await client.get("/private")).statusCode], ["ada@example.com", 200]);
  });

  test("the cookie has the attributes of any other session", async ({ app }) => {
    const attributes = (answer: Answer) => sessionLine(answer)!.replace(/=[^;]*/, "").replace(/Expires=[^;]*/, "");
    const password = await new Client(app).signIn(PASSWORD);
    const provider = await signInAs(new Client(app), "one", { id: "bob", email: "bob@example.com" });
    assertEquals(attributes(password), attributes(provider));
    const expires = Date.parse(/Expires=([^;]*)/.exec(sessionLine(password)!)![1]!);
    assert(Math.abs(expires - Date.now() - 30 * DAY) < 60_000, sessionLine(password)!);
  });

  test("a new sign-in has a new row, and the browser's old one is deleted", async ({ app, database }) => {
    const [laptop, phone] = [await signedIn(app), await signedIn(app)];
    const old = laptop.cookies.get(COOKIE)!;
    await laptop.signIn(PASSWORD);
    assertNotEquals(laptop.cookies.get(COOKIE), old);
    assertEquals([await rowOf(database, old), await readerOf(app, old)], [undefined, null]);
    assertEquals([await reader(laptop), await reader(phone)], ["ada@example.com", "ada@example.com"]);
    assertEquals(await database.count("sessions"), 2);
  });

  test("a session token that an attacker has set is not taken over", async ({ app, database }) => {
    const attacker = (await signedIn(app)).cookies.get(COOKIE)!;
    const victim = new Client(app);
    for (const planted of [attacker, "chosen-by-the-attacker"]) {
      victim.cookies.set(COOKIE, planted);
      await victim.signIn(PASSWORD);
      assertNotEquals(victim.cookies.get(COOKIE), planted);
      assertEquals([await rowOf(database, planted), await readerOf(app, planted)], [undefined, null]);
    }
  });

  test("a wrong password creates nothing and leaves the session that is there", async ({ app, database }) => {
    const client = await signedIn(app);
    const held = client.cookies.get(COOKIE);
    const answer = await client.signIn({ ...PASSWORD, password: "wrong" });
    assertStringIncludes(String(answer.headers.location), "error=CredentialsSignin");
    assertEquals([client.cookies.get(COOKIE), await database.count("sessions")], [held, 1]);
    assertEquals(await reader(client), "ada@example.com");
  });

  test("a sign-out deletes the row", async ({ app, database }) => {
    const client = await signedIn(app);
    const token = client.cookies.get(COOKIE)!;
    assertEquals((await client.signOut()).statusCode, 302);
    assertEquals([await database.count("sessions"), await readerOf(app, token)], [0, null]);
  });

  test("a session in use is renewed, and an expired one ends", async ({ app, database }) => {
    const client = await signedIn(app);
    const sessionToken = client.cookies.get(COOKIE)!;
    await database.adapter.updateSession!({ sessionToken, expires: new Date(Date.now() + 20 * DAY) });
    assert(sessionLine(await client.get("/me")), "the cookie is renewed");
    assert(new Date((await rowOf(database, sessionToken))!.expires).valueOf() > Date.now() + 29 * DAY);
    await database.adapter.updateSession!({ sessionToken, expires: new Date(Date.now() - 60_000) });
    assertEquals([await reader(client), await database.count("sessions")], [null, 0]);
  });

  for (const id of ["nobody", crypto.randomUUID(), "1 or so"]) {
    test(`authorize() with the user "${id.length > 10 ? "a random id" : id}" fails and says why`, async (setup) => {
      const { app, database, log } = setup;
      const client = new Client(app);
      const answer = await client.signIn({ ...PASSWORD, username: id });
      assertEquals(answer.headers.location, "http://localhost/auth/error?error=Configuration");
      assertEquals([await database.count("sessions"), await reader(client)], [0, null]);
      assertStringIncludes(JSON.stringify(log), "returned a user that the adapter does not have");
    });
  }

  test("where the database fails there is no session", async ({ app, database, faults }) => {
    for (const method of ["getUser", "createSession"]) {
      faults.set(method, "throws");
      const client = new Client(app);
      assertEquals((await client.signIn(PASSWORD)).statusCode, 503);
      faults.clear();
      assertEquals([await reader(client), await database.count("sessions")], [null, 0]);
    }
  });
}

const withMemory = (run: (setup: Setup) => Promise<void>, overrides: Partial<FastifyAuthConfig>) =>
  withSetup(memory, run, overrides);

Deno.test("callbacks and events of credentials with database sessions are those of core", async () => {
  const called: string[] = [];
  await withMemory(async ({ app, user }) => {
    const client = await signedIn(app);
    assertEquals(called, [`signIn ${user.id} credentials ada`, `event ${user.id} credentials`]);
    const { session } = (await client.get("/me")).json();
    assertEquals(session.user, { id: user.id });
    const refused = new Client(app);
    const answer = await refused.signIn({ ...PASSWORD, username: "refused" });
    assertStringIncludes(String(answer.headers.location), "error=AccessDenied");
    assertEquals(await reader(refused), null);
  }, {
    callbacks: {
      signIn({ user, account, credentials }) {
        called.push(`signIn ${user.id} ${account?.type} ${credentials?.username}`);
        return user.id !== "refused";
      },
      jwt({ token }) {
        called.push("jwt");
        return token;
      },
      session: ({ user }) => ({ user: { id: user.id }, expires: "" }) as never,
    },
    events: { signIn: ({ user, account }) => void called.push(`event ${user.id} ${account?.provider}`) },
  });
});

Deno.test("the token of a session in a database has 256 random bits, however it was made", async () => {
  await withMemory(async ({ app }) => {
    const client = await signedIn(app);
    const tokens = [client.cookies.get(COOKIE)];
    await client.signIn(PASSWORD);
    tokens.push(client.cookies.get(COOKIE));
    const { csrfToken } = (await client.get("/auth/csrf")).json();
    tokens.push((await client.post("/auth/token", { csrfToken })).json().access_token);
    const other = new Client(app);
    await signInAs(other, "one", { id: "grace", email: "grace@example.com" });
    tokens.push(other.cookies.get(COOKIE));
    for (const token of tokens) assertMatch(String(token), /^[0-9a-f]{64}(?:\.bearer)?$/);
    assertEquals(new Set(tokens).size, tokens.length);
  }, { bearer: true });
});

Deno.test("credentials with database sessions take generateSessionToken, and leave jwt.encode alone", async () => {
  await withMemory(async ({ app }) => {
    assertEquals((await signedIn(app)).cookies.get(COOKIE), "own-token");
  }, {
    session: { generateSessionToken: () => "own-token" },
    jwt: { encode: () => Promise.resolve("encoded") },
  });
});

Deno.test("a generateSessionToken that returns no text gives nobody a session, and the log says what it returned", async () => {
  const results: Record<string, () => unknown> = {
    undefined: () => undefined,
    number: () => 5,
    "an empty text": () => "",
    "a promise": () => Promise.reject(new Error("it must not end the process")),
  };
  for (const [name, generateSessionToken] of Object.entries(results)) {
    await withMemory(async ({ app, database, log }) => {
      assertEquals((await signedIn(app)).cookies.get(COOKIE), undefined, name);
      assertEquals(await database.count("sessions"), 0);
      const told = log.map(({ msg }) => msg).join("\n");
      assertStringIncludes(told, `\`session.generateSessionToken\` returned ${name}`);
    }, { session: { generateSessionToken: generateSessionToken as () => string } });
  }
});
