/** A configuration for each request: tenants by host, by a header and by path. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import swagger from "@fastify/swagger";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import {
  type AuthObject,
  type ConfigForRequest,
  createAuth,
  FastifyAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  getSession,
  type InferSession,
  memoryStore,
  requireSession,
  type RouteAuthConfig,
  type Store,
  type TenantAuthObject,
} from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import { signedIn, startIssuer } from "fastify-authjs/testing";
import type { AddressInfo } from "node:net";
import { captureLog, type LogLine, passwordProvider, SECRET, testConfig } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { deferred } from "../../support/deferred.ts";
import { overHttp } from "../../support/http_transport.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const MINE = { username: "ada", password: "open" };
const [ACME, UMBRELLA] = ["acme.example", "umbrella.example"];
const HTML = { accept: "text/html" };

type Tenants = ReadonlyMap<string, FastifyAuthConfig>;

function tenantConfig(tenant: string, overrides: Partial<FastifyAuthConfig> = {}): FastifyAuthConfig {
  return testConfig({ tenant, ...overrides });
}

/** Two tenants by their hosts, which differ in nothing but their names. */
function twoTenants(overrides: Partial<FastifyAuthConfig> = {}): Tenants {
  return new Map([[ACME, tenantConfig("acme", overrides)], [UMBRELLA, tenantConfig("umbrella", overrides)]]);
}

interface Setup {
  readonly app: FastifyInstance;
  readonly auth: TenantAuthObject;
  readonly lines: LogLine[];
  /** A browser at a host. */
  readonly at: (host?: string) => Client;
}

/** An application with the plugin at `/auth`, and routes that read. */
async function withApp(
  choose: ConfigForRequest,
  run: (setup: Setup) => Promise<void>,
  prepare: (setup: Setup) => void = () => {},
): Promise<void> {
  const { logger, lines } = captureLog();
  const auth: TenantAuthObject = createAuth(choose);
  await using app = Fastify({ logger } as object) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.get("/guarded", { onRequest: auth.requireSession() }, () => "for you");
  const setup = { app, auth, lines, at: (host = ACME) => new Client(app, { host }) };
  prepare(setup);
  await run(setup);
}

const byHost = (tenants: Tenants) => (request: { host: string }) => tenants.get(request.host);

async function reader(client: Client): Promise<string | null> {
  return (await client.get("/me")).json().session?.user.name ?? null;
}

const coded = (lines: readonly LogLine[], code: string) => lines.filter((line) => line.code === code);

Deno.test("each request is answered with the configuration of its tenant", () =>
  withApp(byHost(twoTenants()), async ({ at }) => {
    const acme = at();
    await acme.signIn(MINE);
    assertEquals([await reader(acme), (await acme.get("/guarded")).body], ["ada", "for you"]);
    const umbrella = at(UMBRELLA);
    for (const [name, value] of acme.cookies) {
      umbrella.cookies.set(name.replace("-acme.", "-umbrella."), value);
    }
    assertEquals([await reader(umbrella), (await umbrella.get("/guarded")).statusCode], [null, 401]);
    await umbrella.signIn({ ...MINE, username: "bob" });
    assertEquals([await reader(umbrella), await reader(acme)], ["bob", "ada"]);
  }));

Deno.test("FastifyAuth(), getSession() and requireSession() take the function", async () => {
  const tenants = twoTenants();
  const choose: ConfigForRequest = (request) => tenants.get(request.host);
  await using app = Fastify() as FastifyInstance;
  await app.register(FastifyAuth(choose), { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await getSession(request, choose) }));
  app.get("/guarded", { onRequest: requireSession(choose) }, () => "for you");
  const client = new Client(app, { host: ACME });
  assertEquals([await reader(client), (await client.get("/guarded")).statusCode], [null, 401]);
  const page = await client.get("/guarded", { headers: HTML });
  assertEquals(page.headers.location, "/auth/signin?error=SessionRequired&callbackUrl=%2Fguarded");
  await client.signIn(MINE);
  assertEquals([await reader(client), (await client.get("/guarded")).body], ["ada", "for you"]);
});

