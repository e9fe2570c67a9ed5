/** A session that ended stays so, whatever requests of its browser were under way: in one process and in several. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { encode, type JWT } from "@auth/core/jwt";
import type { FastifyInstance } from "fastify";
import { type FastifyAuthConfig, getSession } from "fastify-authjs";
import type { Store } from "fastify-authjs/redis";
import { SECRET, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { identityProvider, signedIn as signedInByProvider, signInAs } from "../../support/identity.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { testStore } from "../../support/test_store.ts";

const NAME = "authjs.session-token";
const ADA = { username: "ada", password: "open" };
const GRACE = { username: "grace", password: "open" };

const sessionCookies = (answer: Answer) => setCookies(answer).filter((line) => line.startsWith(NAME));
const userOf = (answer: Answer) => answer.json().session?.user?.name ?? null;

/** Holds up a call until a test opens the gate, and tells when the call has reached it. */
class Gate {
  #open = () => {};
  #reached = () => {};
  readonly #opened = new Promise<void>((resolve) => this.#open = resolve);
  readonly reached = new Promise<void>((resolve) => this.#reached = resolve);

  async wait(): Promise<void> {
    this.#reached();
    await this.#opened;
  }

  open(): void {
    this.#open();
  }
}

/** A gate for the next request; requests pass while there is none. */
class Gates {
  #next: Gate | undefined;

  next(): Gate {
    return this.#next = new Gate();
  }

  /** Holds the request up until the work is done. */
  async during(request: () => Promise<Answer>, work: () => Promise<unknown>): Promise<Answer> {
    const gate = this.next();
    const answer = request();
    await gate.reached;
    await work();
    gate.open();
    return await answer;
  }

