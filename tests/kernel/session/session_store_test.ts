/** Sessions in a JWT that are listed and ended through a `store`. */
import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { decode, encode, type JWT, type JWTDecodeParams } from "@auth/core/jwt";
import type { FastifyInstance } from "fastify";
import {
  type AuthObject,
  createAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  memoryStore,
  requireSession,
  type Store,
} from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import { redisStore } from "fastify-authjs/redis";
import { Redis } from "ioredis";
import { Buffer } from "node:buffer";
import { createClient, createCluster, createSentinel, RESP_TYPES } from "redis";
import { captureLog, passwordProvider, SECRET, testApp, testConfig } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { deferred } from "../../support/deferred.ts";
import { serverUrl } from "../../support/databases.ts";
import { identityProvider, signInAs } from "../../support/identity.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { sessionsApp } from "../../support/sessions_app.ts";

const COOKIE = "authjs.session-token";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ADA = "id-ada";

interface Shown {
  id: string;
  current: boolean;
  expires: string;
  createdAt: string;
  lastSeenAt: string;
  userAgent?: string;
}

interface Setup {
  readonly auth: AuthObject;
  readonly app: FastifyInstance;
  readonly store: CountingStore;
}

interface CountingStore extends Store {
  /** The calls, each as its method. */
  readonly calls: string[];
  /** The methods that fail. */
  readonly faults: Set<string>;
}

function counting(store: Store): CountingStore {
  const calls: string[] = [];
  const faults = new Set<string>();
  const methods = Object.entries(store).map(([name, method]) => [name, async (...args: unknown[]) => {
    calls.push(name);
    if (faults.has(name)) throw new Error("redis://user:password@redis is down");
    return await (method as (...args: unknown[]) => unknown)(...args);
  }]);
  return { ...Object.fromEntries(methods), calls, faults };
}

async function withSetup(
  run: (setup: Setup) => Promise<void>,
  overrides: Partial<FastifyAuthConfig> = {},
  inner: Store = memoryStore(),
): Promise<void> {
  const store = counting(inner);
  const auth = createAuth(testConfig({ store, revocable: true, ...overrides }));
  await using app = await sessionsApp(auth);
  app.get("/private", { onRequest: requireSession(auth.config) }, () => "private");
  await run({ auth, app, store });
}

async function signedIn(app: FastifyInstance, username = "ada", userAgent = "Firefox"): Promise<Client> {
  const client = new Client(app, { "user-agent": userAgent });
  await client.signIn({ username, password: "open" });
  return client;
}

async function reader(client: Client): Promise<string | null> {
  return (await client.get("/me")).json().session?.user.name ?? null;
}

function copyOf(client: Client, app: FastifyInstance): Client {
  const copy = new Client(app);
  copy.cookies.set(COOKIE, client.cookies.get(COOKIE)!);
  return copy;
}

const sessionsOf = async (client: Client) => (await client.get("/sessions")).json<Shown[]>();
const currentOf = async (client: Client) => (await sessionsOf(client))[0]!;
const claimsOf = (client: Client) => decode({ token: client.cookies.get(COOKIE)!, secret: SECRET, salt: COOKIE });

/** A `jwt` callback that changes the token with each read. */
const changing: FastifyAuthConfig["callbacks"] = {
  jwt: ({ token, user }) =>
    user ? { ...token } : { sub: token.sub!, name: token.name!, reads: (Number(token.reads) || 0) + 1 },
};

Deno.test("listSessions() shows the sessions in a JWT, with what the store keeps", () =>
  withSetup(async ({ app }) => {
    const began = Date.now();
    const [laptop, phone] = [await signedIn(app), await signedIn(app, "ada", "x".repeat(1000))];
    await signedIn(app, "bob");
    const [own, other, ...more] = await sessionsOf(laptop);
    assertEquals([own!.current, other!.current, more.length], [true, false, 0]);
    assertEquals([own!.userAgent, other!.userAgent], ["Firefox", "x".repeat(256)]);
    for (const time of [own!.createdAt, own!.lastSeenAt]) {
      assert(Date.parse(time) >= began && Date.parse(time) <= Date.now(), time);
    }
    assert(Math.abs(Date.parse(own!.expires) - began - 30 * DAY) < MINUTE, own!.expires);
    assertEquals((await currentOf(phone)).id, other!.id);
  }));