Deno.test("an asynchronous function is called once for each request", () => {
  const tenants = twoTenants();
  let calls = 0;
  const choose = async (request: FastifyRequest) => {
    calls++;
    return await Promise.resolve(tenants.get(request.host));
  };
  return withApp(choose, async ({ at }) => {
    const client = at();
    await client.signIn(MINE);
    calls = 0;
    assertEquals((await client.get("/twice")).json(), "ada");
    assertEquals(calls, 1);
  }, ({ app, auth }) => {
    app.get("/twice", { onRequest: [auth.requireSession(), requireSession(choose)] }, async (request) => {
      const [one, two] = await Promise.all([auth.getSession(request), getSession(request, choose)]);
      return JSON.stringify(one === two ? one?.user.name : "two reads");
    });
  });
});

Deno.test("the type of the session is inferred from what the function returns", () => {
  const config = {
    ...testConfig(),
    tenant: "acme",
    callbacks: {
      session: ({ session }: { session: { expires: string; user: { name?: string | null } } }) => ({
        ...session,
        teams: [1],
      }),
    },
  };
  const one = createAuth(() => config);
  const later = createAuth((request) => Promise.resolve(request.host === ACME ? config : undefined));
  type Teams<Auth> = InferSession<Auth> extends { teams: number[] } ? true : false;
  const isInferred: [Teams<typeof one>, Teams<typeof later>] = [true, true];
  assertEquals(isInferred, [true, true]);
});

Deno.test("the actions of the object work with the tenant of their request", async () => {
  const tenants = twoTenants({ store: memoryStore(), revocable: true });
  await withApp(byHost(tenants), async ({ at, auth }) => {
    const headers = { "sec-fetch-site": "same-origin" };
    const [acme, umbrella] = [at(), at(UMBRELLA)];
    for (const client of [acme, umbrella]) {
      const answer = await client.request("POST", "/in", { json: MINE, headers });
      assertEquals(answer.json().signedIn, true);
    }
    assertEquals((await acme.get("/token")).json(), "id-ada");
    const updated = await acme.request("POST", "/update", { headers });
    assertEquals(updated.json().user.name, "ada");
    assertEquals([(await acme.get("/list")).json().length, (await umbrella.get("/list")).json().length], [
      1,
      1,
    ]);
    await auth.forConfig(tenants.get(ACME)!).revokeSessions("id-ada");
    assertEquals([await reader(acme), await reader(umbrella)], [null, "ada"]);
    await umbrella.request("POST", "/out", { headers });
    assertEquals(await reader(umbrella), null);
    assertThrows(() => auth.forConfig(testConfig()), FastifyAuthError, "tenant");
  }, ({ app, auth }) => {
    app.post(
      "/in",
      (request, reply) => auth.signIn(request, reply, "credentials", { fields: request.body, redirect: false }),
    );
    app.post("/out", (request, reply) => auth.signOut(request, reply, { redirect: false }));
    app.post("/update", (request, reply) => auth.updateSession(request, reply, {}));
    app.get("/token", async (request) => JSON.stringify((await auth.getToken(request))?.sub));
    app.get("/list", (request) => auth.listSessions(request));
  });
});

Deno.test("guards that routes and scopes declare require the sessions of the tenant", () =>
  withApp(byHost(twoTenants()), async ({ app, at, auth }) => {
    const open: RouteAuthConfig = { auth: true };
    app.get("/declared", { config: open }, () => "for you");
    await app.register((scope, _options, done) => {
      scope.addHook("onRequest", auth.requireSession({ respectRouteConfig: true }));
      scope.get("/page", () => "for you");
      done();
    }, { prefix: "/scope" });
    const client = at();
    const statuses = async () =>
      (await Promise.all([client.get("/declared"), client.get("/scope/page")])).map((one) => one.statusCode);
    assertEquals(await statuses(), [401, 401]);
    await client.signIn(MINE);
    assertEquals(await statuses(), [200, 200]);
    assertEquals(
      (await app.inject({ url: "/declared", headers: { host: "other.example" } })).statusCode,
      404,
    );
  }));

