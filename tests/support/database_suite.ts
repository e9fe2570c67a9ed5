/**
 * What has to be true of sessions and accounts in a database, whichever it is.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import type { FastifyAuthConfig, User } from "fastify-authjs";
import { type Answer, Client } from "./client.ts";
import {
  ADA,
  BOB,
  COOKIE,
  DAY,
  reader,
  readerOf,
  requestLink,
  rowOf,
  type Setup,
  withSetup,
} from "./database_setup.ts";
import type { DatabaseKind } from "./databases.ts";
import { signedIn, signInAs } from "./identity.ts";
import { later } from "./token_provider.ts";

/** Declares the tests for one kind of database. */
export function testDatabase(kind: DatabaseKind): void {
  const test = (
    name: string,
    run: (setup: Setup) => Promise<void>,
    overrides: Partial<FastifyAuthConfig> = {},
  ) => Deno.test(`${kind.name}: ${name}`, () => withSetup(kind, run, overrides));

  test("signing in creates the user, links the account and opens a session", async ({ app, database }) => {
    const client = new Client(app);
    const answer = await signInAs(client, "one", ADA);
    assertEquals(answer.statusCode, 302);
    assertEquals(answer.headers.location, "http://localhost");
    assertEquals(await reader(client), ADA.email);

    const session = (await client.get("/auth/session")).json<{ user: User; expires: string }>();
    // A table says null of what a key-value store leaves out.
    assertEquals({ image: null, ...session.user }, { name: ADA.name, email: ADA.email, image: null });
    assert(new Date(session.expires).valueOf() > Date.now() + 29 * DAY);
    for (const table of ["users", "accounts", "sessions"] as const) {
      assertEquals(await database.count(table), 1, table);
    }
    const user = await database.adapter.getUserByAccount!({ provider: "one", providerAccountId: ADA.id });
    assertEquals(user?.email, ADA.email);
    assertEquals(user?.emailVerified ?? null, null);
  });

  test("another browser of the same user gets a session of its own", async ({ app, database }) => {
    const laptop = await signedIn(app, "one", ADA);
    const phone = await signedIn(app, "one", ADA);
    assertNotEquals(laptop.cookies.get(COOKIE), phone.cookies.get(COOKIE));
    assertEquals([await database.count("users"), await database.count("accounts")], [1, 1]);
    assertEquals(await database.count("sessions"), 2);

    await laptop.signOut();
    assertEquals([await reader(laptop), await reader(phone)], [null, ADA.email]);
    assertEquals(await database.count("sessions"), 1);
  });

  test("a session is prolonged once it is older than updateAge, not before", async ({ app, database, calls }) => {
    const client = await signedIn(app, "one", ADA);
    const sessionToken = client.cookies.get(COOKIE)!;
    await reader(client);
    assert(!calls.includes("updateSession"));

    const due = new Date(Date.now() + 28 * DAY);
    await database.adapter.updateSession!({ sessionToken, expires: due });
    assertEquals(await reader(client), ADA.email);
    const { expires } = (await rowOf(database, sessionToken))!;
    assert(expires.valueOf() > Date.now() + 29 * DAY, String(expires));
  });

  test(
    "a session that is shorter than updateAge is prolonged while it is used",
    async ({ app, database }) => {
      const client = await signedIn(app, "one", ADA);
      const sessionToken = client.cookies.get(COOKIE)!;
      const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000);
      const row = async () => (await rowOf(database, sessionToken))!.expires;
      const expiryIn = ({ headers }: Answer) =>
        Date.parse(/Expires=([^;]+)/.exec(String(headers["set-cookie"]))?.[1] ?? "");
      for (const [left, prolonged] of [[29, false], [28, true], [1, true]] as const) {
        await database.adapter.updateSession!({ sessionToken, expires: inMinutes(left) });
        const answer = await client.get("/me");
        const told = Date.parse(answer.json().session.expires);
        assertEquals(told > inMinutes(29.5).valueOf(), prolonged, `${left} minutes left`);
        // What the cookie, the row and the session say is the same, to the second.
        assertEquals(told, (await row()).valueOf());
        if (prolonged) assertEquals(expiryIn(answer), told);
      }
    },
    { session: { maxAge: 1800 } },
  );

  test("an expired session is refused and its row is removed", async ({ app, database }) => {
    const client = await signedIn(app, "one", ADA);
    const sessionToken = client.cookies.get(COOKIE)!;
    await database.adapter.updateSession!({ sessionToken, expires: new Date(Date.now() - 1000) });
    assertEquals(await reader(client), null);
    assertEquals(await database.count("sessions"), 0);
  });

  test("signing out deletes the row and the cookie", async ({ app, database }) => {
    const client = await signedIn(app, "one", ADA);
    const token = client.cookies.get(COOKIE)!;
    const answer = await client.signOut();
    assertEquals(answer.statusCode, 302);
    assertEquals(client.cookies.has(COOKIE), false);
    assertEquals(await database.count("sessions"), 0);
    assertEquals(await readerOf(app, token), null);
  });

  test("a cookie that is no token means no session, whatever it is made of", async ({ app, log }) => {
    for (
      const token of ["%00", "' OR 1=1 --", "a".repeat(3000), "%F0%9F%94%91", "by-user-id:1", "../x", "?"]
    ) {
      const headers = { cookie: `${COOKIE}=${token}` };
      assertEquals((await app.inject({ url: "/me", headers })).json(), { session: null }, token);
      const answer = await app.inject({ url: "/auth/session", headers });
      assertEquals([answer.statusCode, answer.body], [200, "null"], token);
    }
    assertEquals(log.filter(({ level }) => level >= 50), []);
  });

  // Signing in again (S7).

  test("S7: signing in again gives a new token and deletes the old row", async ({ app, database }) => {
    const client = await signedIn(app, "one", ADA);
    const old = client.cookies.get(COOKIE)!;
    await signInAs(client, "one", ADA);
    assertNotEquals(client.cookies.get(COOKIE), old);
    assertEquals([await reader(client), await readerOf(app, old)], [ADA.email, null]);
    assertEquals(await database.count("sessions"), 1);
    const { expires } = (await rowOf(database, client.cookies.get(COOKIE)!))!;
    assert(expires.valueOf() > Date.now() + 29 * DAY);
  });

  test("S7: signing in again by e-mail deletes the old row", async (setup) => {
    const { app, database } = setup;
    const client = await signedIn(app, "one", ADA);
    const old = client.cookies.get(COOKIE)!;
    await client.confirm(await requestLink(client, setup, ADA.email));
    assertNotEquals(client.cookies.get(COOKIE), old);
    assertEquals([await reader(client), await readerOf(app, old)], [ADA.email, null]);
    assertEquals(await database.count("sessions"), 1);
  });

  test("S7: signing in as another user by e-mail ends the first user's session", async (setup) => {
    const { app, database } = setup;
    const client = await signedIn(app, "one", ADA);
    const old = client.cookies.get(COOKIE)!;
    await client.confirm(await requestLink(client, setup, BOB.email));
    assertEquals([await reader(client), await readerOf(app, old)], [BOB.email, null]);
    assertEquals(await database.count("sessions"), 1);
  });

  test("an expired session does not count as signed in during a sign-in", async ({ app, database }) => {
    const client = await signedIn(app, "one", ADA);
    const sessionToken = client.cookies.get(COOKIE)!;
    await database.adapter.updateSession!({ sessionToken, expires: new Date(Date.now() - 1000) });
    await signInAs(client, "two", BOB);
    assertEquals(await reader(client), BOB.email);
    assertEquals(await database.count("users"), 2);
    assertEquals(await database.count("sessions"), 1);
  });

  // Accounts.

  test("a signed-in user links another provider", async ({ app, database }) => {
    const client = await signedIn(app, "one", ADA);
    await signInAs(client, "two", { id: "other-id", email: "ada@work.example" });
    assertEquals(await reader(client), ADA.email);
    assertEquals([await database.count("users"), await database.count("accounts")], [1, 2]);
    assertEquals(await reader(await signedIn(app, "two", { id: "other-id" })), ADA.email);
  });

  test("the same address at another provider is not linked", async ({ app, database, log }) => {
    await signedIn(app, "one", ADA);
    const client = new Client(app);
    const answer = await signInAs(client, "two", { ...ADA, id: "mallory" });
    assertEquals(answer.headers.location, "http://localhost/auth/signin?error=OAuthAccountNotLinked");
    assertEquals([await reader(client), await database.count("accounts")], [null, 1]);
    assertEquals(log.filter(({ level }) => level >= 50), []);
  });

  test("people whose provider says that their address is an empty text are users without one", async ({ app, database }) => {
    for (const name of ["Ada", "Grace"]) {
      const client = new Client(app);
      const answer = await signInAs(client, "one", { id: name, name, email: "" });
      assertEquals(answer.headers.location, "http://localhost");
      const { session } = (await client.get("/me")).json<{ session: { user: { email?: string | null } } }>();
      assertEquals(session.user.email ?? null, null);
    }
    assertEquals([await database.count("users"), await database.count("accounts")], [2, 2]);
  });

  test("it is linked with allowDangerousEmailAccountLinking", async ({ app, database }) => {
    await signedIn(app, "one", ADA);
    const client = await signedIn(app, "trusted", { ...ADA, id: "ada-elsewhere" });
    assertEquals(await reader(client), ADA.email);
    assertEquals([await database.count("users"), await database.count("accounts")], [1, 2]);
  });

  test("another user's account is refused and changes nothing", async ({ app, database }) => {
    await signedIn(app, "two", BOB);
    const client = await signedIn(app, "one", ADA);
    const token = client.cookies.get(COOKIE);
    const answer = await signInAs(client, "two", BOB);
    assertStringIncludes(String(answer.headers.location), "error=OAuthAccountNotLinked");
    assertEquals([client.cookies.get(COOKIE), await reader(client)], [token, ADA.email]);
    assertEquals([await database.count("accounts"), await database.count("sessions")], [2, 2]);
  });

  test("200 users sign in at once, each as themselves", async ({ app, database }) => {
    const people = Array.from({ length: 200 }, (_, i) => ({ id: `id-${i}`, email: `user-${i}@example.com` }));
    const clients = await Promise.all(people.map((person) => signedIn(app, "one", person)));
    const readers = await Promise.all(clients.map(reader));
    assertEquals(readers, people.map(({ email }) => email));
    assertEquals(new Set(clients.map(({ cookies }) => cookies.get(COOKIE))).size, 200);
    for (const table of ["users", "accounts", "sessions"] as const) {
      assertEquals(await database.count(table), 200, table);
    }
  });

  // Sign-in links.

  test("a sign-in link creates a user with a verified address, and works once", async (setup) => {
    const { app, database } = setup;
    const client = new Client(app);
    const link = await requestLink(client, setup, "Ada@Example.com ");
    assertEquals(await database.count("tokens"), 1);
    await client.confirm(link);
    assertEquals(await reader(client), ADA.email);
    assertEquals(await database.count("tokens"), 0);
    assert((await database.adapter.getUserByEmail!(ADA.email))?.emailVerified instanceof Date);

    const second = new Client(app);
    const answer = await second.confirm(link);
    assertEquals(answer.headers.location, "http://localhost/auth/error?error=Verification");
    assertEquals(await reader(second), null);
  });

  test("a sign-in link that several browsers follow at once opens one session", async (setup) => {
    const { app, database } = setup;
    const link = await requestLink(new Client(app), setup, ADA.email);
    const browsers = Array.from({ length: 5 }, () => new Client(app));
    await Promise.all(browsers.map((browser) => browser.confirm(link)));
    const readers = (await Promise.all(browsers.map(reader))).filter((email) => email === ADA.email);
    assertEquals([readers.length, await database.count("sessions")], [1, 1]);
  });

  test("a sign-in link that expired is refused and used up", async (setup) => {
    const { app, database } = setup;
    const client = new Client(app);
    const link = await requestLink(client, setup, ADA.email, "brief");
    const answer = await later(2, () => client.confirm(link));
    assertEquals(answer.headers.location, "http://localhost/auth/error?error=Verification");
    assertEquals([await reader(client), await database.count("tokens")], [null, 0]);
  });

  test("a sign-in link for another address, without its token or its address, is refused", async (setup) => {
    const { app, log } = setup;
    const client = new Client(app);
    const link = new URL(await requestLink(client, setup, ADA.email), "http://localhost");
    const tampered = [
      (query: URLSearchParams) => query.set("email", BOB.email),
      (query: URLSearchParams) => query.set("email", "\0"),
      (query: URLSearchParams) => query.delete("email"),
      (query: URLSearchParams) => query.delete("token"),
      (query: URLSearchParams) => query.set("token", ""),
      (query: URLSearchParams) => query.set("token", "guessed"),
    ];
    for (const tamper of tampered) {
      const query = new URLSearchParams(link.search);
      tamper(query);
      const answer = await client.confirm(`${link.pathname}?${query}`);
      assertEquals(answer.statusCode, 302, String(query));
      assertStringIncludes(String(answer.headers.location), "error=Verification", String(query));
    }
    assertEquals(log.filter(({ level }) => level >= 50), []);
    await client.confirm(link.pathname + link.search);
    assertEquals(await reader(client), ADA.email);
  });

  test("an address whose key the store would take for another's does not open their account", async (setup) => {
    const { app } = setup;
    await signedIn(app, "one", ADA);
    for (const email of [`${ADA.email}?.evil.example`, `/${ADA.email}`, `${ADA.email}/`, `:${ADA.email}`]) {
      const mallory = new Client(app);
      const csrfToken = await mallory.csrfToken();
      await mallory.post("/auth/signin/mail", { csrfToken, email });
      const query = new URLSearchParams({ email, token: "guessed" });
      await mallory.confirm(`/auth/callback/mail?${query}`);
      assertNotEquals(await reader(mallory), ADA.email, email);
      const link = setup.links.pop();
      if (link) await mallory.confirm(new URL(link).pathname + new URL(link).search);
      assertNotEquals(await reader(mallory), ADA.email, email);
    }
  });
}