Deno.test("revokeSession() ends a session in a JWT, and removes its cookie", () =>
  withSetup(async ({ app, auth }) => {
    const [laptop, phone] = [await signedIn(app), await signedIn(app)];
    const { id } = await currentOf(phone);
    assertEquals(await auth.revokeSession(id), true);
    const guarded = await copyOf(phone, app).get("/private");
    assertEquals([await reader(laptop), await reader(phone), guarded.statusCode], ["ada", null, 401]);
    assertEquals((await phone.get("/auth/session")).json(), null);
    assertEquals([(await sessionsOf(laptop)).length, await auth.revokeSession(id)], [1, false]);
  }));

Deno.test("revokeSessions() ends all sessions in JWTs of a user but one", () =>
  withSetup(async ({ app, auth }) => {
    const [laptop, phone, bob] = [await signedIn(app), await signedIn(app), await signedIn(app, "bob")];
    const { id: except } = await currentOf(laptop);
    await auth.revokeSessions(ADA, { except });
    assertEquals([await reader(laptop), await reader(phone), await reader(bob)], ["ada", null, "bob"]);
    assertEquals((await sessionsOf(laptop)).map(({ id }) => id), [except]);
    await auth.revokeSessions(ADA);
    assertEquals([await reader(laptop), await reader(bob)], [null, "bob"]);
  }));

Deno.test("a session that ended does not come back as the one to except", () =>
  withSetup(async ({ app, auth }) => {
    const [laptop, phone] = [await signedIn(app), await signedIn(app)];
    const { id: except } = await currentOf(phone);
    await auth.revokeSessions(ADA);
    await auth.revokeSessions(ADA, { except });
    assertEquals([await reader(laptop), await reader(phone)], [null, null]);
  }));

Deno.test("of two calls of revokeSessions() at once, each ends the session that the other one excepts", () =>
  withSetup(async ({ auth, app, store }) => {
    const one = await signedIn(app), two = await signedIn(app);
    const ids = (await Promise.all([one, two].map(currentOf))).map(({ id }) => id);
    let waiting = 0, settle = () => {};
    const both = new Promise<void>((resolve) => settle = resolve);
    const { set } = store;
    store.set = async (...args) => {
      if (++waiting === 2) settle();
      await both;
      await set(...args);
    };
    await Promise.all(ids.map((except) => auth.revokeSessions(ADA, { except })));
    assertEquals([await reader(one), await reader(two)], [null, null]);
  }));

Deno.test("a sign-in after revokeSessions() counts, however far the clocks of two processes are apart", () =>
  withSetup(async ({ app, auth }) => {
    await withClock(async (clock) => {
      const jump = (milliseconds: number) => {
        clock.now += milliseconds;
        clock.jumped += milliseconds;
      };
      for (const by of [5_000, HOUR, -5_000, -HOUR]) {
        const old = await signedIn(app);
        jump(by);
        await auth.revokeSessions(ADA);
        jump(-by);
        const client = await signedIn(app);
        assertEquals([await reader(old), await reader(client)], [null, "ada"], `${by} ms`);
      }
    });
  }));

Deno.test("a session in a JWT keeps its record through renewal, the jwt callback and an update", () =>
  withSetup(async ({ app, auth }) => {
    const client = await signedIn(app);
    const before = await currentOf(client);
    const first = client.cookies.get(COOKIE)!;
    await reader(client);
    assertNotEquals(client.cookies.get(COOKIE), first);
    await client.request("POST", "/auth/session", {
      json: { csrfToken: await client.csrfToken(), data: {} },
    });
    assertEquals(((await claimsOf(client))!.sessionRecord as { user: string }).user, ADA);
    const after = await sessionsOf(client);
    assertEquals([after.length, after[0]!.id, after[0]!.createdAt], [1, before.id, before.createdAt]);
    assertEquals(after[0]!.userAgent, "Firefox");
    assertEquals(await auth.revokeSession(before.id), true);
    assertEquals([await reader(client), await reader(copyOf(client, app))], [null, null]);
  }, { callbacks: changing }));

Deno.test("a jwt callback that returns nothing leaves a session with a record as it is", () => {
  let returns = true;
  const jwt = ({ token }: { token: JWT }) => (returns ? token : undefined) as JWT;
  return withSetup(async ({ app }) => {
    const client = await signedIn(app);
    returns = false;
    const answer = await client.get("/private");
    assertEquals([answer.statusCode, setCookies(answer)], [503, []]);
    assertEquals(await reader(client), null);
    returns = true;
    assertEquals(await reader(client), "ada");
  }, { callbacks: { jwt } });
});