  async pass(): Promise<void> {
    const gate = this.#next;
    this.#next = undefined;
    await gate?.wait();
  }
}

/** Changes the token with each read, and can be held up while it does. */
function changing(gates: Gates): Partial<FastifyAuthConfig> & { reads: () => number } {
  let reads = 0;
  return {
    reads: () => reads,
    callbacks: {
      async jwt({ token, account }) {
        if (account) return token;
        const count = ++reads;
        await gates.pass();
        return { ...token, count };
      },
    },
  };
}

/** A browser with the same cookies: as another tab has them, or a request that left before the cookies changed. */
function copyOf(app: FastifyInstance, { cookies }: Client): Client {
  const copy = new Client(app);
  for (const [name, value] of cookies) copy.cookies.set(name, value);
  return copy;
}

async function signedIn(app: FastifyInstance, fields = ADA): Promise<Client> {
  const client = new Client(app);
  await client.signIn(fields);
  return client;
}

/** That a request which was under way brought nothing back, and that later ones with its cookies do not either. */
async function assertOver(app: FastifyInstance, answer: Answer, before: Client): Promise<void> {
  assertEquals([userOf(answer), sessionCookies(answer)], [null, []]);
  await assertRefused(app, before);
}

/** Asserts that the cookies are of no session, and that the reply sets none. */
async function assertRefused(app: FastifyInstance, client: Client): Promise<void> {
  const answer = await copyOf(app, client).get("/me");
  assertEquals([userOf(answer), sessionCookies(answer)], [null, []]);
}

/** No request that the browser sent before takes so long, and no replaced token leads to its successor. */
function aMinuteLater() {
  const later = performance.now() + 60_000;
  return stub(performance, "now", () => later);
}

Deno.test("a read that is in the jwt callback when its browser signs out brings nothing back", async () => {
  const gates = new Gates();
  const { reads, ...config } = changing(gates);
  await using app = await testApp(testConfig(config));
  const browser = await signedIn(app);
  const tab = copyOf(app, browser);
  const reading = await gates.during(() => tab.get("/me"), () => browser.signOut());
  await assertOver(app, reading, tab);
  assertEquals(reads(), 1, "with a token of an ended session no callback is called");
});

Deno.test("nor one that is in the session callback, or in the event", async () => {
  for (const where of ["callbacks", "events"] as const) {
    const gates = new Gates();
    await using app = await testApp(testConfig({
      session: { updateAge: 0 },
      ...(where === "events" ? { events: { session: () => gates.pass() } } : {
        callbacks: {
          async session({ session }) {
            await gates.pass();
            return session;
          },
        },
      }),
    }));
    const browser = await signedIn(app);
    const tab = copyOf(app, browser);
    const reading = await gates.during(() => tab.get("/me"), () => browser.signOut());
    await assertOver(app, reading, tab);
  }
});

Deno.test("nor one whose route took longer than the read: it writes nothing back", async () => {
  // Renewed by its age alone, and by a callback.
  for (const overrides of [{ session: { updateAge: 0 } }, changing(new Gates())]) {
    const gates = new Gates();
    const config = testConfig(overrides);
    await using app = await testApp(config);
    app.get("/slow", async (request) => {
      const session = await getSession(request, config);
      await gates.pass();
      return { session };
    });
    const browser = await signedIn(app);
    const tab = copyOf(app, browser);
    const reading = await gates.during(() => tab.get("/slow"), () => browser.signOut());
    assertEquals(sessionCookies(reading), []);
    await assertRefused(app, tab);
  }
});

Deno.test("a renewed cookie that reaches the browser after the sign-out's reply is refused, and removed later", async () => {
  await using app = await testApp(testConfig(changing(new Gates())));
  const browser = await signedIn(app);
  const late = copyOf(app, browser);
  await late.get("/me");
  assertNotEquals(late.cookies.get(NAME), browser.cookies.get(NAME));
  await browser.signOut();
  await assertRefused(app, late);

  using _ = aMinuteLater();
  const answer = await late.get("/me");
  assertEquals(userOf(answer), null);
  assertEquals(late.cookies.has(NAME), false, "no request sent before the sign-out takes a minute");
});

Deno.test("a read with a token that was replaced is of the session that signs out with its successor", async () => {
  const gates = new Gates();
  await using app = await testApp(testConfig(changing(gates)));
  const browser = await signedIn(app);
  const tab = copyOf(app, browser);
  await browser.get("/me");
  using _ = aMinuteLater();
  const reading = await gates.during(() => tab.get("/me"), () => browser.signOut());
  await assertOver(app, reading, tab);
});

Deno.test("a session that the jwt callback ended is not brought back by a read that was under way", async () => {
  const gates = new Gates();
  let ends = false;
  await using app = await testApp(testConfig({
    callbacks: {
      async jwt({ token, account }) {
        if (account) return token;
        if (ends) return null;
        await gates.pass();
        return { ...token, seen: true };
      },
    },
  }));
  const browser = await signedIn(app);
  const tab = copyOf(app, browser);
  await browser.get("/me");
  using _ = aMinuteLater();
  const gate = gates.next();
  const reading = tab.get("/me");
  await gate.reached;
  ends = true;
  assertEquals(sessionCookies(await browser.get("/me")).length, 1);
  assertEquals(browser.cookies.has(NAME), false);
  ends = false;
  gate.open();
  await assertOver(app, await reading, tab);
});

Deno.test("after a sign-in as another user no read of the session before sets the session cookie", async () => {
  const gates = new Gates();
  let ends = false;
  await using app = await testApp(testConfig({
    callbacks: {
      async jwt({ token, account }) {
        if (account) return token;
        await gates.pass();
        return ends ? null : { ...token, seen: true };
      },
    },
  }));
  // A read that would put the old session back, and one that would remove whatever session there is.
  for (ends of [false, true]) {
    const browser = await signedIn(app);
    const tab = copyOf(app, browser);
    const reading = await gates.during(() => tab.get("/me"), () => browser.signIn(GRACE));
    await assertOver(app, reading, tab);
    ends = false;
    assertEquals(userOf(await browser.get("/me")), "grace");
  }
});

Deno.test("a read that finds no session leaves the cookie of a sign-in alone that was faster than its reply", async () => {
  const expired = await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME, maxAge: -60 });
  for (const token of [expired, "no-token"]) {
    const gates = new Gates();
    const config = testConfig();
    await using app = await testApp(config);
    app.get("/slow", async (request) => {
      const session = await getSession(request, config);
      await gates.pass();
      return { session };
    });
    const browser = new Client(app);
    browser.cookies.set(NAME, token);
    const tab = copyOf(app, browser);
    assertEquals(sessionCookies(await copyOf(app, browser).get("/slow")).length, 1, "it is removed");
    const reading = await gates.during(() => tab.get("/slow"), () => browser.signIn(GRACE));
    assertEquals(sessionCookies(reading), []);
  }
});

