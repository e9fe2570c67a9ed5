/** The sessions of a user in a database, as the user sees and ends them. */
import { assert, assertEquals, assertFalse, assertNotEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { FastifyInstance } from "fastify";
import { type AuthObject, createAuth, type FastifyAuthConfig, FastifyAuthError, memoryStore } from "fastify-authjs";
import { type ListedSession, withAccountList, withAccountUpdate, withSessionList } from "fastify-authjs/adapters";
import { captureLog, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { ADA, BOB, COOKIE, DAY, reader, readerOf } from "../../support/database_setup.ts";
import { type FaultyAdapter, faultyAdapter } from "../../support/faults.ts";
import { identityProvider, signedIn } from "../../support/identity.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { sessionsApp } from "../../support/sessions_app.ts";

interface Setup extends Pick<FaultyAdapter, "faults" | "calls" | "release"> {
  readonly auth: AuthObject;
  readonly app: FastifyInstance;
  readonly tables: MemoryTables;
}

async function withSetup(
  run: (setup: Setup) => Promise<void>,
  overrides: Partial<FastifyAuthConfig> = {},
  list?: (userId: string) => ListedSession[],
): Promise<void> {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const ofUser = (userId: string) => [...tables.sessions.values()].filter((row) => row.userId === userId);
  const { adapter, ...faulty } = faultyAdapter(withSessionList(memoryAdapter(tables), list ?? ofUser));
  const auth = createAuth(testConfig({ adapter, providers: [identityProvider("one")], ...overrides }));
  await using app = await sessionsApp(auth);
  await run({ auth, app, tables, ...faulty });
}

interface Shown {
  id: string;
  current: boolean;
  expires: string;
  createdAt?: string;
  lastSeenAt?: string;
  userAgent?: string;
}

const sessionsOf = async (client: Client) => (await client.get("/sessions")).json<Shown[]>();
const userOf = ({ tables }: Setup, email = ADA.email) =>
  [...tables.users.values()].find((user) => user.email === email)!.id;

Deno.test("listSessions() shows the sessions of the user, that of the request first", () =>
  withSetup(async ({ app }) => {
    const [laptop, phone] = [await signedIn(app, "one", ADA), await signedIn(app, "one", ADA)];
    await signedIn(app, "one", BOB);
    const onLaptop = await sessionsOf(laptop);
    const onPhone = await sessionsOf(phone);
    assertEquals([onLaptop.map(({ current }) => current), onPhone.length], [[true, false], 2]);
    assertEquals(onPhone[0]!.id, onLaptop[1]!.id);
    assert(Date.parse(onLaptop[0]!.expires) > Date.now() + 29 * DAY);
    assert(Math.abs(Date.parse(onLaptop[0]!.lastSeenAt!) - Date.now()) < 60_000);
  }));

Deno.test("listSessions() shows no session token", () =>
  withSetup(async ({ app }) => {
    const client = await signedIn(app, "one", ADA);
    const { body } = await client.get("/sessions");
    assertFalse(body.includes(client.cookies.get(COOKIE)!), body);
    const [{ id }] = await sessionsOf(client) as [Shown];
    assertEquals(await readerOf(app, id), null);
    assertEquals(await readerOf(app, id.split(".")[1]!), null);
  }));

Deno.test("listSessions() shows what the table has, and leaves expired rows out", () => {
  const [createdAt, lastSeenAt] = [new Date("2026-01-01"), new Date("2026-01-02")];
  const list = (userId: string) => [
    {
      sessionToken: "a",
      userId,
      expires: new Date(Date.now() + DAY),
      createdAt,
      lastSeenAt,
      userAgent: "Firefox",
    },
    { sessionToken: "b", userId, expires: new Date(Date.now() - DAY) },
  ];
  return withSetup(
    async ({ app }) => {
      const [shown, ...others] = await sessionsOf(await signedIn(app, "one", ADA));
      assertEquals(others, []);
      const { createdAt: created, lastSeenAt: seen, userAgent } = shown!;
      assertEquals([created, seen, userAgent], [
        createdAt.toISOString(),
        lastSeenAt.toISOString(),
        "Firefox",
      ]);
    },
    {},
    list,
  );
});

Deno.test("listSessions() answers with 401 where nobody is signed in", () =>
  withSetup(async ({ app }) => {
    const answer = await new Client(app).get("/sessions");
    assertEquals([answer.statusCode, answer.json().code], [401, "FST_AUTHJS_UNAUTHENTICATED"]);
  }));

Deno.test("revokeSession() ends one session", () =>
  withSetup(async (setup) => {
    const { app, auth } = setup;
    const [laptop, phone] = [await signedIn(app, "one", ADA), await signedIn(app, "one", ADA)];
    const token = phone.cookies.get(COOKIE)!;
    const [, { id }] = await sessionsOf(laptop) as [Shown, Shown];
    assertEquals(await auth.revokeSession(id), true);
    assertEquals([await reader(laptop), await reader(phone), await readerOf(app, token)], [
      ADA.email,
      null,
      null,
    ]);
    assertEquals([await auth.revokeSession(id), (await sessionsOf(laptop)).length], [false, 1]);
  }));

Deno.test("revokeSession() ends nothing for an id that is no session's", () =>
  withSetup(async (setup) => {
    const { app, auth, tables } = setup;
    const client = await signedIn(app, "one", ADA);
    const user = btoa(userOf(setup)).replaceAll("=", "");
    const token = client.cookies.get(COOKIE)!;
    for (const id of ["", ".", token, `${user}.`, `${user}.${token}`, `${user}.x.y`, `!.${token}`]) {
      assertEquals(await auth.revokeSession(id), false, id);
    }
    assertEquals(tables.sessions.size, 1);
  }));

Deno.test("revokeSessions() ends all sessions of a user, and only these", () =>
  withSetup(async (setup) => {
    const { app, auth } = setup;
    const [laptop, phone] = [await signedIn(app, "one", ADA), await signedIn(app, "one", ADA)];
    const bob = await signedIn(app, "one", BOB);
    await auth.revokeSessions(userOf(setup));
    assertEquals([await reader(laptop), await reader(phone), await reader(bob)], [null, null, BOB.email]);
  }));

Deno.test("revokeSessions() keeps the session that it is to except", () =>
  withSetup(async (setup) => {
    const { app, auth } = setup;
    const [laptop, phone] = [await signedIn(app, "one", ADA), await signedIn(app, "one", ADA)];
    const [{ id: except }] = await sessionsOf(laptop) as [Shown];
    await auth.revokeSessions(userOf(setup), { except });
    assertEquals([await reader(laptop), await reader(phone)], [ADA.email, null]);
  }));

Deno.test("revokeSessions() refuses what would end no or the wrong sessions", () =>
  withSetup(async (setup) => {
    const { app, auth, tables } = setup;
    await signedIn(app, "one", ADA);
    const [{ id: ofBob }] = await sessionsOf(await signedIn(app, "one", BOB)) as [Shown];
    const ada = userOf(setup);
    const wrong: [userId: unknown, except?: string][] = [[""], [undefined], [NaN], [ada, ofBob], [ada, ""]];
    for (const [userId, except] of wrong) {
      const revoke = () => auth.revokeSessions(userId as string, { except });
      const { code } = await assertRejects(revoke, FastifyAuthError);
      assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
    }
    assertEquals(tables.sessions.size, 2);
  }));

Deno.test("a read that is under way does not bring a revoked session back", () =>
  withSetup(async (setup) => {
    const { app, auth, tables, faults, calls, release } = setup;
    const client = await signedIn(app, "one", ADA);
    const token = client.cookies.get(COOKIE)!;
    tables.sessions.set(token, { ...tables.sessions.get(token)!, expires: new Date(Date.now() + DAY) });
    // It writes the whole row again, after that was deleted.
    faults.set("updateSession", "is late");
    const reading = client.get("/me");
    while (!calls.includes("updateSession")) await new Promise((resolve) => setImmediate(resolve));
    await auth.revokeSessions(userOf(setup));
    await release();
    const answer = await reading;
    assertEquals([answer.json().session, answer.headers["set-cookie"]], [null, undefined]);
    assertEquals([await readerOf(app, token), tables.sessions.size], [null, 0]);
  }));

Deno.test("an adapter without listSessionsByUserId() is named, with what to add", async () => {
  const auth = createAuth(testConfig({ adapter: memoryAdapter(), providers: [identityProvider("one")] }));
  await using app = await sessionsApp(auth);
  const answer = await (await signedIn(app, "one", ADA)).get("/sessions");
  assertEquals([answer.statusCode, answer.json().code], [500, "FST_AUTHJS_ADAPTER_INVALID"]);
  const error = await assertRejects(() => auth.revokeSessions("1"), FastifyAuthError, "withSessionList");
  assertEquals(error.code, "FST_AUTHJS_ADAPTER_INVALID");
});

Deno.test("a query that returns sessions of other users is refused", () => {
  let tables: MemoryTables;
  return withSetup(
    async (setup) => {
      tables = setup.tables;
      const client = await signedIn(setup.app, "one", ADA);
      await signedIn(setup.app, "one", BOB);
      assertEquals((await client.get("/sessions")).json().code, "FST_AUTHJS_ADAPTER_INVALID");
      await assertRejects(() => setup.auth.revokeSessions(userOf(setup)), Error, "another user");
      assertEquals(tables.sessions.size, 2);
    },
    {},
    () => [...tables.sessions.values()],
  );
});

Deno.test("rows without the user's id are said to lack it, not to be of another user", () =>
  withSetup(
    async ({ auth }) => {
      const error = await assertRejects(() => auth.revokeSessions("1"), FastifyAuthError);
      assertStringIncludes(error.message, "rows with `sessionToken`, `userId` and `expires`");
    },
    {},
    () => [{ sessionToken: "token", user_id: "1", expires: new Date(Date.now() + DAY) }] as never,
  ));

Deno.test("rows without their end are refused: revokeSessions() would end none of them", () => {
  let tables: MemoryTables;
  return withSetup(
    async (setup) => {
      tables = setup.tables;
      const client = await signedIn(setup.app, "one", ADA);
      const error = await assertRejects(() => setup.auth.revokeSessions(userOf(setup)), FastifyAuthError);
      assertStringIncludes(error.message, "rows with `sessionToken`, `userId` and `expires`");
      assertEquals((await client.get("/sessions")).json().code, "FST_AUTHJS_ADAPTER_INVALID");
    },
    {},
    () => [...tables.sessions.values()].map(({ sessionToken, userId }) => ({ sessionToken, userId })) as never,
  );
});

Deno.test("revokeSessions() takes the id of a user that is a number, as some databases have it", () =>
  withSetup(
    async ({ auth, tables }) => {
      const expires = new Date(Date.now() + DAY);
      tables.sessions.set("token", { sessionToken: "token", userId: 7 as unknown as string, expires });
      await auth.revokeSessions(7 as unknown as string);
      assertEquals(tables.sessions.size, 0);
    },
    {},
    () => [{ sessionToken: "token", userId: 7, expires: new Date(Date.now() + DAY) }] as never,
  ));

Deno.test("where the database fails, listing and ending sessions fails with 503", () =>
  withSetup(async (setup) => {
    const { app, auth, faults } = setup;
    const client = await signedIn(app, "one", ADA);
    const user = userOf(setup);
    for (const method of ["listSessionsByUserId", "deleteSession"]) {
      faults.clear();
      faults.set(method, "throws");
      const error = await assertRejects(() => auth.revokeSessions(user), FastifyAuthError);
      assertEquals(error.code, "FST_AUTHJS_UNAVAILABLE");
      if (method.startsWith("list")) assertEquals((await client.get("/sessions")).statusCode, 503);
    }
  }));

Deno.test("sessions in a database are revoked also while the store fails, which the log says", async () => {
  const { logger, lines } = captureLog();
  const store = memoryStore();
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const adapter = withSessionList(memoryAdapter(tables), () => [...tables.sessions.values()]);
  const auth = createAuth(testConfig({ adapter, providers: [identityProvider("one")], store }));
  await using app = await sessionsApp(auth, { logger });
  const client = await signedIn(app, "one", ADA);
  const [{ id }] = await sessionsOf(client) as [Shown];
  store.set = () => Promise.reject(new Error("connection refused"));
  assertEquals([await auth.revokeSession(id), tables.sessions.size], [true, 0]);
  assertEquals(lines.filter(({ level }) => level === 50).map(({ msg }) => msg), [
    "Auth.js: The store's set() failed; sessions are refreshed and sign-in links used without it.: connection refused",
  ]);
});

Deno.test("withSessionList() leaves an adapter that is a class as it is", async () => {
  class Own {
    #users = ["ada"];
    getUser(id: string) {
      return Promise.resolve({ id, email: this.#users[0]!, emailVerified: null });
    }
  }
  const own = Object.assign(new Own(), { client: "the database" });
  const listing = withSessionList(own, () => []);
  // What else it has stays, as its type says.
  assertEquals(listing.client, "the database");
  const all = withSessionList(withAccountUpdate(withAccountList(own, () => []), () => {}), () => []);
  assertEquals([all.client, all.listAccountsByUserId("1"), all.listSessionsByUserId("1")], [
    "the database",
    [],
    [],
  ]);
  assertEquals((await listing.getUser!("1"))?.email, "ada");
  assertNotEquals<unknown>(listing, own);
  assertFalse("listSessionsByUserId" in own);
});