Deno.test("a session that has run out is not listed, while the user has others", () =>
  withSetup(async ({ app }) => {
    const laptop = await signedIn(app);
    const borrowed = new Client(app);
    await borrowed.signIn({ username: "ada", password: "open", rememberMe: "false" });
    assertEquals((await sessionsOf(laptop)).length, 2);
    await withClock(async (clock) => {
      clock.now += 2 * 86_400_000;
      assertEquals((await sessionsOf(laptop)).map(({ current }) => current), [true]);
    });
  }));

Deno.test("a session that was revoked has ended for another configuration object, too", () =>
  withSetup(async ({ app, auth, store }) => {
    const other = testConfig({ store, revocable: true });
    app.get("/other", { onRequest: requireSession(other) }, () => "in");
    const client = await signedIn(app);
    const copy = copyOf(client, app);
    assertEquals((await copy.get("/other")).statusCode, 200);
    await auth.revokeSession((await currentOf(client)).id);
    assertEquals((await copy.get("/other")).statusCode, 401);
  }));

Deno.test("a refresh under way does not bring a revoked session back", async () => {
  let resume = () => {};
  let entered = () => {};
  const inside = new Promise<void>((resolve) => entered = resolve);
  const callbacks: FastifyAuthConfig["callbacks"] = {
    async jwt({ token, user }) {
      if (user) return token;
      entered();
      await new Promise<void>((resolve) => resume = resolve);
      return { ...token, refreshed: true };
    },
  };
  await withSetup(async ({ app, auth }) => {
    const client = await signedIn(app);
    const running = [client.get("/me"), client.get("/me")];
    await inside;
    await auth.revokeSessions(ADA);
    resume();
    for (const answer of await Promise.all(running)) {
      assertEquals(answer.json().session, null);
      assertFalse(setCookies(answer).some((line) => line.startsWith(`${COOKIE}=ey`)));
    }
    assertEquals(client.cookies.get(COOKIE), undefined);
  }, { callbacks });
});

Deno.test("a request after the end of a session gets none from a read that began before", async () => {
  const entered = deferred(), resume = deferred();
  const callbacks: FastifyAuthConfig["callbacks"] = {
    async jwt({ token, user }) {
      if (user) return token;
      entered.resolve();
      await resume.promise;
      return token;
    },
  };
  await withSetup(async ({ app, auth }) => {
    const client = await signedIn(app);
    const copy = copyOf(client, app);
    const before = client.get("/me");
    await entered.promise;
    await auth.revokeSessions(ADA);
    const after = copy.get("/private");
    // Until it waits for the read that is under way.
    await new Promise((resolve) => setImmediate(resolve));
    resume.resolve();
    assertEquals([(await before).statusCode, (await after).statusCode], [200, 401]);
  }, { callbacks });
});

Deno.test("a renewed token of a session that was revoked meanwhile is refused", () =>
  withSetup(async ({ app, auth, store }) => {
    const client = await signedIn(app);
    const thief = copyOf(client, app);
    await reader(thief);
    assertNotEquals(thief.cookies.get(COOKIE), client.cookies.get(COOKIE));
    const renewed = copyOf(thief, app);
    const later = performance.now() + 31_000;
    using _ = stub(performance, "now", () => later);
    await auth.revokeSession((await currentOf(client)).id);
    store.calls.length = 0;
    assertEquals(await reader(renewed), null);
    assertEquals(store.calls, ["get"]);
  }, { callbacks: changing }));

Deno.test("a read makes one look-up in the store, and writes lastSeenAt every five minutes", () =>
  withSetup(async ({ app, store }) => {
    await withClock(async (clock) => {
      const client = await signedIn(app);
      store.calls.length = 0;
      await reader(client);
      assertEquals(store.calls, ["get"]);
      clock.now += 6 * MINUTE;
      await reader(client);
      await reader(client);
      assertEquals(store.calls, ["get", "get", "set", "add", "get"]);
      const { createdAt, lastSeenAt, userAgent } = await currentOf(client);
      assertEquals([Date.parse(lastSeenAt) - Date.parse(createdAt), userAgent], [6 * MINUTE, "Firefox"]);
    });
  }));

Deno.test("signing out, and signing in again, ends copies of the cookie too", () =>
  withSetup(async ({ app }) => {
    const laptop = await signedIn(app);
    const copies = [copyOf(laptop, app)];
    await laptop.signIn({ username: "ada", password: "open" });
    copies.push(copyOf(laptop, app));
    await laptop.signOut();
    // As in another process, which remembers nothing of this one.
    assertEquals(await Promise.all(copies.map(reader)), [null, null]);
    assertEquals(await sessionsOf(await signedIn(app)).then(({ length }) => length), 1);
  }));