Deno.test("signedIn() takes the configuration of the tenant", () => {
  const tenants = twoTenants();
  return withApp(byHost(tenants), async ({ app, auth }) => {
    const inject = await signedIn(app, tenants.get(ACME)!, { user: { id: "1", name: "Ada" } });
    const names = [ACME, UMBRELLA].map(async (host) =>
      (await inject({ url: "/me", headers: { host } })).json().session?.user.name
    );
    assertEquals(await Promise.all(names), ["Ada", undefined]);
    const error = await assertRejects(
      () => signedIn(app, auth as never, { user: { name: "Ada" } }),
      FastifyAuthError,
    );
    assertStringIncludes(error.message, "the configuration of the tenant");
  });
});

Deno.test("a request without a tenant gets 404, and has no session", () =>
  withApp(byHost(twoTenants()), async ({ at, lines }) => {
    const nobody = at("other.example");
    const page = await nobody.get("/auth/signin", { headers: HTML });
    assertEquals([page.statusCode, String(page.headers["content-type"]).split(";")[0]], [404, "text/html"]);
    assertEquals((await nobody.get("/auth/csrf")).json().code, "FST_AUTHJS_NOT_FOUND");
    const guarded = await nobody.get("/guarded", { headers: HTML });
    assertEquals([guarded.statusCode, guarded.headers["cache-control"]], [404, "no-store"]);
    assertEquals(await reader(nobody), null);
    assertEquals(coded(lines, "FST_AUTHJS_WARN_NO_TENANT").length, 1);
  }));

const FAILURES: Readonly<Record<string, ConfigForRequest>> = {
  throws: () => {
    throw new Error("the database of tenants is down");
  },
  rejects: () => Promise.reject(new Error("the database of tenants is down")),
};