Deno.test("so does one whose jwt callback fails while its browser signs in", async () => {
  const gates = new Gates();
  let fails = true;
  await using app = await testApp(testConfig({
    callbacks: {
      async jwt({ token, account }) {
        if (account) return token;
        await gates.pass();
        if (fails) throw new Error("down");
        return token;
      },
    },
  }));
  const browser = await signedIn(app);
  const tab = copyOf(app, browser);
  assertEquals(sessionCookies(await copyOf(app, browser).get("/me")), [], "it stays");
  const reading = await gates.during(() => tab.get("/me"), () => browser.signIn(GRACE));
  assertEquals(sessionCookies(reading), []);
  fails = false;
  assertEquals(userOf(await browser.get("/me")), "grace");
});

Deno.test("an update of the session that is under way when its browser signs out answers null", async () => {
  for (const where of ["jwt", "session"] as const) {
    const gates = new Gates();
    const callbacks: FastifyAuthConfig["callbacks"] = {
      async [where]({ token, session }: { token: JWT; session: unknown }) {
        await gates.pass();
        return where === "jwt" ? token : session;
      },
    };
    await using app = await testApp(testConfig({ callbacks }));
    const browser = await signedIn(app);
    const tab = copyOf(app, browser);
    const csrfToken = await tab.csrfToken();
    const answer = await gates.during(
      () => tab.request("POST", "/auth/session", { json: { csrfToken, data: {} } }),
      () => browser.signOut(),
    );
    assertEquals([answer.statusCode, answer.json(), sessionCookies(answer)], [200, null, []]);
    // And one that comes afterwards.
    const later = await tab.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
    assertEquals([later.statusCode, later.json(), sessionCookies(later)], [200, null, []]);
  }
});

Deno.test("a read over http brings nothing back that signed out over https, where both have one cookie", async () => {
  for (const cookies of [{ useSecureCookies: false }, { cookies: { sessionToken: { name: NAME } } }]) {
    const gates = new Gates();
    await using app = await testApp(testConfig({ ...changing(gates), ...cookies }), { trustProxy: true });
    const browser = await signedIn(app);
    const tab = copyOf(app, browser);
    const gate = gates.next();
    const reading = tab.get("/me");
    await gate.reached;
    const overHttps = new Client(app, { "x-forwarded-proto": "https" });
    for (const [name, value] of browser.cookies) overHttps.cookies.set(name, value);
    assertEquals((await overHttps.signOut()).statusCode, 302);
    gate.open();
    await assertOver(app, await reading, tab);
  }
});

Deno.test("an update that makes the token take more cookies, or fewer, ends nothing", async () => {
  await using app = await testApp(testConfig({
    callbacks: {
      jwt: ({ token, trigger, session }) =>
        trigger === "update" ? { ...token, notes: "x".repeat(session.notes) } : token,
    },
  }));
  const browser = await signedIn(app);
  for (const notes of [3000, 10, 4000, 1]) {
    const csrfToken = await browser.csrfToken();
    const answer = await browser.request("POST", "/auth/session", { json: { csrfToken, data: { notes } } });
    assertEquals(answer.json().user.name, "ada");
    const parts = [...browser.cookies.keys()].filter((name) => name.startsWith(NAME));
    assertEquals(parts.length > 1, notes > 1000, parts.join());
    assertEquals(userOf(await browser.get("/me")), "ada");
  }
});

Deno.test("a sign-out that is refused ends nothing", async () => {
  await using app = await testApp(testConfig(changing(new Gates())));
  const browser = await signedIn(app);
  await browser.post("/auth/signout", { csrfToken: "wrong" });
  await browser.get("/auth/signout");
  assertEquals(userOf(await browser.get("/me")), "ada");
});