Deno.test("a session ended in one process is ended in another", async () => {
  const inner = memoryStore();
  await withSetup(
    (one) =>
      withSetup(
        async (two) => {
          const client = await signedIn(one.app);
          assertEquals(await reader(copyOf(client, two.app)), "ada");
          const copy = copyOf(client, two.app);
          await client.signOut();
          assertEquals(await reader(copy), null);
        },
        {},
        inner,
      ),
    {},
    inner,
  );
});

Deno.test("a revoked session is not there when an account is linked or the session updated", () =>
  withSetup(async ({ app, auth }) => {
    const client = await signedIn(app);
    const copies = [copyOf(client, app), copyOf(client, app)] as const;
    await auth.revokeSessions(ADA);
    const csrfToken = await copies[0].csrfToken();
    const update = await copies[0].request("POST", "/auth/session", { json: { csrfToken, data: {} } });
    assertEquals(update.json(), null);
    const seen: unknown[] = [];
    auth.config.events!.signIn = ({ user }) => void seen.push(user.id);
    await signInAs(copies[1], "one", { id: "mallory", email: "mallory@example.com" });
    assertEquals(await reader(copies[1]), null);
    const [{ userId }] = links as [{ userId: string }];
    assertNotEquals(userId, ADA);
  }, {
    events: { linkAccount: ({ user }) => void links.push({ userId: user.id! }) },
    adapter: adapterWithAda(),
    session: { strategy: "jwt" },
    providers: [passwordProvider(), identityProvider("one")],
    callbacks: { session: ({ session }) => ({ ...session, user: { ...session.user, name: null } }) as never },
  }));

const links: { userId: string }[] = [];

function adapterWithAda() {
  const user = { id: ADA, name: "ada", email: "ada@example.com", emailVerified: null };
  return memoryAdapter({ users: new Map([[ADA, user]]), accounts: [], sessions: new Map(), tokens: [] });
}

Deno.test("tokens from before the store was set are valid, and end with all sessions of their user", async () => {
  const before = createAuth(testConfig());
  await using old = await sessionsApp(before);
  await withSetup(async ({ app, auth, store }) => {
    await withClock(async (clock) => {
      const clients = [await signedIn(old), await signedIn(old)].map((client) => copyOf(client, app));
      const [legacy, renewed] = clients as [Client, Client];
      assertEquals([await reader(legacy), (await sessionsOf(legacy)).length], ["ada", 0]);
      clock.now += 2 * DAY;
      assertEquals(await reader(renewed), "ada");
      const own = await currentOf(renewed);
      assertEquals([own.current, Date.parse(own.createdAt) <= clock.now - 2 * DAY], [true, true]);
      await auth.revokeSessions(ADA);
      store.calls.length = 0;
      assertEquals([await reader(legacy), await reader(renewed)], [null, null]);
      assertEquals(store.calls, ["get", "get"]);
    });
  });
});

Deno.test("the store keeps the end of a session for as long as its tokens may be used", async () => {
  // A request may be under way for a quarter of an hour; the life of tokens of another codec is not known.
  const cases = [[{}, HOUR + 15 * MINUTE], [
    { jwt: { encode, decode: (params: JWTDecodeParams) => decode(params) } },
    400 * DAY + 15 * MINUTE,
  ]] as const;
  for (const [overrides, expected] of cases) {
    const lives: number[] = [];
    const inner = memoryStore();
    const store: Store = {
      ...inner,
      async set(key, value, milliseconds) {
        lives.push(milliseconds);
        await inner.set(key, value, milliseconds);
      },
    };
    await withSetup(
      async ({ auth, app }) => {
        const client = new Client(app);
        await client.signIn({ username: "ada", password: "open" });
        const [{ id }] = (await client.get("/sessions")).json();
        lives.length = 0;
        assert(await auth.revokeSession(id));
        assertEquals(lives, [expected]);
      },
      { session: { maxAge: HOUR / 1000 }, ...overrides },
      store,
    );
  }
});

Deno.test("a session whose record was lost ends all the same", () => {
  const inner = memoryStore();
  let isLost = false;
  const get: Store["get"] = async (keys) => {
    const values = await inner.get(keys);
    return values.map((value, index) => isLost && keys[index]!.startsWith("record:") ? undefined : value);
  };
  return withSetup(
    async ({ app, auth }) => {
      await auth.revokeSessions(ADA);
      const client = await signedIn(app);
      const { id } = await currentOf(client);
      isLost = true;
      assertEquals([await reader(client), await auth.revokeSession(id)], ["ada", false]);
      assertEquals(await reader(client), null);
    },
    {},
    { ...inner, get },
  );
});