for (const [what, choose] of Object.entries(FAILURES)) {
  Deno.test(`where the function ${what} the answer is 503, and the log has the reason`, () =>
    withApp(choose, async ({ at, lines }) => {
      const client = at();
      const page = await client.get("/auth/signin", { headers: HTML });
      assertEquals([page.statusCode, String(page.headers["content-type"]).split(";")[0]], [503, "text/html"]);
      const guarded = await client.get("/guarded");
      assertEquals([guarded.statusCode, guarded.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
      assert(!guarded.body.includes("down") && !page.body.includes("down"));
      const before = lines.length;
      assertEquals(await reader(client), null);
      const logged = lines.slice(before).filter(({ level }) => level === 50);
      assertEquals(logged.length, 1);
      assertStringIncludes(JSON.stringify(logged), "the database of tenants is down");
      const all = lines.filter(({ level }) => level === 50).map((line) => JSON.stringify(line));
      assert(all.every((line) => line.includes("the database of tenants is down")), all.join("\n"));
    }));
}

Deno.test("an error of the function that names its status stays", () => {
  const gone = () => {
    throw Object.assign(new Error("This site has moved."), { statusCode: 410 });
  };
  return withApp(gone, async ({ at }) => {
    const answers = [await at().get("/guarded"), await at().get("/auth/session")];
    assertEquals(answers.map(({ statusCode }) => statusCode), [410, 410]);
  });
});

const UNUSABLE: readonly (readonly [what: string, config: unknown, logged: string])[] = [
  ["has no tenant", testConfig(), "`tenant`"],
  ["has a tenant that is no name", testConfig({ tenant: 7 as never }), "`tenant`"],
  ["has no secret of the length", tenantConfig("acme", { secret: "short" }), "32 characters"],
  [
    "has a provider twice",
    tenantConfig("acme", { providers: [passwordProvider(), passwordProvider()] }),
    "credentials",
  ],
  ["has another base path", tenantConfig("acme", { basePath: "/other" }), "basePath"],
  [
    "has a built-in page as one of its own",
    tenantConfig("acme", { pages: { signIn: "/auth/signin" } }),
    "redirect to itself",
  ],
  ["is a text", "acme", "something else"],
];

for (const [what, config, logged] of UNUSABLE) {
  Deno.test(`a configuration that ${what} is an error of each request, logged once with its reason`, () =>
    withApp((() => config) as never, async ({ at, lines }) => {
      const page = await at().get("/auth/signin", { headers: HTML });
      assertEquals([page.statusCode, String(page.headers["content-type"]).split(";")[0]], [500, "text/html"]);
      const guarded = await at().get("/guarded");
      assertEquals([guarded.statusCode, guarded.json().code], [500, "FST_AUTHJS_CONFIG_INVALID"]);
      assertEquals(await reader(at()), null);
      const reasons = lines.filter(({ msg }) => msg.startsWith("The configuration for a request:"));
      assertEquals(reasons.length, 1);
      assertStringIncludes(reasons[0]!.msg, logged);
      assert(!guarded.body.includes(logged), guarded.body);
    }));
}

Deno.test("a tenant with a mistake leaves the others alone", () => {
  const tenants = new Map([[ACME, tenantConfig("acme")], [
    UMBRELLA,
    tenantConfig("umbrella", { secret: "short" }),
  ]]);
  return withApp(byHost(tenants), async ({ at }) => {
    assertEquals((await at(UMBRELLA).get("/auth/session")).statusCode, 500);
    const acme = at();
    await acme.signIn(MINE);
    assertEquals(await reader(acme), "ada");
  });
});

/** A configuration, and how often it was read. */
function counted(tenant: string): { readonly config: FastifyAuthConfig; readonly reads: () => number } {
  let reads = 0;
  const config = tenantConfig(tenant);
  const { providers } = config;
  Object.defineProperty(config, "providers", {
    enumerable: true,
    get() {
      reads++;
      return providers;
    },
  });
  return { config, reads: () => reads };
}

Deno.test("a configuration is read with its first request, and never again", () => {
  const { config, reads } = counted("acme");
  return withApp(() => config, async ({ at, lines }) => {
    assertEquals(reads(), 0);
    await Promise.all([at().get("/me"), at().get("/me"), at().get("/auth/csrf")]);
    const first = reads();
    assert(first > 0);
    const client = at();
    await client.signIn(MINE);
    for (let i = 0; i < 20; i++) assertEquals(await reader(client), "ada");
    assertEquals(reads(), first);
    assertEquals(coded(lines, "FST_AUTHJS_WARN_TENANT_CONFIG"), []);
  });
});

Deno.test("a new object takes the place of the one before, with the sessions of its users", () => {
  let config = tenantConfig("acme", { pages: { siteName: "Before" } });
  return withApp(() => config, async ({ at, lines }) => {
    const client = at();
    await client.signIn(MINE);
    config = tenantConfig("acme", { pages: { siteName: "After" } });
    assertEquals(await reader(client), "ada");
    assertStringIncludes((await client.get("/auth/signin")).body, "After");
    assertEquals(coded(lines, "FST_AUTHJS_WARN_TENANT_CONFIG"), []);
  });
});

Deno.test("what a new object changes counts at once: a secret that is gone opens nothing more", () => {
  let config = tenantConfig("acme");
  return withApp(() => config, async ({ at }) => {
    const client = at();
    await client.signIn(MINE);
    // Some times, so that the token is kept in memory.
    for (let i = 0; i < 4; i++) assertEquals(await reader(client), "ada");
    config = tenantConfig("acme", { secret: "another-secret-of-at-least-32-characters" });
    assertEquals(await reader(client), null);
  });
});

Deno.test("what a new object changes counts at once: sessions kept in memory have its life", () => {
  let config = tenantConfig("acme", { session: { maxAge: 3600 } });
  return withApp(() => config, async ({ at }) => {
    const client = at();
    await client.signIn(MINE);
    for (let i = 0; i < 4; i++) assertEquals(await reader(client), "ada");
    config = tenantConfig("acme", { session: { maxAge: 600 } });
    const answer = await client.get("/me");
    assert(Date.parse(answer.json().session.expires) <= Date.now() + 600_000);
    assertEquals(setCookies(answer).length, 1);
  });
});

Deno.test("what a new object changes counts at once: how long a sign-in waits for another one", async () => {
  const { promise: never, resolve: end } = deferred<null>();
  const adapter = { ...memoryAdapter(), useVerificationToken: () => never };
  const mail = { id: "mail", type: "email", name: "Mail", maxAge: 60, sendVerificationRequest: () => {}, options: {} };
  const configWith = (adapterTimeout: number) =>
    tenantConfig("acme", { adapter, adapterTimeout, emailConfirm: false, providers: [mail as never] });
  let config = configWith(60_000);
  await withApp(() => config, async ({ at }) => {
    const link = "/auth/callback/mail?token=a&email=ada%40example.com";
    const first = at().get(link);
    await new Promise((resolve) => setTimeout(resolve, 20));
    config = configWith(50);
    const answer = await Promise.race([at().get(link), new Promise<undefined>((done) => setTimeout(done, 5000))]);
    end(null);
    await first;
    assertEquals(answer?.statusCode, 503);
  });
});

Deno.test("what a new object changes counts at once: without a store nothing asks the one before", () => {
  const codes: string[] = [];
  const mail = {
    id: "mail",
    type: "email",
    name: "Mail",
    sendVerificationRequest: ({ code }: { code?: string }) => void codes.push(code!),
  };
  const adapter = memoryAdapter();
  const configWith = (store?: Store) =>
    tenantConfig("acme", { adapter, providers: [mail as never], ...(store && { store }) });
  let isClosed = false;
  const store = memoryStore();
  const members: Store["members"] = async (key) => {
    if (isClosed) throw new Error("the client is closed");
    return await store.members(key);
  };
  let config = configWith({ ...store, members });
  return withApp(() => config, async ({ at }) => {
    const signIn = async () => {
      const client = at();
      const csrfToken = await client.csrfToken();
      await client.post("/auth/signin/mail", { csrfToken, email: "ada@example.com" });
      await client.post("/auth/callback/mail", { csrfToken, code: codes.at(-1)! });
      return (await client.get("/me")).json().session?.user.email;
    };
    assertEquals(await signIn(), "ada@example.com");
    config = configWith();
    isClosed = true;
    assertEquals(await signIn(), "ada@example.com");
  });
});

Deno.test("a new object that comes to forConfig() first takes over what is known of its tenant", () => {
  const store = memoryStore();
  const configOf = () => tenantConfig("acme", { store, revocable: true });
  let config = configOf();
  const { promise: watched, resolve: watches } = deferred<void>();
  return withApp(() => config, async ({ app, at, auth }) => {
    app.get("/until-the-end", async (request) => {
      const end = deferred<string>();
      await auth.onSessionEnd(request, () => end.resolve("ended"));
      watches();
      return await end.promise;
    });
    const client = at();
    await client.signIn(MINE);
    const streamed = client.get("/until-the-end");
    await watched;
    config = configOf();
    await auth.forConfig(config).revokeSessions("id-ada");
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((resolve) => timer = setTimeout(resolve, 15_000, "only with the next check"));
    assertEquals(await Promise.race([streamed.then(({ body }) => body), late]), "ended");
    clearTimeout(timer);
  });
});

Deno.test("an object for each request is warned of once, and limits and ended sessions count all the same", () => {
  const limits = { accountFromAddress: { max: 2, timeWindow: 60_000 } };
  const seen: number[] = [];
  const callbacks: FastifyAuthConfig["callbacks"] = {
    jwt({ token }) {
      const { refreshes = 0 } = token as { refreshes?: number };
      seen.push(refreshes);
      return { ...token, refreshes: refreshes + 1 };
    },
  };
  return withApp(() => tenantConfig("acme", { rateLimit: limits, callbacks }), async ({ at, lines }) => {
    const client = at();
    await client.signIn(MINE);
    // As requests that the browser sent before it had the new cookie: the callback gets the claims of the newest token.
    const { cookie = "" } = client;
    for (let i = 0; i < 3; i++) await client.get("/me", { headers: { cookie } });
    assertEquals(seen, [0, 1, 2, 3]);
    const guess = { username: "bob", password: "guess" };
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await at().signIn(guess)).statusCode);
    assertEquals(statuses.at(-1), 429);
    for (let i = 0; i < 10; i++) await client.get("/me");
    const [warning, ...more] = coded(lines, "FST_AUTHJS_WARN_TENANT_CONFIG");
    assertEquals(more, []);
    assertStringIncludes(warning!.msg, "Keep the object");
  });
});

