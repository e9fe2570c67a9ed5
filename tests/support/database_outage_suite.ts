/**
 * How a request must end when the database fails (S8 and S9 of docs/security-cases.md).
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { type Answer, Client, setCookies } from "./client.ts";
import {
  ADA,
  assertNothingLeaks,
  BOB,
  COOKIE,
  DAY,
  reader,
  readerOf,
  requestLink,
  type Setup,
  withSetup,
} from "./database_setup.ts";
import type { DatabaseKind } from "./databases.ts";
import type { Fault } from "./faults.ts";
import { codeFor, signedIn, signInAs } from "./identity.ts";
import { later } from "./token_provider.ts";

/** A request that calls a method of the adapter. */
interface Case {
  readonly method: string;
  readonly when: string;
  /** Sends it; what has to be there before is made before the method fails. */
  readonly send: (client: Client, setup: Setup, fail: () => void) => Promise<Answer>;
}

/** Signs in with a provider. */
const byProvider: Case["send"] = async (client, _setup, fail) => {
  fail();
  return await signInAs(client, "one", ADA);
};

/** Signs in again with the provider, in the same browser. */
const byProviderAgain: Case["send"] = async (client, _setup, fail) => {
  await signInAs(client, "one", ADA);
  fail();
  return await signInAs(client, "one", ADA);
};

/** Asks for a sign-in link. */
const askForLink: Case["send"] = async (client, _setup, fail) => {
  const csrfToken = await client.csrfToken();
  fail();
  return await client.post("/auth/signin/mail", { csrfToken, email: ADA.email });
};

/** Follows a sign-in link. */
const byLink: Case["send"] = async (client, setup, fail) => {
  const link = await requestLink(client, setup, ADA.email);
  fail();
  return await client.confirm(link);
};

/** Follows a sign-in link to an account that is there. */
const byLinkAgain: Case["send"] = async (client, setup, fail) => {
  await signedIn(setup.app, "one", ADA);
  return await byLink(client, setup, fail);
};

/** Reads the session over HTTP. */
const readSession: Case["send"] = async (client, _setup, fail) => {
  await signInAs(client, "one", ADA);
  fail();
  return await client.get("/auth/session");
};

/** Reads a session that is due to be prolonged. */
const readDueSession: Case["send"] = async (client, { database }, fail) => {
  await signInAs(client, "one", ADA);
  const sessionToken = client.cookies.get(COOKIE)!;
  await database.adapter.updateSession!({ sessionToken, expires: new Date(Date.now() + 28 * DAY) });
  fail();
  return await client.get("/auth/session");
};

const CASES: readonly Case[] = [
  { method: "getUserByAccount", when: "a provider's callback", send: byProvider },
  { method: "getUserByEmail", when: "a provider's callback", send: byProvider },
  { method: "createUser", when: "a provider's callback", send: byProvider },
  { method: "linkAccount", when: "a provider's callback", send: byProvider },
  { method: "createSession", when: "a provider's callback", send: byProvider },
  { method: "getSessionAndUser", when: "a provider's second callback", send: byProviderAgain },
  { method: "createSession", when: "a provider's second callback", send: byProviderAgain },
  { method: "getUserByEmail", when: "asking for a sign-in link", send: askForLink },
  { method: "createVerificationToken", when: "asking for a sign-in link", send: askForLink },
  { method: "useVerificationToken", when: "following a sign-in link", send: byLink },
  { method: "getUserByEmail", when: "following a sign-in link", send: byLink },
  { method: "createUser", when: "following a sign-in link", send: byLink },
  { method: "createSession", when: "following a sign-in link", send: byLink },
  { method: "updateUser", when: "following a second sign-in link", send: byLinkAgain },
  { method: "getSessionAndUser", when: "reading the session", send: readSession },
  { method: "updateSession", when: "reading a session that is due", send: readDueSession },
];

/** What is called to leave nothing half done. */
const TAKES_BACK = new Set(["createVerificationToken", "deleteUser", "getUser", "getUserByAccount"]);

