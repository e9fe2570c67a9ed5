/** A reply that leaves late, with two processes over one store: what the other one made of the session meanwhile stays. */
import { assertEquals } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, memoryStore } from "fastify-authjs";
import { testConfig } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { Acme, signIn } from "../../support/token_provider.ts";

const DAY = 86_400_000;

/** Two processes: each has a configuration object of its own. `GET /slow` reads the session, and then waits. */
async function twoProcesses(config: Partial<FastifyAuthConfig>) {
  const store = memoryStore();
  let answer = () => {};
  const isDue = new Promise<void>((resolve) => answer = resolve);
  let hasRead = () => {};
  const isRead = new Promise<void>((resolve) => hasRead = resolve);
  const auths = [0, 1].map(() => createAuth(testConfig({ store, ...config })));
  const apps = await Promise.all(auths.map(async (auth) => {
    const app = Fastify() as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/access", async (request) => ({ token: await auth.getAccessToken(request, "acme") }));
    app.get("/theme", async (request) => ({ theme: (await auth.getToken(request))?.theme }));
    app.get("/slow", async (request) => {
      await auth.getSession(request);
      hasRead();
      await isDue;
      return {};
    });
    return app;
  }));
  const [one, two] = apps.map((app) => new Client(app));
  return {
    one: one!,
    two: two!,
    /** The functions of the second process. */
    auth: auths[1]!,
    /** The browser of the first process sends a request that is answered once the second one has done this. */
    async meanwhile(change: () => Promise<unknown>) {
      for (const [name, value] of one!.cookies) two!.cookies.set(name, value);
      const slow = one!.get("/slow");
      await isRead;
      await change();
      answer();
      return await slow;
    },
    async [Symbol.asyncDispose]() {
      for (const app of apps) await app.close();
    },
  };
}

Deno.test("a late reply does not bring a refresh token back that another process has used", async () => {
  const acme = new Acme();
  acme.lifetime = 3600;
  await using processes = await twoProcesses({ providers: [acme.provider], refreshTokens: true });
  const { one, two, meanwhile } = processes;
  await signIn(one);
  await withClock(async (clock) => {
    clock.now += 2 * DAY;
    await meanwhile(() => two.get("/access"));
    clock.now += 2 * 3_600_000;
    assertEquals((await one.get("/access")).json(), { token: "access-3" });
  });
});

for (const refreshDue of [undefined, () => false]) {
  const title = refreshDue ? ", also if no read refreshes it" : "";
  Deno.test(`a late reply keeps what another process has updated${title}`, async () => {
    await using processes = await twoProcesses({
      ...(refreshDue && { refreshDue }),
      callbacks: {
        jwt: ({ token, trigger, session }) =>
          trigger === "update" ? { ...token, theme: (session as { theme: string }).theme } : token,
      },
    });
    const { one, two, meanwhile } = processes;
    await one.signIn({ username: "ada", password: "open" });
    await withClock(async (clock) => {
      clock.now += 2 * DAY;
      await meanwhile(async () => {
        const csrfToken = await two.csrfToken();
        await two.request("POST", "/auth/session", { json: { csrfToken, data: { theme: "dark" } } });
      });
      clock.now += 60_000;
      assertEquals((await one.get("/theme")).json(), { theme: "dark" });
    });
  });
}

type Processes = Awaited<ReturnType<typeof twoProcesses>>;

for (
  const [what, end] of [
    ["ended", ({ two }: Processes) => two.signOut()],
    ["revoked", ({ auth }: Processes) => auth.revokeSessions("id-ada")],
  ] as const
) {
  Deno.test(`an adapter that writes the whole row does not bring a session back that another process has ${what}`, async () => {
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    tables.users.set("id-ada", { id: "id-ada", name: "ada", email: "ada@example.com", emailVerified: null } as never);
    let ended = Promise.resolve();
    let reads = () => {};
    const isRead = new Promise<void>((resolve) => reads = resolve);
    const adapter = {
      ...memoryAdapter(tables),
      listSessionsByUserId: () => [...tables.sessions.values()],
      async updateSession(changed: { sessionToken: string }) {
        const row = { ...tables.sessions.get(changed.sessionToken)!, ...changed };
        reads();
        await ended;
        tables.sessions.set(changed.sessionToken, row);
        return row;
      },
    };
    await using processes = await twoProcesses({ adapter });
    const { one, two } = processes;
    await one.signIn({ username: "ada", password: "open" });
    for (const [name, value] of one.cookies) two.cookies.set(name, value);
    await withClock(async (clock) => {
      clock.now += 5 * DAY;
      let isEnded = () => {};
      ended = new Promise<void>((resolve) => isEnded = resolve);
      const reading = one.get("/theme");
      await isRead;
      await end(processes);
      isEnded();
      await reading;
      assertEquals(tables.sessions.size, 0);
    });
  });
}

for (const strategy of ["jwt", "database"] as const) {
  const where = strategy === "jwt" ? "a token" : "a database";
  Deno.test(`a late reply removes no cookie if its browser has signed in at another process, in ${where}`, async () => {
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    tables.users.set("id-ada", { id: "id-ada", name: "ada", email: "ada@example.com", emailVerified: null } as never);
    const adapter = memoryAdapter(tables);
    for (const [what, ends] of Object.entries({ expired: () => {}, deleted: () => tables.sessions.clear() })) {
      for (const signsIn of [true, false]) {
        await using processes = await twoProcesses({ ...(strategy === "database" && { adapter }) });
        const { one, two, meanwhile } = processes;
        await one.signIn({ username: "ada", password: "open" });
        await withClock(async (clock) => {
          clock.now += 31 * DAY;
          ends();
          const answer = await meanwhile(async () => {
            if (signsIn) await two.signIn({ username: "ada", password: "open" });
            clock.now += 5_000;
          });
          assertEquals(setCookies(answer).length, signsIn ? 0 : 1, what);
        });
      }
    }
  });
}

Deno.test("a read that refreshes gives no session that another process has ended meanwhile", async () => {
  let called = () => {};
  const isCalled = new Promise<void>((resolve) => called = resolve);
  let refresh = () => {};
  const isRefreshed = new Promise<void>((resolve) => refresh = resolve);
  await using processes = await twoProcesses({
    callbacks: {
      async jwt({ token, account }) {
        if (account) return token;
        called();
        await isRefreshed;
        return { ...token, refreshed: true };
      },
    },
  });
  const { one, two } = processes;
  await one.signIn({ username: "ada", password: "open" });
  for (const [name, value] of one.cookies) two.cookies.set(name, value);
  const reading = one.get("/auth/session");
  await isCalled;
  await two.signOut();
  refresh();
  assertEquals((await reading).json(), null);
});