Deno.test("a sign-in with a made-up cookie that ends as another session's token ends nothing of that session", async () => {
  await using app = await testApp();
  const [ada, grace, mallory] = [await signedIn(app), await signedIn(app, GRACE), new Client(app)];
  assertEquals(userOf(await ada.get("/me")), "ada");
  const [token, other] = [ada.cookies.get(NAME)!, grace.cookies.get(NAME)!];
  mallory.cookies.set(NAME, [...other.split(".").slice(0, 4), token.split(".")[4]].join("."));
  await mallory.signIn({ username: "mallory", password: "open" });
  const users = [];
  for (const browser of [ada, grace, mallory]) users.push(userOf(await browser.get("/me")));
  assertEquals(users, ["ada", "grace", "mallory"]);
});

Deno.test("a codec that gives a user the same token each time signs in again after a sign-out", async () => {
  await using app = await testApp(testConfig({
    jwt: {
      encode: ({ token }) => JSON.stringify({ name: token?.name }),
      decode: ({ token }) => JSON.parse(token!),
    },
  }));
  const browser = await signedIn(app);
  await browser.signOut();
  await browser.signIn(ADA);
  assertEquals(userOf(await browser.get("/me")), "ada");
});

Deno.test("a sign-in that began before a sign-out is not linked to the user of the session that ended", async () => {
  const tables = emptyTables();
  await using app = await testApp(testConfig({
    providers: [identityProvider("one"), identityProvider("two")],
    adapter: memoryAdapter(tables),
    session: { strategy: "jwt" },
  }));
  const browser = await signedInByProvider(app, "one", PERSON);
  const tab = copyOf(app, browser);
  await browser.signOut();
  await signInAs(tab, "two", { id: "grace-1", name: "grace" });
  assertEquals(userOf(await tab.get("/me")), "grace");
  assertEquals(new Set(tables.accounts.map(({ userId }) => userId)).size, 2);
});

/** An application that keeps sessions in a database, of which one method can be held up before or after its work. */
async function databaseApp(
  held: "updateSession" | "getSessionAndUser",
  { tables = emptyTables(), ...overrides }: Partial<FastifyAuthConfig> & { tables?: MemoryTables } = {},
) {
  const gates = new Gates();
  const adapter = memoryAdapter(tables);
  const { updateSession, getSessionAndUser } = adapter;
  if (held === "updateSession") {
    adapter.updateSession = async (session) => {
      await gates.pass();
      return await updateSession(session);
    };
  } else {
    adapter.getSessionAndUser = async (token) => {
      const found = await getSessionAndUser(token);
      await gates.pass();
      return found;
    };
  }
  const providers = [identityProvider("one")];
  const app = await testApp(testConfig({ providers, adapter, session: { updateAge: 0 }, ...overrides }));
  return { app, tables, gates };
}

const emptyTables = (): MemoryTables => ({ users: new Map(), accounts: [], sessions: new Map(), tokens: [] });
const PERSON = { id: "ada-1", name: "ada" };

Deno.test("database: a read that is prolonging the session when its browser signs out does not bring the row back", async () => {
  const { app, tables, gates } = await databaseApp("updateSession");
  await using _app = app;
  const browser = await signedInByProvider(app, "one", PERSON);
  assertEquals(tables.sessions.size, 1);
  const tab = copyOf(app, browser);
  const reading = await gates.during(() => tab.get("/me"), () => browser.signOut());
  await assertOver(app, reading, tab);
  assertEquals(tables.sessions.size, 0);
});

Deno.test("database: nor does one that is about to prolong it, nor an update of the session", async () => {
  const { app, tables, gates } = await databaseApp("getSessionAndUser");
  await using _app = app;
  for (const method of ["GET", "POST"]) {
    const browser = await signedInByProvider(app, "one", PERSON);
    const tab = copyOf(app, browser);
    const csrfToken = await tab.csrfToken();
    const answer = await gates.during(
      () => tab.request(method, "/auth/session", method === "POST" ? { json: { csrfToken } } : {}),
      () => browser.signOut(),
    );
    assertEquals([answer.json(), sessionCookies(answer)], [null, []]);
    await assertRefused(app, tab);
    assertEquals(tables.sessions.size, 0);
  }
});