/** Sends the request of a case and looks at everything that follows. */
async function check({ method, when, send }: Case, fault: Fault, setup: Setup): Promise<void> {
  const { faults, log, calls, links, app } = setup;
  const client = new Client(app);
  const answer = await send(client, setup, () => {
    faults.set(method, fault);
    calls.length = 0;
  });
  const why = `${method}() ${fault} on ${when}`;
  assertEquals(answer.statusCode, 503, why);
  assertEquals(answer.json().code, "FST_AUTHJS_UNAVAILABLE", why);
  assertEquals(answer.headers["cache-control"], "private, no-cache, no-store");
  const after = calls.slice(calls.indexOf(method) + 1).filter((call) => !TAKES_BACK.has(call));
  assertEquals(after, [], `${why}: nothing else is done`);
  assert(log.some(({ level, msg }) => level === 50 && msg.startsWith("Auth.js: ")), `${why}: it is logged`);

  const tokens = links.map((url) => new URL(url).searchParams.get("token")!);
  // The id of a provider is no secret.
  const sent = [...client.cookies].flatMap(([name, value]) => name.endsWith("last-used") ? [] : [value]);
  const secrets = [codeFor(ADA), ADA.email, ...sent, ...tokens];
  assertNothingLeaks(JSON.stringify(log) + answer.body, ...secrets);
  assertNothingLeaks(answer.body, method, "Failed query");

  faults.clear();
  const hadSession = when.startsWith("reading") || when.includes("second callback");
  assertEquals(await reader(client), hadSession ? ADA.email : null, `${why}: nothing changed`);
}

/** Long enough for sixteen users of a database that works, on a machine that is busy. */
const TIMEOUT = 3000;