Deno.test("objects that change now and then are not warned of", () =>
  withApp(() => tenantConfig("acme"), async ({ at, lines }) => {
    await withClock(async (clock) => {
      for (let i = 0; i < 15; i++) {
        await at().get("/me");
        clock.now += 61_000;
      }
    });
    assertEquals(coded(lines, "FST_AUTHJS_WARN_TENANT_CONFIG"), []);
  }));

Deno.test("objects of one tenant that are kept, such as one for each host, are not warned of", () => {
  const kept = new Map([[ACME, tenantConfig("acme")], ["acme.test", tenantConfig("acme")]]);
  return withApp(byHost(kept), async ({ at, lines }) => {
    for (let i = 0; i < 15; i++) for (const host of kept.keys()) await at(host).get("/me");
    assertEquals(coded(lines, "FST_AUTHJS_WARN_TENANT_CONFIG"), []);
  });
});

Deno.test("an object for each request of one host is warned of, also if that of another host is kept", () => {
  const kept = tenantConfig("acme");
  return withApp(({ host }) => host === ACME ? kept : tenantConfig("acme"), async ({ at, lines }) => {
    for (let i = 0; i < 15; i++) for (const host of [ACME, "acme.test"]) await at(host).get("/me");
    assertEquals(coded(lines, "FST_AUTHJS_WARN_TENANT_CONFIG").length, 1);
  });
});