Deno.test("database: the next sign-in ends the session before, with whatever is under way of it", async () => {
  const { app, tables, gates } = await databaseApp("updateSession");
  await using _app = app;
  const browser = await signedInByProvider(app, "one", PERSON);
  const tab = copyOf(app, browser);
  const reading = await gates.during(() => tab.get("/me"), () => signInAs(browser, "one", PERSON));
  await assertOver(app, reading, tab);
  assertEquals(tables.sessions.size, 1);
  assertEquals(userOf(await browser.get("/me")), "ada");
});

Deno.test("database: a read that finds no row leaves the cookie of the sign-in alone that deleted it", async () => {
  const gates = new Gates();
  const adapter = memoryAdapter();
  const { getSessionAndUser } = adapter;
  adapter.getSessionAndUser = async (token) => {
    await gates.pass();
    return await getSessionAndUser(token);
  };
  await using app = await testApp(testConfig({ providers: [identityProvider("one")], adapter }));
  const browser = await signedInByProvider(app, "one", PERSON);
  const tab = copyOf(app, browser);
  const answer = await gates.during(() => tab.get("/me"), () => signInAs(browser, "one", PERSON));
  assertEquals([userOf(answer), sessionCookies(answer)], [null, []]);
  assertEquals(userOf(await browser.get("/me")), "ada");
});

Deno.test("tokens of an earlier build that have one record are of one session, and end together", async () => {
  await using app = await testApp(testConfig());
  const [one, other] = await Promise.all([1, 2].map(async () => {
    const token = { sub: "1", name: "ada", sessionRecord: { id: "record", user: "1" } };
    const client = new Client(app);
    client.cookies.set(NAME, await encode({ token, secret: SECRET, salt: NAME }));
    return client;
  }));
  assertEquals([userOf(await one!.get("/me")), userOf(await other!.get("/me"))], ["ada", "ada"]);
  await one!.signOut();
  await assertRefused(app, other!);
});

/** Processes, as applications that share nothing but a lock. */
async function processes(count: number, overrides: Partial<FastifyAuthConfig>, store: Store) {
  const all: { app: FastifyInstance; gates: Gates; reads: () => number }[] = [];
  for (let i = 0; i < count; i++) {
    const gates = new Gates();
    const { reads, ...config } = changing(gates);
    const app = await testApp(testConfig({ ...config, ...overrides, store }));
    all.push({ app, gates, reads });
  }
  return {
    all,
    [Symbol.asyncDispose]: async () => void await Promise.all(all.map(({ app }) => app.close())),
  };
}

/** A browser of one process, as it appears at another. */
const at = ({ app }: { app: FastifyInstance }, client: Client) => copyOf(app, client);

Deno.test("several processes: a sign-out at one ends what is under way at another, by the lock's store", async () => {
  for (const overrides of [{}, { refreshDue: () => false }]) {
    const lock = testStore();
    await using fleet = await processes(3, overrides, lock);
    const { all: [one, two, three] } = fleet;
    const browser = await signedIn(one!.app);
    const gate = two!.gates.next();
    const reading = at(two!, browser).get("/me");
    await gate.reached;
    const tab = copyOf(one!.app, browser);
    await browser.signOut();
    const before = lock.values.size;
    gate.open();
    const answer = await reading;
    assertEquals(sessionCookies(answer), []);
    assert(lock.values.size <= before + 1, "no successor is left in the store");
    await assertRefused(two!.app, tab);
    if (!("refreshDue" in overrides)) {
      await assertRefused(three!.app, tab);
      assertEquals(three!.reads(), 0);
    }
  }
});

Deno.test("several processes: a sign-out with the successor ends what is under way with the token before", async () => {
  await using fleet = await processes(3, { refreshDue: () => false }, testStore());
  const { all: [one, two, three] } = fleet;
  const browser = await signedIn(one!.app);
  const gate = two!.gates.next();
  const reading = at(two!, browser).get("/me");
  await gate.reached;
  await browser.get("/me");
  const elsewhere = at(three!, browser);
  await elsewhere.signOut();
  gate.open();
  assertEquals(sessionCookies(await reading), []);
});

