/**
 * The `tenant` option: what one tenant hands out is of no use at another that has the same secret, providers and
 * database. The cookies are renamed to those of the other one, as an attacker would.
 */
import { assert, assertEquals, assertFalse, assertMatch, assertNotEquals } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import {
  createAuth,
  FastifyAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  getSession,
  memoryStore,
} from "fastify-authjs";
import { withSessionList } from "fastify-authjs/adapters";
import { signedIn, startIssuer } from "fastify-authjs/testing";
import { testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { emptyTables, ORIGIN, WebAuthnClient, webAuthnConfig } from "../../support/webauthn.ts";
import { SoftwareAuthenticator } from "../../support/webauthn_authenticator.ts";

const MINE = { username: "ada", password: "open" };

interface Pair extends AsyncDisposable {
  readonly a: FastifyInstance;
  readonly b: FastifyInstance;
}

/** The same prefix for the attempts of both, which their keys are derived for: only the secrets differ then. */
const SAME_NAMES: NonNullable<FastifyAuthConfig["cookies"]> = { state: { name: "own.state" } };

/** Two applications whose configurations differ in nothing but their tenants. */
async function pair(config: FastifyAuthConfig): Promise<Pair> {
  const a = await testApp({ ...config, tenant: "a" });
  const b = await testApp({ ...config, tenant: "b" });
  const close = async () => void await Promise.all([a.close(), b.close()]);
  return { a, b, [Symbol.asyncDispose]: close };
}

/** The cookies of a browser, under the names that the other tenant has for them. */
function moveTo(app: FastifyInstance, client: Client): Client {
  return copyTo(new Client(app), client);
}

function copyTo<C extends Client>(copy: C, client: Client): C {
  for (const [name, value] of client.cookies) copy.cookies.set(name.replace("authjs-a.", "authjs-b."), value);
  return copy;
}

async function reader(client: Client): Promise<string | null> {
  return (await client.get("/me")).json().session?.user.name ?? null;
}

function tables(): MemoryTables {
  return { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
}

Deno.test("a session cookie of one tenant is none of another, under any name", async () => {
  await using apps = await pair(testConfig());
  const client = new Client(apps.a);
  await client.signIn(MINE);
  assertEquals([...client.cookies.keys()].sort(), [
    "authjs-a.callback-url",
    "authjs-a.csrf-token",
    "authjs-a.session-token",
  ]);
  assertEquals(await reader(client), "ada");
  assertEquals(await reader(moveTo(apps.b, client)), null);
});

Deno.test("users are signed in at two tenants of one host at the same time", async () => {
  const [a, b] = [testConfig({ tenant: "a" }), testConfig({ tenant: "ü/ö; =" })];
  await using app = Fastify() as FastifyInstance;
  await app.register(FastifyAuth(a), { prefix: "/a" });
  await app.register(FastifyAuth(b), { prefix: "/b" });
  app.get("/names", async (request) => [await getSession(request, a), await getSession(request, b)]);
  const names = async (client: Client) => {
    const sessions: ({ user: { name: string } } | null)[] = (await client.get("/names")).json();
    return sessions.map((session) => session?.user.name);
  };
  const atA = new Client(app, {}, "/a"), atB = new Client(app, {}, "/b");
  await atA.signIn(MINE);
  for (const [name, value] of atA.cookies) atB.cookies.set(name, value);
  assertEquals(await names(atB), ["ada", undefined]);
  await atB.signIn({ ...MINE, username: "bob" });
  assertEquals(await names(atB), ["ada", "bob"]);
  await atB.signOut();
  assertEquals(await names(atB), ["ada", undefined]);
});

Deno.test("over https the names keep their prefixes", async () => {
  await using app = await testApp(testConfig({ tenant: "a", origin: "https://app.example" }));
  const client = new Client(app);
  await client.signIn(MINE);
  assertEquals([...client.cookies.keys()].sort(), [
    "__Host-authjs-a.callback-url",
    "__Host-authjs-a.csrf-token",
    "__Secure-authjs-a.session-token",
  ]);
  assertEquals(await reader(client), "ada");
});

Deno.test("names of cookies that are configured stay, and the cookies are bound all the same", async () => {
  const secret = "a secret of session tokens, 32 characters or more";
  const configs: Partial<FastifyAuthConfig>[] = [{}, { jwt: { secret } as never }];
  for (const own of configs) {
    await using apps = await pair(testConfig({ cookies: { sessionToken: { name: "own" } }, ...own }));
    const client = new Client(apps.a);
    await client.signIn(MINE);
    assert(client.cookies.has("own"));
    assertEquals([await reader(client), await reader(moveTo(apps.b, client))], ["ada", null]);
  }
});

Deno.test("what a configuration says of sessions and their cookies stays with a tenant", async () => {
  const HOUR = 3600;
  const jwt = { secret: "a secret of session tokens, 32 characters or more", maxAge: 2 * HOUR } as never;
  const options = { domain: "example.com", sameSite: "strict", partitioned: true } as const;
  const cookies = { sessionToken: { options }, csrfToken: { options: { domain: "example.com" } } };
  for (const overrides of [{ session: { maxAge: HOUR } }, { jwt }, { session: { maxAge: HOUR }, jwt }]) {
    await using app = await testApp(testConfig({ cookies, ...overrides, tenant: "a" }));
    const client = new Client(app);
    const sent = setCookies(await client.signIn(MINE));
    const line = sent.find((each) => each.startsWith("authjs-a.session-token="))!;
    for (const attribute of ["Domain=example.com", "SameSite=Strict", "Partitioned", "HttpOnly", "Path=/"]) {
      assert(line.includes(attribute), line);
    }
    const { expires } = (await client.get("/me")).json().session;
    const hours = (Date.parse(expires) - Date.now()) / HOUR / 1000;
    assert(Math.abs(hours - ("session" in overrides ? 1 : 2)) < 0.1, `${hours} hours`);
  }
});

Deno.test("a session of a codec of the application is none of another tenant", async () => {
  let seen: unknown;
  const sealed = (claims: unknown) => btoa(JSON.stringify(claims));
  const config = testConfig({
    jwt: {
      encode: ({ token }) => sealed(token),
      decode: ({ token }) => token === "spent" ? null : JSON.parse(atob(token!)),
    },
    callbacks: {
      jwt({ token }) {
        seen = token;
        return token;
      },
    },
  });
  await using apps = await pair(config);
  const client = new Client(apps.a);
  await client.signIn(MINE);
  assertEquals(await reader(client), "ada");
  assertFalse(JSON.stringify(seen).includes("tenant"));
  assertEquals(await reader(moveTo(apps.b, client)), null);
  client.cookies.set("authjs-a.session-token", "spent");
  assertEquals(await reader(client), null);
});

Deno.test("a bearer token of one tenant is none of another", async () => {
  await using apps = await pair(testConfig({ bearer: true }));
  const client = new Client(apps.a);
  await client.signIn(MINE);
  const json = { csrfToken: await client.csrfToken() };
  const { access_token } = (await client.request("POST", "/auth/token", { json })).json();
  const names = [apps.a, apps.b].map((app) => reader(new Client(app, { authorization: `Bearer ${access_token}` })));
  assertEquals(await Promise.all(names), ["ada", null]);
});

Deno.test("a CSRF token of one tenant is none of another", async () => {
  await using apps = await pair(testConfig());
  const client = new Client(apps.a);
  const csrfToken = await client.csrfToken();
  const moved = moveTo(apps.b, client);
  const form = { csrfToken, ...MINE };
  await moved.post("/auth/callback/credentials", form);
  assertEquals(await reader(moved), null);
  await client.post("/auth/callback/credentials", form);
  assertEquals(await reader(client), "ada");
});

for (const bearer of [false, true]) {
  const what = bearer ? "bearer token for a session" : "session";
  Deno.test(`a ${what} in the database of several tenants is of one of them`, async () => {
    const adapter = memoryAdapter();
    const config = testConfig({ adapter, bearer });
    await adapter.createUser({ id: "id-ada", name: "ada", email: "ada@example.com", emailVerified: null });
    await using apps = await pair({ ...config, session: { strategy: "database" } });
    const client = new Client(apps.a);
    await client.signIn(MINE);
    assertEquals(await reader(client), "ada");
    if (!bearer) {
      assertEquals(await reader(moveTo(apps.b, client)), null);
      assertEquals(await reader(client), "ada");
      await moveTo(apps.b, client).signOut();
      assertEquals(await reader(client), "ada");
      for (const token of ["row", "row.abcd"]) {
        const elsewhere = new Client(apps.a);
        elsewhere.cookies.set("authjs-a.session-token", token);
        assertEquals(await reader(elsewhere), null, "a token without the mark of a tenant");
      }
      await client.signOut();
      assertEquals(await reader(client), null);
      return;
    }
    const json = { csrfToken: await client.csrfToken() };
    const { access_token } = (await client.request("POST", "/auth/token", { json })).json();
    const headers = { authorization: `Bearer ${access_token}` };
    assertEquals(await reader(new Client(apps.a, headers)), "ada");
    assertEquals(await reader(new Client(apps.b, headers)), null);
  });
}

Deno.test("sessions in one database are listed and ended for their tenant alone", async () => {
  const rows = tables();
  const memory = memoryAdapter(rows);
  const list = (userId: string) => [...rows.sessions.values()].filter((row) => row.userId === userId);
  const adapter = withSessionList(memory, list);
  const [a, b] = ["a", "b"].map((tenant) => createAuth(testConfig({ adapter, providers: [], tenant })));
  await using app = Fastify() as FastifyInstance;
  await app.register(a!.plugin, { prefix: "/a" });
  await app.register(b!.plugin, { prefix: "/b" });
  app.get("/a", (request) => a!.listSessions(request));
  app.get("/b", (request) => b!.listSessions(request));
  const user = { id: "ada", name: "Ada", email: "ada@example.com" };
  const [atA, atB] = [await signedIn(app, a!, { user }), await signedIn(app, b!, { user })];
  assertEquals([(await atA("/a")).json().length, (await atB("/b")).json().length], [1, 1]);
  await b!.revokeSessions("ada");
  assertEquals([(await atA("/a")).statusCode, (await atB("/b")).statusCode], [200, 401]);
});

Deno.test("how a user signed in at one tenant, beside a session in a database, does not count at another", async () => {
  const config = testConfig({ adapter: memoryAdapter(tables()), providers: [], stepUp: true });
  const [a, b] = ["a", "b"].map((tenant) => createAuth({ ...config, tenant }));
  await using app = Fastify() as FastifyInstance;
  await app.register(a!.plugin, { prefix: "/a" });
  await app.register(b!.plugin, { prefix: "/b" });
  app.get("/at-a", { onRequest: a!.requireSession({ amr: "otp" }) }, () => "a");
  app.get("/at-b", { onRequest: b!.requireSession({ amr: "otp" }) }, () => "b");
  const user = { id: "ada", name: "Ada", email: "ada@example.com" };
  const otp = await signedIn(app, a!, { user, claims: { amr: ["otp"] } });
  const password = await signedIn(app, b!, { user, claims: { amr: ["pwd"] } });
  const cookiesOf = ({ cookie }: { readonly cookie: string }): Record<string, string> =>
    Object.fromEntries(cookie.split("; ").map((pair) => pair.split("=")));
  const [atA, atB] = [cookiesOf(otp), cookiesOf(password)];
  assertEquals(Object.keys(atA).sort(), ["authjs-a.session-token", "authjs-a.sign-in"]);
  assertEquals((await otp("/at-a")).body, "a");
  const codeAtB = async (session = "", signIn = "") => {
    const cookie = `authjs-b.session-token=${session}; authjs-b.sign-in=${signIn}`;
    return (await app.inject({ url: "/at-b", headers: { cookie } })).json().code;
  };
  const session = atB["authjs-b.session-token"], signIn = atA["authjs-a.sign-in"];
  assertEquals(await codeAtB(session, atB["authjs-b.sign-in"]), "FST_AUTHJS_STEP_UP_REQUIRED");
  assertEquals(await codeAtB(session, signIn), "FST_AUTHJS_STEP_UP_REQUIRED");
  assertEquals(await codeAtB(atA["authjs-a.session-token"], signIn), "FST_AUTHJS_UNAUTHENTICATED");
});

Deno.test("a store of several tenants keeps their users apart", async () => {
  const store = memoryStore();
  const [a, b] = ["a", "b"].map((tenant) => createAuth(testConfig({ store, revocable: true, tenant })));
  await using app = Fastify() as FastifyInstance;
  await app.register(a!.plugin, { prefix: "/auth" });
  await app.register(b!.plugin, { prefix: "/b/auth" });
  app.get("/a", (request) => a!.listSessions(request));
  app.get("/b", (request) => b!.listSessions(request));
  const [atA, atB] = [new Client(app), new Client(app, {}, "/b/auth")];
  await atA.signIn(MINE);
  await atB.signIn(MINE);
  assertEquals([(await atA.get("/a")).json().length, (await atB.get("/b")).json().length], [1, 1]);
  await b!.revokeSessions("id-ada");
  assertEquals([(await atA.get("/a")).statusCode, (await atB.get("/b")).statusCode], [200, 401]);
});

Deno.test("a sign-in at a provider that one tenant began is not finished at another", async () => {
  await using issuer = await startIssuer();
  const checks = ["pkce", "state", "nonce"] as const;
  const providers = [issuer.provider({ checks: [...checks] })];
  await using apps = await pair(testConfig({ providers, cookies: SAME_NAMES }));
  const begin = async (client: Client) => {
    const csrfToken = await client.csrfToken();
    const { headers } = await client.post("/auth/signin/issuer", { csrfToken });
    const response = await fetch(String(headers.location), { redirect: "manual" });
    await response.body?.cancel();
    const { pathname, search } = new URL(response.headers.get("location")!);
    return pathname + search;
  };
  const client = new Client(apps.a);
  const callback = await begin(client);
  const moved = moveTo(apps.b, client);
  const refused = await moved.get(callback);
  assertMatch(String(refused.headers.location), /error=/);
  assertEquals([await reader(moved), issuer.requests.includes("POST /token")], [null, false]);
  await client.get(callback);
  assertEquals(await reader(client), "Ada");
});

Deno.test("a link of an account that one tenant began is not finished at another, also by the same user", async () => {
  await using issuer = await startIssuer();
  const rows = tables();
  const config = testConfig({
    adapter: memoryAdapter(rows),
    providers: [issuer.provider()],
    cookies: SAME_NAMES,
  });
  const [a, b] = ["a", "b"].map((tenant) => createAuth({ ...config, tenant }));
  await using app = Fastify() as FastifyInstance;
  await app.register(a!.plugin, { prefix: "/a" });
  await app.register(b!.plugin, { prefix: "/b" });
  app.post("/link", (request, reply) => a!.linkAccount(request, reply, "issuer"));
  const user = { id: "ada", name: "Ada", email: "ada@example.com" };
  const [atA, atB] = [await signedIn(app, a!, { user }), await signedIn(app, b!, { user })];
  const begun = await atA({ method: "POST", url: "/link", headers: { "sec-fetch-site": "same-origin" } });
  const response = await fetch(String(begun.headers.location), { redirect: "manual" });
  await response.body?.cancel();
  const { search } = new URL(response.headers.get("location")!);
  const others = atA.cookie.split("; ").filter((cookie) => !cookie.includes("session-token="));
  const cookie = others.join("; ").replaceAll("authjs-a.", "authjs-b.");
  await atB({ url: `/b/callback/issuer${search}`, headers: { cookie } });
  assertEquals(rows.accounts, []);
  await atA(`/a/callback/issuer${search}`);
  assertEquals(rows.accounts.length, 1);
});

for (const own of [undefined, "a-secret-of-the-provider-of-32-characters"]) {
  const whose = own === undefined ? "" : ", also with a secret of the provider";
  Deno.test(`a mailed link of one tenant does not sign in at another${whose}`, async () => {
    const links: string[] = [];
    const rows = tables();
    const provider = {
      id: "email",
      type: "email" as const,
      name: "E-mail",
      maxAge: 600,
      sendVerificationRequest: ({ url }: { url: string }) => void links.push(url),
      ...(own !== undefined && { secret: own }),
    };
    await using apps = await pair(
      testConfig({ adapter: memoryAdapter(rows), providers: [provider as never] }),
    );
    const client = new Client(apps.a);
    const email = "ada@example.com";
    await client.post("/auth/signin/email", { csrfToken: await client.csrfToken(), email });
    const { pathname, search } = new URL(links[0]!);
    const moved = moveTo(apps.b, client);
    const answer = await moved.confirm(pathname + search);
    assertMatch(String(answer.headers.location), /error=Verification/);
    const session = async (of: Client) => (await of.get("/me")).json().session?.user.email ?? null;
    assertEquals([await session(moved), rows.tokens.length], [null, 1]);
    await client.confirm(pathname + search);
    assertEquals(await session(client), email);
  });
}

Deno.test("a passkey challenge of one tenant is none of another", async () => {
  const rows = emptyTables();
  await using apps = await pair(webAuthnConfig(rows, { cookies: SAME_NAMES }));
  const device = new SoftwareAuthenticator(ORIGIN);
  const client = new WebAuthnClient(apps.a);
  await client.register(device, { email: "ada@example.com" });
  await client.signOut();
  const { options } = await client.options({ action: "authenticate" });
  const moved = copyTo(new WebAuthnClient(apps.b), client);
  assertNotEquals([...moved.cookies.keys()], [...client.cookies.keys()]);
  await moved.send("authenticate", device.get(options));
  assertEquals(await moved.user(), null);
  await client.send("authenticate", device.get(options));
  assertEquals((await client.user())?.email, "ada@example.com");
});

Deno.test("a secret can be rotated, and a tenant keeps its sessions", async () => {
  const [old, current] = [
    "an-old-secret-of-at-least-32-characters",
    "a-new-secret-of-at-least-32-characters",
  ];
  for (const kept of [{}, { adapter: memoryAdapter() }]) {
    const config = (secret: string[]) => testConfig({ secret, tenant: "a", providers: [], ...kept });
    await using before = await testApp(config([old]));
    await using after = await testApp(config([current, old]));
    await using without = await testApp(config([current]));
    const { cookie } = await signedIn(before, config([old]), {
      user: { name: "ada", email: "ada@a.example" },
    });
    const readers = [after, without].map(async (app) =>
      (await app.inject({ url: "/me", headers: { cookie } })).json().session?.user.name
    );
    assertEquals(await Promise.all(readers), ["ada", undefined]);
  }
});

Deno.test("signing out at one tenant removes the cookies of that one", async () => {
  await using apps = await pair(testConfig());
  const client = new Client(apps.a);
  await client.signIn(MINE);
  const answer: Answer = await client.signOut();
  const removed = setCookies(answer).filter((line) => /max-age=0/i.test(line));
  assertEquals(removed.map((line) => line.split("=")[0]), ["authjs-a.session-token"]);
});

Deno.test("a tenant changes nothing of what is said of a secret and of a list that cannot be", async () => {
  const broken = testConfig({ tenant: "a", secret: 1 as never });
  const app = Fastify();
  app.register(FastifyAuth(broken), { prefix: "/auth" });
  const error = await app.ready().then(() => undefined, (error) => error);
  assertMatch(error.message, /secret/);
  await app.close();
  const adapter = withSessionList(memoryAdapter(), () => undefined as never);
  const auth = createAuth(testConfig({ adapter, providers: [], tenant: "a" }));
  await using lists = Fastify() as FastifyInstance;
  await lists.register(auth.plugin, { prefix: "/auth" });
  lists.get("/", (request) => auth.listSessions(request));
  const ada = await signedIn(lists, auth, { user: { id: "ada", name: "Ada", email: "ada@example.com" } });
  assertMatch((await ada("/")).json().message, /must return an array of rows/);
});

Deno.test("a tenant without a name is refused at boot", async () => {
  for (const tenant of ["", 1, "x".repeat(201)]) {
    const app = Fastify();
    app.register(FastifyAuth(testConfig({ tenant: tenant as string })), { prefix: "/auth" });
    const error = await app.ready().then(() => undefined, (error) => error);
    assert(error instanceof FastifyAuthError);
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
    assertMatch(error.message, /`tenant`/);
    await app.close();
  }
});