Deno.test("while the store fails, reads are unavailable, and the cookie stays", () =>
  withSetup(async ({ app, auth, store }) => {
    const client = await signedIn(app);
    for (const method of ["get", "members", "set"]) store.faults.add(method);
    const [guarded, session] = [await client.get("/private"), await client.get("/auth/session")];
    assertEquals([guarded.statusCode, session.statusCode, await reader(client)], [503, 503, null]);
    assertFalse(guarded.body.includes("password"));
    assertEquals((await client.get("/sessions")).statusCode, 503);
    await assertRejects(() => auth.revokeSessions(ADA), FastifyAuthError);
    store.faults.clear();
    assertEquals(await reader(client), "ada");
  }));

Deno.test("each time that the store fails the log says once that sessions are updated without it", async () => {
  const store = counting(memoryStore());
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ store, callbacks: changing }), { logger });
  const client = await signedIn(app);
  const update = async () => {
    const json = { csrfToken: await client.csrfToken(), data: {} };
    assertEquals((await client.request("POST", "/auth/session", { json })).statusCode, 200);
  };
  const said: number[] = [];
  for (const fails of [false, true, true, false, true]) {
    store.faults.clear();
    if (fails) { for (const method of ["lock", "unlock", "get", "set"]) store.faults.add(method); }
    await update();
    said.push(lines.filter(({ msg }) => msg.includes("() failed; sessions are refreshed")).length);
  }
  assertEquals(said, [0, 1, 1, 1, 2]);
});

Deno.test("a store that returns nothing has failed", () => {
  const store = memoryStore();
  return withSetup(
    async ({ app }) => {
      const client = await signedIn(app);
      store.get = () => Promise.resolve(undefined as never);
      assertEquals((await client.get("/private")).statusCode, 503);
      assert(client.cookies.has(COOKIE));
    },
    {},
    { ...store, get: (keys) => store.get(keys) },
  );
});

Deno.test("a store that answers in another form has failed, and the log says what it must return", async () => {
  const parsed = (value: string | null | undefined) => value && JSON.parse(value);
  const wrong: [name: keyof Store, change: (answer: unknown) => unknown, said: string][] = [
    ["get", (found) => (found as string[]).filter(Boolean), "with the string of each key"],
    ["get", (found) => (found as string[]).map(parsed), "with the string of each key"],
    ["members", (found) => new Set(found as string[]), "an array of strings"],
  ];
  for (const [name, change, said] of wrong) {
    const inner = memoryStore();
    const call = inner[name] as (...args: unknown[]) => Promise<unknown>;
    let isWrong = false;
    const answer = async (...args: unknown[]) => isWrong ? change(await call(...args)) : await call(...args);
    const { logger, lines } = captureLog();
    const store = { ...inner, [name]: answer };
    const auth = createAuth(testConfig({ store, revocable: true, callbacks: changing }));
    await using app = await sessionsApp(auth, { logger });
    const client = await signedIn(app);
    isWrong = true;
    const statuses = [(await client.get("/auth/session")).statusCode, (await client.get("/sessions")).statusCode];
    assertEquals(statuses, { get: [503, 503], members: [200, 503] }[name as "get"], name);
    assert(lines.some((line) => JSON.stringify(line).includes(said)), `${name}: ${said}`);
  }
});

Deno.test("a sign-in that cannot be recorded fails with 503, and a sign-out removes the cookie all the same", () =>
  withSetup(async ({ app, store }) => {
    const client = await signedIn(app);
    store.faults.add("set");
    const refused = new Client(app);
    const answer = await refused.signIn({ username: "ada", password: "open" });
    assertEquals([answer.statusCode, refused.cookies.has(COOKIE)], [503, false]);
    assertEquals([(await client.signOut()).statusCode, client.cookies.has(COOKIE)], [503, false]);
  }));

Deno.test("the log says that the store has failed to end a session", async () => {
  const store = counting(memoryStore());
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ store, revocable: true }), { logger });
  const client = await signedIn(app);
  store.faults.add("remove");
  await client.signOut();
  assertEquals(lines.filter(({ msg }) => msg.includes("The store's remove() failed.")).length, 1);
});