Deno.test("several processes: a read that waits for the lock when its browser signs out brings nothing back", async () => {
  await using fleet = await processes(2, {}, testStore());
  const { all: [one, two] } = fleet;
  const browser = await signedIn(one!.app);
  const tab = at(two!, browser);
  const gate = one!.gates.next();
  const refreshing = copyOf(one!.app, browser).get("/me");
  await gate.reached;
  const waiting = copyOf(two!.app, tab).get("/me");
  await tab.signOut();
  gate.open();
  for (const answer of [await refreshing, await waiting]) assertEquals(sessionCookies(answer), []);
  assertEquals(userOf(await waiting), null);
});

Deno.test("several processes: a sign-in is answered once they can know that the session before has ended", async () => {
  const store = testStore();
  const { set } = store;
  store.set = async (...args) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await set(...args);
  };
  await using fleet = await processes(2, {}, store);
  const { all: [one, two] } = fleet;
  const browser = await signedIn(one!.app);
  const tab = at(two!, browser);
  await browser.signIn(GRACE);
  assertEquals(store.values.size, 1);
  await assertRefused(two!.app, tab);
});

Deno.test("several processes: for a cookie that is no session the lock's store is not asked, and nothing is left in it", async () => {
  const store = testStore();
  await using app = await testApp(testConfig({ store }));
  const browser = new Client(app);
  browser.cookies.set(NAME, "x".repeat(500));
  const csrfToken = await browser.csrfToken();
  await browser.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
  for (const path of ["/auth/callback/credentials", "/auth/signout"]) {
    browser.cookies.set(NAME, "x".repeat(500));
    await browser.post(path, { csrfToken, username: "ada", password: "wrong" });
  }
  assertEquals(store.calls, []);
});

Deno.test("several processes: a database session that was signed out elsewhere is not prolonged", async () => {
  const store = testStore();
  const { app, tables } = await databaseApp("updateSession", { store });
  await using _app = app;
  const other = await databaseApp("getSessionAndUser", { store, tables });
  await using _other = other.app;
  const browser = await signedInByProvider(app, "one", PERSON);
  const gate = other.gates.next();
  const reading = copyOf(other.app, browser).get("/me");
  await gate.reached;
  await browser.signOut();
  gate.open();
  assertEquals(sessionCookies(await reading), []);
  assertEquals(tables.sessions.size, 0);
});

Deno.test("sessions whose tokens all end alike, by the application's codec, are refreshed and ended apart", async () => {
  let made = 0;
  const refreshed: unknown[] = [];
  const config: FastifyAuthConfig = testConfig({
    jwt: {
      encode: ({ token }) => `${btoa(JSON.stringify({ ...token, made: made++ }))}.the-end-of-every-token`,
      decode: ({ token }) => JSON.parse(atob(token!.split(".")[0]!)),
    },
    callbacks: {
      async jwt({ token, account }) {
        if (account || token.fresh) return token;
        refreshed.push(token.name);
        return await Promise.resolve({ ...token, fresh: true });
      },
    },
  });
  await using app = await testApp(config);
  const nameOf = async (client: Client) => (await client.get("/me")).json().session?.user.name;
  const users = await Promise.all(["ada", "bob"].map(async (username) => {
    const client = new Client(app), tab = new Client(app);
    await client.signIn({ username, password: "open" });
    tab.cookies.set(NAME, client.cookies.get(NAME)!);
    return { username, client, tab };
  }));
  for (const { username, client, tab } of users) {
    assertEquals(await nameOf(client), username);
    assertNotEquals(client.cookies.get(NAME), tab.cookies.get(NAME));
  }
  for (const { username, tab } of users) assertEquals(await nameOf(tab), username);
  assertEquals(refreshed, ["ada", "bob"], "a replaced token leads to its successor");
  const [ada, bob] = users;
  await ada!.client.signOut();
  assertEquals([await nameOf(ada!.tab), await nameOf(bob!.tab), await nameOf(bob!.client)], [
    undefined,
    "bob",
    "bob",
  ]);
});