Deno.test("of 1,001 tenants the one that was not used for longest is forgotten, and works as before", () => {
  const rateLimit = { accountFromAddress: { max: 1, timeWindow: 60_000 } };
  const GLOBEX = "globex.example";
  const configs = new Map<string, FastifyAuthConfig>();
  const make = (host: string, overrides: Partial<FastifyAuthConfig>) => {
    const config = tenantConfig(host, overrides);
    configs.set(host, config);
    return config;
  };
  const choose: ConfigForRequest = ({ host }) => configs.get(host) ?? make(host, { providers: [] });
  return withApp(choose, async ({ at }) => {
    const browsers: Client[] = [];
    const statusOf = async (host: string) => (await at(host).signIn({ username: "bob", password: "guess" })).statusCode;
    for (const host of [ACME, UMBRELLA, GLOBEX]) {
      make(host, { rateLimit });
      const browser = at(host);
      await browser.signIn(MINE);
      browsers.push(browser);
      assertEquals([await statusOf(host), await statusOf(host)], [302, 429]);
    }
    for (let i = 4; i <= 1000; i++) await at(`${i}.example`).get("/me");
    await at(ACME).get("/me");
    await at("1001.example").get("/me");
    // Umbrella was forgotten, and its object has all that it had. Now Globex is.
    assertEquals(await statusOf(UMBRELLA), 429);
    for (const host of [ACME, UMBRELLA, GLOBEX]) make(host, { rateLimit });
    // A new object takes over what is remembered by name.
    const statuses = [await statusOf(ACME), await statusOf(UMBRELLA), await statusOf(GLOBEX)];
    assertEquals(statuses, [429, 429, 302]);
    assertEquals(await Promise.all(browsers.map(reader)), ["ada", "ada", "ada"]);
  });
});

Deno.test("attempts are limited for each tenant by itself", () => {
  const rateLimit = { accountFromAddress: { max: 2, timeWindow: 60_000 } };
  return withApp(byHost(twoTenants({ rateLimit })), async ({ at }) => {
    const guess = { username: "ada", password: "guess" };
    for (let i = 0; i < 2; i++) await at().signIn(guess);
    assertEquals((await at().signIn(guess)).statusCode, 429);
    const umbrella = at(UMBRELLA);
    await umbrella.signIn(MINE);
    assertEquals(await reader(umbrella), "ada");
  });
});

Deno.test("a route that only some tenants have is there for them alone", () => {
  const tenants = new Map([[ACME, tenantConfig("acme", { bearer: true })], [
    UMBRELLA,
    tenantConfig("umbrella"),
  ]]);
  return withApp(byHost(tenants), async ({ at }) => {
    const statuses = [];
    for (const host of [ACME, UMBRELLA]) {
      const client = at(host);
      await client.signIn(MINE);
      const json = { csrfToken: await client.csrfToken() };
      statuses.push((await client.request("POST", "/auth/token", { json })).statusCode);
    }
    assertEquals(statuses, [200, 404]);
  });
});