Deno.test("with a slow store a reply comes when the store has what it says", async () => {
  let underWay = 0;
  const slow = (method: (...args: unknown[]) => unknown) => async (...args: unknown[]) => {
    underWay++;
    await new Promise((resolve) => setTimeout(resolve, 20));
    underWay--;
    return await method(...args);
  };
  const methods = Object.entries(memoryStore()).map(([name, method]) => [name, slow(method as never)]);
  await withSetup(
    async ({ app, auth, store }) => {
      const settled = <T>(result: T): T => {
        assertEquals(underWay, 0, store.calls.splice(0).join());
        return result;
      };
      const [laptop, phone] = [settled(await signedIn(app)), settled(await signedIn(app))];
      assertEquals(settled(await sessionsOf(laptop)).length, 2);
      await withClock(async (clock) => {
        clock.now += HOUR;
        assertEquals(settled(await reader(laptop)), "ada");
      });
      assertEquals(settled(await auth.revokeSession((await currentOf(phone)).id)), true);
      assertEquals(settled(await reader(phone)), null);
      const copy = copyOf(laptop, app);
      settled(await laptop.signOut());
      assertEquals(settled(await reader(copy)), null);
      const again = await signedIn(app);
      settled(await auth.revokeSessions(ADA));
      assertEquals(settled(await reader(again)), null);
    },
    {},
    Object.fromEntries(methods),
  );
});

Deno.test("processes with one store and one jwt.secret share sessions, whatever else they have as secret", async () => {
  const store = memoryStore();
  const start = (secret: string, own: Partial<FastifyAuthConfig>) => {
    const jwt = { secret: "a secret of session tokens, 32 characters or more" } as never;
    return createAuth(testConfig({ secret: secret.repeat(40), jwt, store, ...own }));
  };
  for (const own of [{ revocable: true }, { callbacks: changing! }]) {
    const [one, two] = [start("a", own), start("b", own)];
    await using at = await sessionsApp(one);
    await using other = await sessionsApp(two);
    const client = await signedIn(at);
    const copy = copyOf(client, other);
    assertEquals([await reader(copy), await reader(client)], ["ada", "ada"]);
    const late = copyOf(client, at);
    copy.cookies.set(COOKIE, client.cookies.get(COOKIE)!);
    await copy.signOut();
    assertEquals(
      [await reader(late), await reader(copyOf(late, other))],
      [null, null],
      Object.keys(own).join(),
    );
  }
});

Deno.test("a write of lastSeenAt that fails does not fail the read", () =>
  withSetup(async ({ app, store }) => {
    await withClock(async (clock) => {
      const client = await signedIn(app);
      clock.now += HOUR;
      store.faults.add("set");
      assertEquals(await reader(client), "ada");
    });
  }));

Deno.test("a bearer token has a record of its own", () =>
  withSetup(async ({ app, auth }) => {
    const client = await signedIn(app);
    const csrfToken = await client.csrfToken();
    const { access_token: token } = (await client.request("POST", "/auth/token", { json: { csrfToken } }))
      .json();
    const withToken = () => app.inject({ url: "/me", headers: { authorization: `Bearer ${token}` } });
    const [own, other] = await sessionsOf(client);
    assertEquals([own!.current, other!.current], [true, false]);
    assertEquals((await withToken()).json().session.user.name, "ada");
    await auth.revokeSession(other!.id);
    assertEquals([(await withToken()).json().session, await reader(client)], [null, "ada"]);
  }, { bearer: true }));

Deno.test("a user whose id is like a key of the plugin has sessions of their own", async () => {
  const store = memoryStore();
  const ids = ["ada", "a:b", "a", "op", "provider:op", "sessions:ada", "ended:ada", "ada:epoch", "a%3Ab"];
  const authorize = ({ username }: Partial<Record<string, unknown>>) => ({ id: `${username}`, name: "any" });
  const providers = [Credentials({ credentials: { username: {}, password: {} }, authorize })];
  await withSetup(
    async ({ app, auth }) => {
      const clients = new Map<string, Client>();
      for (const id of ids) clients.set(id, await signedIn(app, id));
      for (const client of clients.values()) assertEquals((await sessionsOf(client)).length, 1);
      for (const id of ids) {
        await auth.revokeSessions(id);
        assertEquals(await reader(clients.get(id)!), null);
        clients.delete(id);
        for (const [other, client] of clients) assertEquals(await reader(client), "any", `${id}, ${other}`);
      }
    },
    { providers },
    store,
  );
});

