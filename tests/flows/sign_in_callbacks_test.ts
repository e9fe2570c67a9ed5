/** What callbacks, events and pages of the application are told of a sign-in, in core's order, and what fails it. */
import { AccountNotLinked, OAuthAccountNotLinked } from "@auth/core/errors";
import { decode, encode, type JWT } from "@auth/core/jwt";
import { assert, assertEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { SECRET, testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { mailProvider, reader, requestLink } from "../support/database_setup.ts";
import { codeFor, identityProvider, type Person, signInAs } from "../support/identity.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { pathOf } from "../support/oauth_client.ts";
import { emptyTables, ORIGIN, WebAuthnClient, webAuthnConfig } from "../support/webauthn.ts";
import { SoftwareAuthenticator } from "../support/webauthn_authenticator.ts";

const ADA: Person & { email: string } = { id: "1", name: "Ada", email: "ada@example.com" };
const COOKIE = "authjs.session-token";

/** An application with a provider, and what it was told, in order. */
async function toldApp(overrides: Partial<FastifyAuthConfig> = {}, options: Record<string, unknown> = {}) {
  const told: string[] = [];
  const users: unknown[] = [];
  const seen = (what: string, user?: unknown) => {
    told.push(what);
    if (user) users.push(user);
  };
  const app = await testApp(testConfig({
    providers: [identityProvider("one", options)],
    callbacks: {
      signIn({ user }) {
        seen("callback signIn", user);
        return true;
      },
      jwt({ token, user, trigger, isNewUser }) {
        if (trigger) seen(`callback jwt ${trigger} ${isNewUser}`, user);
        return token;
      },
    },
    events: {
      createUser: () => seen("event createUser"),
      linkAccount: () => seen("event linkAccount"),
      signIn: ({ user, isNewUser }) => seen(`event signIn ${isNewUser}`, user),
    },
    ...overrides,
  }));
  return { app, told, users, [Symbol.asyncDispose]: () => app.close() };
}

Deno.test("without an adapter nobody is a new user, and all are given one object of the user", async () => {
  const options = { account: () => void told.push("account()") };
  await using parts = await toldApp({}, options);
  const { app, told, users } = parts;
  await signInAs(new Client(app), "one", ADA);
  assertEquals(told, ["callback signIn", "callback jwt signIn undefined", "event signIn undefined"]);
  for (const user of users) assertStrictEquals(user, users[0]);
});

Deno.test("with an adapter a first sign-in is told of as a sign-up, a later one is not", async () => {
  await using parts = await toldApp({ adapter: memoryAdapter(), session: { strategy: "jwt" } });
  const { app, told } = parts;
  await signInAs(new Client(app), "one", ADA);
  assertEquals(told.splice(0), [
    "callback signIn",
    "event createUser",
    "event linkAccount",
    "callback jwt signUp true",
    "event signIn true",
  ]);
  await signInAs(new Client(app), "one", ADA);
  assertEquals(told, ["callback signIn", "callback jwt signIn false", "event signIn false"]);
});

Deno.test("pages.newUser is where a first sign-in leads over an adapter, and no other one", async () => {
  const pages = { newUser: "/welcome#form" };
  const leads = async (app: FastifyInstance) => {
    const { headers } = await signInAs(new Client(app), "one", ADA);
    const { pathname, hash, searchParams } = new URL(String(headers.location), "http://localhost");
    if (hash) assertEquals([hash, searchParams.has("callbackUrl")], ["#form", true]);
    return pathname;
  };
  for (const strategy of ["jwt", "database"] as const) {
    await using parts = await toldApp({ pages, adapter: memoryAdapter(), session: { strategy } });
    assertEquals([await leads(parts.app), await leads(parts.app)], ["/welcome", "/"]);
  }
  await using parts = await toldApp({ pages });
  assertEquals([await leads(parts.app), await leads(parts.app)], ["/", "/"]);
});

Deno.test("with sessions in a database the jwt callback has no part in a sign-in, a mailed link or a passkey", async () => {
  const called: string[] = [];
  const links: string[] = [];
  const overrides: Partial<FastifyAuthConfig> = {
    session: { strategy: "database" },
    callbacks: {
      jwt({ token }) {
        called.push("jwt");
        return token;
      },
    },
  };
  await using app = await testApp(testConfig({
    adapter: memoryAdapter(),
    providers: [identityProvider("one"), mailProvider("mail", links)],
    ...overrides,
  }));
  const client = new Client(app);
  await signInAs(client, "one", ADA);
  assertEquals(await reader(client), ADA.email);
  const mailed = new Client(app);
  await mailed.confirm(await requestLink(mailed, { links }, "bob@example.com"));
  assertEquals(await reader(mailed), "bob@example.com");
  await using passkeys = await testApp(webAuthnConfig(emptyTables(), overrides));
  const browser = new WebAuthnClient(passkeys);
  await browser.register(new SoftwareAuthenticator(ORIGIN), { email: "grace@example.com" });
  assertEquals((await browser.user())?.email, "grace@example.com");
  assertEquals(called, []);
});

Deno.test("the session of a sign-in exists when events.signIn is emitted", async () => {
  const tables = emptyTables();
  const rows: number[] = [];
  await using parts = await toldApp({
    adapter: memoryAdapter(tables),
    events: { signIn: () => void rows.push(tables.sessions.size) },
  });
  await signInAs(new Client(parts.app), "one", ADA);
  assertEquals(rows, [1]);
});

const fails = () => {
  throw new Error("no session");
};

for (
  const [what, overrides] of Object.entries<Partial<FastifyAuthConfig>>({
    "whose row cannot be written": { adapter: { ...memoryAdapter(), createSession: fails } },
    "whose token cannot be sealed": { jwt: { encode: fails } },
    "whose jwt callback throws": { callbacks: { jwt: fails } },
  })
) {
  Deno.test(`a session ${what} fails the sign-in before events.signIn`, async () => {
    const profile = (person: Person) => told.push("profile()") && person;
    await using parts = await toldApp(overrides, { profile });
    const { told } = parts;
    const client = new Client(parts.app);
    await signInAs(client, "one", ADA);
    assert(!client.cookies.has(COOKIE));
    assert(told.includes("profile()"));
    assertEquals(told.filter((each) => each.startsWith("event signIn")), []);
  });
}

Deno.test("a sign-in in progress is opened by jwt.secret, where it is set", async () => {
  const withSecrets = (secret: string, jwtSecret: string) =>
    toldApp({ secret: secret.repeat(32), jwt: { secret: jwtSecret.repeat(32) } as never });
  await using begun = await withSecrets("a", "y");
  await using same = await withSecrets("b", "y");
  await using other = await withSecrets("a", "z");
  for (const [parts, signsIn] of [[same, true], [other, false]] as const) {
    const client = new Client(begun.app);
    const csrfToken = await client.csrfToken();
    const { headers } = await client.post("/auth/signin/one", { csrfToken });
    const state = new URL(String(headers.location)).searchParams.get("state")!;
    const browser = new Client(parts.app);
    for (const [name, value] of client.cookies) browser.cookies.set(name, value);
    const query = new URLSearchParams({ code: codeFor(ADA), state });
    await browser.get(pathOf(`http://localhost/auth/callback/one?${query}`));
    assertEquals(browser.cookies.has(COOKIE), signsIn);
  }
});

Deno.test("a session to which an account is linked ends when it would have ended", async () => {
  const HOUR = 3600;
  await using app = await testApp(testConfig({
    adapter: memoryAdapter(),
    session: { strategy: "jwt" },
    providers: [identityProvider("one"), identityProvider("two")],
  }));
  const client = new Client(app);
  await signInAs(client, "one", ADA);
  const held = async () => {
    const token = await decode({ token: client.cookies.get(COOKIE)!, secret: SECRET, salt: COOKIE });
    return token!;
  };
  const { exp: _exp, ...token } = await held();
  client.cookies.set(COOKIE, await encode({ token, secret: SECRET, salt: COOKIE, maxAge: HOUR }));
  const { exp } = await held();
  await signInAs(client, "two", { id: "2", name: "Ada" });
  const linked = await held();
  assertEquals(linked.sub, token.sub);
  assert(linked.iat !== undefined && Math.abs(linked.exp! - exp!) <= 1, `${linked.exp} and ${exp}`);
});

Deno.test("an account is linked, too, if the session was renewed while its user was at the provider", async () => {
  const tables = emptyTables();
  await using app = await testApp(testConfig({
    adapter: memoryAdapter(tables),
    session: { strategy: "jwt", updateAge: 0 },
    providers: [identityProvider("one"), identityProvider("two")],
  }));
  const client = new Client(app);
  await signInAs(client, "one", ADA);
  const { headers } = await client.post("/auth/signin/two", { csrfToken: await client.csrfToken() });
  const before = client.cookies.get(COOKIE);
  await client.get("/me");
  assert(client.cookies.get(COOKIE) !== before);
  const state = new URL(String(headers.location)).searchParams.get("state")!;
  const query = new URLSearchParams({ code: codeFor({ id: "2", name: "Ada" }), state });
  await client.get(pathOf(`http://localhost/auth/callback/two?${query}`));
  assertEquals([tables.users.size, tables.accounts.map(({ provider }) => provider)], [1, ["one", "two"]]);
});

Deno.test("a signIn callback refuses a mailed link also with an error for accounts", async () => {
  for (const Refusal of [OAuthAccountNotLinked, AccountNotLinked]) {
    const tables = emptyTables();
    tables.users.set("ada", { id: "ada", email: ADA.email, emailVerified: null });
    const links: string[] = [];
    const signIn = ({ email }: { email?: { verificationRequest?: boolean } }) => {
      if (email?.verificationRequest) return true;
      throw new Refusal("Use the provider.");
    };
    const providers = [mailProvider("mail", links)];
    await using app = await testApp(testConfig({ adapter: memoryAdapter(tables), providers, callbacks: { signIn } }));
    const client = new Client(app);
    const answer = await client.confirm(await requestLink(client, { links }, ADA.email));
    assertStringIncludes(String(answer.headers.location), `error=${Refusal.type}`);
  }
});

Deno.test("a sign-in whose jwt callback returns null ends the session that the browser had", async () => {
  const jwt = ({ token, user }: { token: JWT; user?: { name?: string | null } }) => user?.name === "Bob" ? null : token;
  await using parts = await toldApp({ callbacks: { jwt } });
  const client = new Client(parts.app);
  await signInAs(client, "one", ADA);
  const copy = new Client(parts.app);
  copy.cookies.set(COOKIE, client.cookies.get(COOKIE)!);
  await signInAs(client, "one", { id: "2", name: "Bob" });
  assert(!client.cookies.has(COOKIE));
  assertEquals(await reader(copy), null);
});

Deno.test("a jwt callback that returns no token fails the sign-in: there is no session without a user", async () => {
  for (const returned of [undefined, "token"]) {
    for (const stepUp of [false, true]) {
      const jwt: unknown = ({ token, trigger }: { token: JWT; trigger?: string }) => trigger ? returned : token;
      await using parts = await toldApp({ stepUp, callbacks: { jwt: jwt as () => JWT } });
      const { app, told } = parts;
      const client = new Client(app);
      const answer = await signInAs(client, "one", ADA);
      assertStringIncludes(String(answer.headers.location), "error=Configuration");
      assertEquals([(await client.get("/me")).json().session, told], [null, []]);
    }
  }
});