Deno.test("a provider whose id the router has no room for is said", async () => {
  const { logger, lines } = captureLog();
  const auth = createAuth(() => tenantConfig("acme"));
  await using app = Fastify({ logger, routerOptions: { maxParamLength: 5 } } as object) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  assertEquals((await app.inject("/auth/providers")).statusCode, 500);
  assert(lines.some(({ msg }) => msg.includes('"credentials" is longer') && msg.includes("maxParamLength")));
});

Deno.test("a guard with an option that a tenant does not support refuses its requests", () => {
  const tenants = new Map([[ACME, tenantConfig("acme", { stepUp: true })], [
    UMBRELLA,
    tenantConfig("umbrella"),
  ]]);
  return withApp(byHost(tenants), async ({ at }) => {
    for (const [host, status] of [[ACME, 200], [UMBRELLA, 500]] as const) {
      const client = at(host);
      await client.signIn(MINE);
      assertEquals((await client.get("/recent")).statusCode, status);
    }
  }, ({ app, auth }) => {
    app.get("/recent", { onRequest: auth.requireSession({ maxAge: 60 }) }, () => "");
  });
});

Deno.test("tenants whose accounts could be taken for those of others are refused", () => {
  const adapter = memoryAdapter();
  const provider = (issuer: string) => ({
    id: "sso",
    name: "SSO",
    type: "oidc" as const,
    issuer,
    clientId: "id",
    clientSecret: "secret",
  });
  const tenants = new Map([ACME, UMBRELLA, "same.example"].map((host) => {
    const issuer = host === UMBRELLA ? "https://two.example" : "https://one.example";
    return [host, tenantConfig(host, { adapter, providers: [passwordProvider(), provider(issuer)] })];
  }));
  return withApp(byHost(tenants), async ({ at, lines }) => {
    const statuses = [];
    for (const host of tenants.keys()) statuses.push((await at(host).get("/auth/providers")).statusCode);
    assertEquals(statuses, [200, 500, 200]);
    assert(lines.some(({ msg }) => msg.includes("different ids, or each tenant an adapter")));
    // One that moves to another issuer is refused, and those that stay are not, whoever came last.
    assertEquals((await at(ACME).get("/auth/providers")).statusCode, 200);
    tenants.set(ACME, tenantConfig(ACME, { adapter, providers: [provider("https://three.example")] }));
    assertEquals((await at(ACME).get("/auth/providers")).statusCode, 500);
    assertEquals((await at("same.example").get("/auth/providers")).statusCode, 200);
  });
});

Deno.test("the log says at boot that the configuration is chosen for each request, and then what each is", () => {
  const tenants = twoTenants();
  return withApp(byHost(tenants), async ({ app, at, lines }) => {
    await app.ready();
    const said = () => lines.filter(({ msg }) => msg.startsWith("FastifyAuth is mounted")).map(({ msg }) => msg);
    assertEquals(said().length, 1);
    assertMatch(said()[0]!, /at \/auth; a function chooses the configuration of each request/);
    await at().get("/me");
    await at().get("/me");
    assertEquals(said().length, 2);
    assertMatch(said()[1]!, /providers: credentials/);
  });
});

Deno.test("what is warned of at boot is logged with the first request of a tenant, once, with its name", () => {
  const providers = [GitHub({ clientId: "", clientSecret: "secret" })];
  return withApp(byHost(twoTenants({ providers })), async ({ at, lines }) => {
    assertEquals(coded(lines, "FST_AUTHJS_WARN_CREDENTIALS"), []);
    for (const host of [ACME, UMBRELLA, ACME]) await at(host).get("/me");
    await at(UMBRELLA).get("/auth/providers");
    const tenants = coded(lines, "FST_AUTHJS_WARN_CREDENTIALS").map(({ tenant }) => tenant);
    assertEquals(tenants, ["acme", "umbrella"]);
  });
});