Deno.test("a token without sub is valid, and said not to be listed", async () => {
  const lines: string[] = [];
  const auth = createAuth(testConfig({
    store: memoryStore(),
    revocable: true,
    callbacks: { jwt: ({ token: { sub: _sub, ...token } }) => token },
  }));
  const { default: Fastify } = await import("fastify");
  await using app = Fastify({ logger: { stream: { write: (line: string) => void lines.push(line) } } });
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  const client = await signedIn(app as unknown as FastifyInstance);
  assertEquals(await reader(client), "ada");
  assertMatch(lines.join(""), /without `sub`/);
});

Deno.test("sessions whose sub is a number can be ended", async () => {
  const auth = createAuth(testConfig({
    store: memoryStore(),
    revocable: true,
    callbacks: { jwt: ({ token, account }) => account ? { ...token, sub: 7 as never } : token },
  }));
  const app = await sessionsApp(auth);
  await using _app = app;
  const client = await signedIn(app);
  assertEquals(await reader(client), "ada");
  await auth.revokeSessions("7");
  assertEquals(await reader(client), null);
});

Deno.test("sessions in a JWT cannot be listed without a store, and `revocable` is refused with a database", async () => {
  const auth = createAuth(testConfig());
  await assertRejects(() => auth.revokeSessions(ADA), FastifyAuthError, "revocable");
  for (
    const [overrides, text] of [
      [{ store: {} as Store }, "lacks get(), set(), lock(), unlock(), members(), add(), remove()"],
      [{ revocable: true }, "needs a `store`"],
      [{ store: memoryStore(), revocable: true, adapter: memoryAdapter(), providers: [] }, "withSessionList"],
    ] as const
  ) {
    await assertRejects(
      () => sessionsApp(createAuth(testConfig(overrides as never))),
      FastifyAuthError,
      text,
    );
  }
});

/** A codec that keeps only these claims. */
const keeping = (...names: readonly string[]): NonNullable<FastifyAuthConfig["jwt"]> => ({
  encode: ({ token, ...params }) =>
    encode({ ...params, token: Object.fromEntries(names.map((name) => [name, token?.[name]])) }),
});

Deno.test("redisStore() takes nothing but a client", () => {
  const others = [createCluster({ rootNodes: [] }), createSentinel({ name: "one", sentinelRootNodes: [] })];
  const wrong = [
    undefined,
    null,
    "redis://localhost",
    Redis,
    Promise.resolve({ call() {} }),
    { connect() {} },
    ...others,
  ];
  for (const client of wrong) {
    const { code, message } = assertThrows(() => redisStore(client as never), FastifyAuthError);
    assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
    assertStringIncludes(message, "takes a client of `ioredis`");
  }
});

Deno.test("a codec that loses the name of sessions is refused at boot with a store, and warned about without", async () => {
  const booted = async (overrides: Partial<FastifyAuthConfig>) => {
    const { logger, lines } = captureLog();
    await using _app = await testApp(testConfig(overrides), { logger });
    return lines.filter(({ code }) => code === "FST_AUTHJS_WARN_CODEC").map(({ level, msg }) => [level, msg]);
  };
  const losing = keeping("name", "sub");
  await assertRejects(
    () => booted({ jwt: losing, store: memoryStore() }),
    FastifyAuthError,
    "lose the claim",
  );
  const [[level, message] = [], ...more] = await booted({ jwt: losing });
  assertEquals([level, more], [40, []]);
  assertMatch(String(message), /`session_name`/);
  const failing = { encode: () => Promise.reject(new Error("no key yet")) };
  for (const jwt of [{}, keeping("name", "sub", "session_name"), failing]) {
    assertEquals(await booted({ jwt, store: memoryStore() }), []);
  }
  assertEquals(await booted({ jwt: losing, adapter: memoryAdapter(), providers: [] }), []);
});

interface OpenStore extends AsyncDisposable {
  readonly store: Store;
}

const url = serverUrl("TEST_REDIS_URL", "the tests of sessions in Redis");