/** Declares the tests for one kind of database. */
export function testOutage(kind: DatabaseKind): void {
  const setUp = (run: (setup: Setup) => Promise<void>) => withSetup(kind, run, { adapterTimeout: TIMEOUT });
  const test = (name: string, run: (setup: Setup) => Promise<void>) =>
    Deno.test(`${kind.name}: ${name}`, () => setUp(run));

  for (const each of CASES) {
    test(`S9: 503 where ${each.method}() throws on ${each.when}`, (setup) => check(each, "throws", setup));
  }

  Deno.test(`${kind.name}: S9: 503 where any method hangs, once adapterTimeout is over`, async () => {
    // At the same time: each waits for its deadline.
    await Promise.all(CASES.map((each) => setUp((setup) => check(each, "hangs", setup))));
  });

  for (const fault of ["throws", "hangs"] as const) {
    test(`S9: getSession() is null where getSessionAndUser() ${fault}, and the cookie stays`, async (setup) => {
      const { app, faults, log } = setup;
      const client = await signedIn(app, "one", ADA);
      faults.set("getSessionAndUser", fault);
      assertEquals(await reader(client), null);
      assert(log.some(({ level }) => level === 50));
      assertNothingLeaks(JSON.stringify(log), client.cookies.get(COOKIE));
      faults.clear();
      assertEquals(await reader(client), ADA.email);
    });

    test(`an expired session is still refused where deleteSession() ${fault}`, async (setup) => {
      const { app, faults, database, log } = setup;
      const client = await signedIn(app, "one", ADA);
      const sessionToken = client.cookies.get(COOKIE)!;
      await database.adapter.updateSession!({ sessionToken, expires: new Date(Date.now() - 1000) });
      faults.set("deleteSession", fault);
      const answer = await client.get("/auth/session");
      assertEquals([answer.statusCode, answer.body], [200, "null"]);
      assert(log.some(({ level }) => level === 50));
    });

    test(`S8: signing out clears the cookie and says so where deleteSession() ${fault}`, async (setup) => {
      const { app, faults, log } = setup;
      const client = await signedIn(app, "one", ADA);
      const token = client.cookies.get(COOKIE)!;
      faults.set("deleteSession", fault);
      const answer = await client.signOut();
      assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
      assert(setCookies(answer).some((line) => line.startsWith(`${COOKIE}=;`) && line.includes("Max-Age=0")));
      assertEquals(client.cookies.has(COOKIE), false);
      assert(log.some(({ level, msg }) => level === 50 && msg.includes("SignOutError")));
      assertNothingLeaks(JSON.stringify(log) + answer.body, token);
    });

    test(`the old row that stays because deleteSession() ${fault} is logged, and the sign-in stands`, async (setup) => {
      const { app, faults, log } = setup;
      const client = await signedIn(app, "one", ADA);
      const old = client.cookies.get(COOKIE)!;
      faults.set("deleteSession", fault);
      const answer = await signInAs(client, "one", ADA);
      assertEquals([answer.statusCode, await reader(client)], [302, ADA.email]);
      assertNotEquals(client.cookies.get(COOKIE), old);
      assertEquals(log.filter(({ level }) => level >= 50).length, 1);
      assertNothingLeaks(JSON.stringify(log), old, client.cookies.get(COOKIE));
    });
  }

  // Sign-ins that are broken off.

  for (const fault of ["throws", "hangs", "throws afterwards"] as const) {
    test(`a user whose linkAccount() ${fault} signs in the next time`, async (setup) => {
      const { app, database, faults } = setup;
      faults.set("linkAccount", fault);
      assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
      assertEquals(await database.count("users"), fault === "throws afterwards" ? 1 : 0);
      faults.clear();
      assertEquals(await reader(await signedIn(app, "one", ADA)), ADA.email);
      assertEquals([await database.count("users"), await database.count("accounts")], [1, 1]);
    });
  }

  test("a user who was there before stays where linkAccount() throws", async ({ app, database, faults }) => {
    const client = await signedIn(app, "one", ADA);
    faults.set("linkAccount", "throws");
    assertEquals((await signInAs(client, "two", { id: "2", email: "ada@work.example" })).statusCode, 503);
    assertEquals((await signInAs(new Client(app), "trusted", { ...ADA, id: "3" })).statusCode, 503);
    faults.clear();
    assertEquals([await reader(client), await database.count("users")], [ADA.email, 1]);
  });

  test("a user that could not be deleted either is deleted by its next sign-in", async (setup) => {
    const { app, database, faults, log } = setup;
    for (const method of ["linkAccount", "deleteUser", "updateUser"]) faults.set(method, "throws");
    assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
    assertEquals(await database.count("users"), 1);
    assert(log.some(({ level, msg }) => level === 50 && msg.includes("has no sign-in method")));
    assertNothingLeaks(JSON.stringify(log), ADA.email);
    faults.clear();
    assertEquals(await reader(await signedIn(app, "one", ADA)), ADA.email);
    assertEquals([await database.count("users"), await database.count("accounts")], [1, 1]);
  });

  test("a user that was left does not go to another account, and stays once its address is verified", async (setup) => {
    const { app, database, faults } = setup;
    for (const method of ["linkAccount", "deleteUser", "updateUser"]) faults.set(method, "throws");
    await signInAs(new Client(app), "one", { ...ADA, id: "mallory" });
    faults.clear();
    // As another process does, which does not know that the user was left.
    const { id } = (await database.adapter.getUserByEmail!(ADA.email))!;
    await database.adapter.updateUser!({ id, emailVerified: new Date() });
    const answer = await signInAs(new Client(app), "one", { ...ADA, id: "mallory" });
    assertStringIncludes(String(answer.headers.location), "error=OAuthAccountNotLinked");
    assertEquals((await database.adapter.getUserByEmail!(ADA.email))?.id, id);
  });

  test("a user that createUser() makes after it was given up is deleted", async (setup) => {
    const { app, database, faults } = setup;
    faults.set("createUser", "is late");
    assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
    await setup.release();
    await eventually(async () => await database.count("users") === 0);
    faults.clear();
    assertEquals(await reader(await signedIn(app, "one", ADA)), ADA.email);
  });

  test("a session that createSession() makes after it was given up is deleted", async (setup) => {
    const { app, database, faults } = setup;
    await signedIn(app, "one", ADA);
    faults.set("createSession", "is late");
    assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
    await setup.release();
    await eventually(async () => await database.count("sessions") === 1);
  });

  for (const method of ["getUserByEmail", "createUser", "createSession"] as const) {
    test(`a sign-in link works again where ${method}() failed after it was used up`, async (setup) => {
      const { app, database, faults } = setup;
      const client = new Client(app);
      const link = await requestLink(client, setup, ADA.email);
      faults.set(method, "throws");
      assertEquals((await client.confirm(link)).statusCode, 503);
      faults.clear();
      assertEquals(await database.count("tokens"), 1);
      await client.confirm(link);
      assertEquals([await reader(client), await database.count("tokens")], [ADA.email, 0]);
      const answer = await new Client(app).confirm(link);
      assertStringIncludes(String(answer.headers.location), "error=Verification");
    });
  }

  test("a sign-in link that is used up only after useVerificationToken() was given up works again", async (setup) => {
    const { app, database, faults } = setup;
    const client = new Client(app);
    const link = await requestLink(client, setup, ADA.email);
    faults.set("useVerificationToken", "is late");
    assertEquals((await client.confirm(link)).statusCode, 503);
    faults.clear();
    await setup.release();
    await eventually(async () => await database.count("tokens") === 1);
    await client.confirm(link);
    assertEquals(await reader(client), ADA.email);
  });

  test("a sign-in link that was refused stays used up", async (setup) => {
    const { database } = setup;
    const client = new Client(setup.app);
    const link = await requestLink(client, setup, ADA.email, "brief");
    await later(2, () => client.confirm(link));
    assertEquals(await database.count("tokens"), 0);
  });

  test("a database that refuses is told from one that does not answer", async (setup) => {
    const { app, database, faults, log } = setup;
    const client = await signedIn(app, "one", ADA);
    const said = async () => (await client.get("/auth/session")).json().message;
    faults.set("getSessionAndUser", "hangs");
    assertEquals(await said(), "The database did not answer. Try again in a moment.");
    faults.clear();
    if (!database.drop) return;
    await database.drop("sessions");
    const answer = await client.get("/auth/session");
    assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
    assertStringIncludes(
      answer.json().message,
      "The database refused the request. Trying again will not help",
    );
    assertStringIncludes(JSON.stringify(log), "The database refused the adapter's getSessionAndUser()");
    const callback = await signInAs(new Client(app), "one", ADA);
    assertStringIncludes(callback.json().message, "Trying again will not help");
  });

  test("a sign-in while the user cannot be read creates no second user", async (setup) => {
    const { app, faults, database } = setup;
    const client = await signedIn(app, "one", ADA);
    faults.set("getSessionAndUser", "throws");
    await signInAs(client, "two", BOB);
    assertEquals(await database.count("users"), 1);
    faults.clear();
    assertEquals(await readerOf(app, client.cookies.get(COOKIE)!), ADA.email);
    assertStringIncludes(client.cookie ?? "", COOKIE);
  });

  Deno.test(`${kind.name}: nor with tokens, where core takes a failing getUser() for no user`, () =>
    withSetup(kind, async ({ app, faults, database, log }) => {
      const client = await signedIn(app, "one", ADA);
      faults.set("getUser", "throws");
      const answer = await signInAs(client, "two", BOB);
      assertEquals(answer.statusCode, 503);
      assert(log.some(({ level }) => level === 50));
      faults.clear();
      assertEquals([await reader(client), await database.count("users")], [ADA.email, 1]);
    }, { session: { strategy: "jwt" } }));
}

/** Waits until something holds that follows what the test did, whenever that is. */
async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; !await holds(); attempt++) {
    assert(attempt < 200, "it never came to that");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