Deno.test("tenants have origins of their own, and paths below one host", async () => {
  const tenants = new Map(["one", "two"].map((tenant) => {
    return [tenant, tenantConfig(tenant, { origin: `https://app.example/${tenant}/auth` })];
  }));
  const auth = createAuth(({ originalUrl }) => tenants.get(originalUrl.split("/")[1]!));
  await using app = Fastify({
    rewriteUrl: ({ url = "" }) => url.replace(/^\/(?:one|two)\//, "/"),
  }) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", { onRequest: auth.requireSession() }, (request) => auth.getSession(request));
  const page = await app.inject({ url: "/two/me", headers: HTML });
  assertEquals(page.headers.location, "/two/auth/signin?error=SessionRequired&callbackUrl=%2Ftwo%2Fme");
  const { credentials } = (await app.inject("/one/auth/providers")).json();
  assertEquals(credentials.callbackUrl, "https://app.example/one/auth/callback/credentials");
  const client = new Client(app, { host: "app.example" }, "/one/auth");
  await client.signIn(MINE);
  const statuses = [await client.get("/one/me"), await client.get("/two/me")].map((one) => one.statusCode);
  assertEquals(statuses, [200, 401]);
});

Deno.test("a document of the application describes guards of tenants", async () => {
  const auth = createAuth(byHost(twoTenants()) as ConfigForRequest);
  await using app = Fastify() as FastifyInstance;
  await app.register(swagger, { openapi: { info: { title: "", version: "1" } } } as object);
  await app.register(auth.plugin, { prefix: "/auth", openapi: true });
  app.get("/guarded", { onRequest: auth.requireSession() }, () => "");
  await app.ready();
  const document = (app as unknown as { swagger(): Record<string, never> }).swagger();
  const { paths, components } = JSON.parse(JSON.stringify(document));
  assertEquals(Object.keys(paths["/guarded"].get.responses).sort(), ["200", "401", "403", "503"]);
  assertMatch(JSON.stringify(components.securitySchemes), /authjs-\{tenant\}\.session-token/);
  assert("/auth/session" in paths);
});

Deno.test("over sockets, two hosts of one server sign in at two OpenID Providers with one id", async () => {
  await using one = await startIssuer({ user: { sub: "1", name: "Ada at Acme" } });
  await using two = await startIssuer({ user: { sub: "1", name: "Bob at Umbrella" } });
  const tenants = new Map([
    [ACME, tenantConfig("acme", { providers: [one.provider()] })],
    [UMBRELLA, tenantConfig("umbrella", { providers: [two.provider()] })],
  ]);
  const auth = createAuth(async (request) => await Promise.resolve(tenants.get(request.host)));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  await app.listen({ port: 0, host: "127.0.0.1" });
  const send = overHttp(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
  /** The server, as a browser at a host sees it. */
  const site = (host: string) => ({
    inject: (options: unknown) => {
      const { headers, ...request } = (typeof options === "string" ? { url: options } : options) as {
        url: string;
        headers?: Record<string, string>;
      };
      return send({ ...request, headers: { ...headers, host } });
    },
  });
  const [acme, umbrella] = [await one.signIn(site(ACME)), await two.signIn(site(UMBRELLA))];
  const name = async (inject: typeof acme) => (await inject("/me")).json().session?.user.name;
  assertEquals([await name(acme), await name(umbrella)], ["Ada at Acme", "Bob at Umbrella"]);
  const stolen = acme.cookie.replaceAll("authjs-acme.", "authjs-umbrella.");
  const answer = await send({ url: "/me", headers: { host: UMBRELLA, cookie: stolen } });
  assertEquals(answer.json(), { session: null });
  // Neither provider was asked about users of the other.
  for (const issuer of [one, two]) {
    assertEquals(issuer.requests.filter((request) => request === "POST /token").length, 1);
    assertEquals(issuer.requests.filter((request) => request.includes("openid-configuration")).length, 1);
  }
});

Deno.test("an object of a function has no members that need a configuration alone", () => {
  const auth: TenantAuthObject = createAuth(() => undefined);
  const own: AuthObject = createAuth(testConfig());
  const names = Object.keys(own).filter((name) => !(name in auth)).sort();
  assertEquals(names, ["config", "revokeSession", "revokeSessions"]);
  assert(SECRET.length >= 32);
});