/** Each with keys that no other test uses. */
const STORES: Record<string, () => Promise<OpenStore>> = {
  memory: () => Promise.resolve({ store: memoryStore(), [Symbol.asyncDispose]: () => Promise.resolve() }),
  ...(url && {
    ioredis() {
      const client = new Redis(url);
      const store = redisStore(client, { prefix: `test-${crypto.randomUUID()}:` });
      return Promise.resolve({ store, [Symbol.asyncDispose]: async () => void await client.quit() });
    },
    async redis() {
      const client = createClient({ url });
      await client.connect();
      const store = redisStore(client, { prefix: `test-${crypto.randomUUID()}:` });
      return { store, [Symbol.asyncDispose]: async () => void await client.close() };
    },
    async "redis with buffers"() {
      const { BLOB_STRING, SIMPLE_STRING } = RESP_TYPES;
      const typeMapping = { [BLOB_STRING]: Buffer, [SIMPLE_STRING]: Buffer };
      const client = createClient({ url, commandOptions: { typeMapping } });
      await client.connect();
      const store = redisStore(client, { prefix: `test-${crypto.randomUUID()}:` });
      return { store, [Symbol.asyncDispose]: async () => void await client.close() };
    },
  }),
};

for (const [name, open] of Object.entries(STORES)) {
  Deno.test(`the store of ${name} keeps values, locks and members of sets`, async () => {
    await using opened = await open();
    const { store } = opened;
    const get = async (...keys: string[]) => (await store.get(keys)).map((value) => value ?? undefined);
    assertEquals([await get("a", "b"), await get(), await store.members("set")], [
      [undefined, undefined],
      [],
      [],
    ]);
    await store.set("a", "é", HOUR);
    await store.set("b", "1", HOUR);
    await store.set("b", "2", HOUR);
    assertEquals(await get("b", "other", "a"), ["2", undefined, "é"]);

    assertEquals([await store.lock("a", "one", HOUR), await store.lock("a", "two", HOUR)], [true, false]);
    await store.unlock("a", "two");
    assertEquals(await store.lock("a", "two", HOUR), false);
    await store.unlock("a", "one");
    assertEquals([await store.lock("a", "two", HOUR), await get("a")], [true, ["é"]]);

    for (const member of ["x", "y", "x"]) await store.add("set", member, HOUR);
    await store.add("other", "z", HOUR);
    assertEquals([...await store.members("set")].toSorted(), ["x", "y"]);
    await store.remove("set", "x");
    await store.remove("set", "never");
    assertEquals(await store.members("set"), ["y"]);
  });

  Deno.test(`the store of ${name} forgets what is over`, async () => {
    await using opened = await open();
    const { store } = opened;
    await store.set("short", "1", 30);
    await store.set("long", "1", HOUR);
    await store.lock("lock", "one", 30);
    await store.add("set", "short", 30);
    await store.add("set", "long", HOUR);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assertEquals((await store.get(["short", "long"])).map((value) => value ?? undefined), [undefined, "1"]);
    assertEquals(await store.members("set"), ["long"]);
    assertEquals(await store.lock("lock", "two", HOUR), true);
  });

  Deno.test(`sessions are ended by the store of ${name}`, async () => {
    await using opened = await open();
    await withSetup(
      async ({ app, auth }) => {
        const [laptop, phone] = [await signedIn(app), await signedIn(app)];
        const [{ id: except }, { id }] = await sessionsOf(laptop) as [Shown, Shown];
        assertEquals(await auth.revokeSession(id), true);
        assertEquals([await reader(phone), await reader(laptop)], [null, "ada"]);
        await auth.revokeSessions(ADA, { except });
        assertEquals(await reader(laptop), "ada");
        await auth.revokeSessions(ADA);
        assertEquals(await reader(laptop), null);
      },
      {},
      opened.store,
    );
  });
}

if (url) {
  Deno.test("what one command sends to Redis, or gets, does not grow with the sessions that have ended", async () => {
    const redis = new Redis(url);
    const prefix = `test-${crypto.randomUUID()}:`;
    let largest = 0;
    const call = async (command: string, ...args: string[]) => {
      const answer = await redis.call(command, ...args);
      largest = Math.max(largest, JSON.stringify([command, args, answer]).length);
      return answer;
    };
    try {
      await withSetup(
        async ({ app, auth }) => {
          const rounds: number[] = [];
          for (let round = 0; round < 30; round++) {
            largest = 0;
            const [first, second] = [await signedIn(app), await signedIn(app)];
            await reader(first);
            await first.signOut();
            if (round % 2 === 0) await second.signOut();
            else await auth.revokeSessions(ADA);
            rounds.push(largest);
          }
          assert(rounds.at(-1)! <= Math.max(...rounds.slice(0, 4)), rounds.join());
          const keys = await redis.keys(`${prefix}*`);
          const lives = await Promise.all(keys.map((key) => redis.pttl(key)));
          assert(keys.length > 0 && lives.every((life) => life > 0), "every key expires");
        },
        {},
        redisStore({ call }, { prefix }),
      );
    } finally {
      await redis.quit();
    }
  });
}
