/** A session whose user did not choose to be remembered ends with the browser, and lives for hours. */
import { assert, assertEquals, assertFalse, assertGreater, assertLess } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, memoryStore, type VerificationMailParams } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import { passwordProvider, testApp, testConfig } from "../support/app.ts";
import { type Answer, Client, setCookies } from "../support/client.ts";
import { withClock } from "../support/clock.ts";
import { memoryAdapter, type MemoryTables } from "../support/memory_adapter.ts";
import { locationOf, pathOf, startSignIn } from "../support/oauth_client.ts";
import { withProvider } from "../support/scripted_sign_in.ts";
import { emptyTables, ORIGIN, WebAuthnClient, webAuthnConfig } from "../support/webauthn.ts";
import { SoftwareAuthenticator } from "../support/webauthn_authenticator.ts";

const HOUR = 60 * 60, DAY = 24 * HOUR;
const SESSION = /^(?:__Secure-)?authjs\.session-token=[^;]/;

/** The cookie of the session that an answer sets. */
function sessionCookieOf(answer: Answer): string {
  const lines = setCookies(answer).filter((line) => SESSION.test(line));
  assertEquals(lines.length, 1, `${answer.statusCode} ${answer.body.slice(0, 200)}`);
  return lines[0]!;
}

function assertEndsWithBrowser(answer: Answer): void {
  const cookie = sessionCookieOf(answer);
  assertFalse(/max-age|expires/i.test(cookie), cookie);
}

function assertIsKept(answer: Answer): void {
  assert(/expires=/i.test(sessionCookieOf(answer)));
}

/** For how many seconds the session is said to live on. */
async function lifeOf(client: Client): Promise<number> {
  const { session } = (await client.get("/me")).json();
  return (Date.parse(session.expires) - Date.now()) / 1000;
}

function assertAbout(seconds: number, expected: number): void {
  assertGreater(seconds, expected - 120);
  assertLess(seconds, expected + 120);
}

function database(): { adapter: ReturnType<typeof memoryAdapter>; tables: MemoryTables } {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  tables.users.set("id-ada", { id: "id-ada", name: "Ada", email: "ada@example.com", emailVerified: null });
  return { tables, adapter: memoryAdapter(tables) };
}

const password = () => ({ providers: [passwordProvider()] });

function strategies(): [name: string, config: () => Partial<FastifyAuthConfig>][] {
  return [
    ["jwt", password],
    ["database", () => ({ ...password(), adapter: database().adapter, session: { strategy: "database" } })],
  ];
}

const FIELDS = { username: "ada", password: "open" };

for (const [strategy, config] of strategies()) {
  Deno.test(`rememberMe=false makes a session that ends with the browser (${strategy})`, async () => {
    await using app = await testApp(testConfig(config()));
    const client = new Client(app);
    assertEndsWithBrowser(await client.signIn({ ...FIELDS, rememberMe: "false" }));
    assertAbout(await lifeOf(client), 12 * HOUR);

    const other = new Client(app);
    assertIsKept(await other.signIn(FIELDS));
    assertAbout(await lifeOf(other), 30 * DAY);
    // What a check mark sends after the hidden field of a form.
    const csrfToken = await other.csrfToken();
    const payload = new URLSearchParams([
      ...Object.entries({ csrfToken, ...FIELDS }),
      ["rememberMe", "false"],
      ["rememberMe", "true"],
    ]).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    assertIsKept(await other.request("POST", "/auth/callback/credentials", { payload, headers }));
  });

  Deno.test(`a renewal and an update keep how long a session lives (${strategy})`, async () => {
    const callbacks = { session: ({ session }: { session: unknown }) => session as never };
    await using app = await testApp(testConfig({ ...config(), callbacks }));
    await withClock(async (clock) => {
      const client = new Client(app);
      await client.signIn({ ...FIELDS, rememberMe: "false" });
      clock.now += 6 * HOUR * 1000;
      assertEndsWithBrowser(await client.get("/me"));
      assertAbout(await lifeOf(client), 12 * HOUR);
      clock.now += 6 * HOUR * 1000;
      const csrfToken = await client.csrfToken();
      const updated = await client.request("POST", "/auth/session", { json: { csrfToken, data: { a: 1 } } });
      assertEndsWithBrowser(updated);
      assertAbout(await lifeOf(client), 12 * HOUR);
      clock.now += 13 * HOUR * 1000;
      assertEquals((await client.get("/me")).json().session, null);
    });
  });

  Deno.test(`session.ephemeralMaxAge sets the life, and false remembers everyone (${strategy})`, async () => {
    const { session, ...rest } = config();
    const with_ = (ephemeralMaxAge: number | false) => ({
      ...rest,
      session: { ...session, ephemeralMaxAge },
    });
    await using app = await testApp(testConfig(with_(HOUR)));
    const client = new Client(app);
    assertEndsWithBrowser(await client.signIn({ ...FIELDS, rememberMe: "false" }));
    assertAbout(await lifeOf(client), HOUR);

    await using always = await testApp(testConfig(with_(false)));
    const other = new Client(always);
    assertIsKept(await other.signIn({ ...FIELDS, rememberMe: "false" }));
    assertAbout(await lifeOf(other), 30 * DAY);
  });

  Deno.test(`once everyone is remembered, a session of before goes on as it was made (${strategy})`, async () => {
    const { session = {}, ...rest } = config();
    await using before = await testApp(testConfig({ ...rest, session }));
    const client = new Client(before);
    await client.signIn({ ...FIELDS, rememberMe: "false" });
    const always = { ...session, ephemeralMaxAge: false, updateAge: 0 } as const;
    await using since = await testApp(testConfig({ ...rest, session: always }));
    const later = new Client(since);
    for (const [name, value] of client.cookies) later.cookies.set(name, value);
    assertEndsWithBrowser(await later.get("/me"));
    assertAbout(await lifeOf(later), 12 * HOUR);
  });
}

Deno.test("session.ephemeralMaxAge is a number of seconds or false", async () => {
  for (const ephemeralMaxAge of [0, -1, "1h", true, NaN]) {
    let message = "";
    try {
      await testApp(testConfig({ ...password(), session: { ephemeralMaxAge } as never }));
    } catch (error) {
      message = (error as Error).message;
    }
    assert(message.includes("session.ephemeralMaxAge"), `${ephemeralMaxAge}: ${message}`);
  }
});

Deno.test("a field rememberMe of the form takes the place of the built-in box", async () => {
  const authorize = () => ({ id: "1" });
  const inputs = async (field: object, session = {}) => {
    const provider = Credentials({ credentials: { username: {}, ...field }, authorize } as never);
    await using app = await testApp(testConfig({ providers: [provider], session }));
    const { body } = await new Client(app).get("/auth/signin", { headers: { accept: "text/html" } });
    return [...body.matchAll(/<input[^>]* name="rememberMe"[^>]*>/g)].map(([input]) => input);
  };
  const [hidden, box] = await inputs({});
  assertEquals(hidden, '<input type="hidden" name="rememberMe" value="false">');
  assert(box?.includes('id="credentials-remember-me"'), box);
  const own = '<input type="checkbox" id="credentials-1" name="rememberMe">';
  const checkbox = { rememberMe: { type: "checkbox" } };
  // An unchecked box sends the hidden field alone.
  assertEquals(await inputs(checkbox), [hidden, own]);
  assertEquals(await inputs(checkbox, { ephemeralMaxAge: false }), [own]);
});

Deno.test("auth.signIn() takes rememberMe, from its options or from the fields", async () => {
  const auth = createAuth(testConfig());
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.post("/login/:choice", (request, reply) => {
    const { choice } = request.params as { choice: string };
    const options = choice === "option"
      ? { fields: FIELDS, rememberMe: false }
      : { fields: { ...FIELDS, rememberMe: choice } };
    return auth.signIn(request, reply, "credentials", options);
  });
  const client = new Client(app);
  assertEndsWithBrowser(await client.request("POST", "/login/option", { json: {} }));
  assertEndsWithBrowser(await client.request("POST", "/login/false", { json: {} }));
  assertIsKept(await client.request("POST", "/login/true", { json: {} }));
  // A sign-in that says nothing is as the session that it replaces, such as one that a guard asks for.
  const again = new Client(app);
  assertEndsWithBrowser(await again.signIn({ ...FIELDS, rememberMe: "false" }));
  assertEndsWithBrowser(await again.signIn(FIELDS));
  assertIsKept(await again.signIn({ ...FIELDS, rememberMe: "true" }));
});

Deno.test("a sign-in at a provider ends as it began", () =>
  withProvider({}, async ({ browser, provider }) => {
    const cases = [[{ rememberMe: "false" }, assertEndsWithBrowser], [{}, assertIsKept]] as const;
    for (const [form, check] of cases) {
      const client = browser();
      const started = locationOf(await startSignIn(client, "op", form));
      assertFalse(started.includes("rememberMe"));
      check(await client.get(pathOf(provider.authorize(started))));
    }
    // Only the start decides.
    const client = browser();
    const started = locationOf(await startSignIn(client));
    assertIsKept(await client.get(`${pathOf(provider.authorize(started))}&rememberMe=false`));
  }));

for (const way of ["link", "code"] as const) {
  Deno.test(`a mailed ${way} signs in as it was asked for`, async () => {
    const mails: VerificationMailParams[] = [];
    const email = {
      id: "email",
      type: "email" as const,
      name: "E-mail",
      maxAge: 3600,
      sendVerificationRequest: (params: VerificationMailParams) => void mails.push({ ...params, code: params.code! }),
    };
    const { adapter } = database();
    await using app = await testApp(testConfig({ adapter, providers: [email as never] }));
    for (const [choice, check] of [["false", assertEndsWithBrowser], ["true", assertIsKept]] as const) {
      const client = new Client(app);
      const csrfToken = await client.csrfToken();
      const form = { csrfToken, email: "ada@example.com", rememberMe: choice };
      await client.post("/auth/signin/email", form);
      const { url, code } = mails.at(-1)!;
      check(
        way === "link"
          ? await client.confirm(pathOf(url))
          : await client.post("/auth/callback/email", { csrfToken: await client.csrfToken(), code: code! }),
      );
    }
  });
}

for (const strategy of ["jwt", "database"] as const) {
  Deno.test(`a passkey signs in as its form says, and adding another keeps that (${strategy})`, async () => {
    await using app = await testApp(webAuthnConfig(emptyTables(), { session: { strategy } }));
    const client = new WebAuthnClient(app);
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    assertIsKept(await client.register(authenticator, { email: "ada@example.com" }));
    const { options } = await client.options({ action: "authenticate" });
    const data = JSON.stringify(authenticator.get(options));
    const form = { action: "authenticate", data, rememberMe: "false" };
    assertEndsWithBrowser(await client.post("/auth/callback/passkey", form));
    assertEndsWithBrowser(await client.register(new SoftwareAuthenticator(ORIGIN)));
    assertAbout(await lifeOf(client), 12 * HOUR);
  });
}

Deno.test("another process keeps it, and a list of sessions knows when it ends", async () => {
  const store = memoryStore();
  const config = testConfig({
    store,
    revocable: true,
    callbacks: { jwt: ({ token }) => ({ sub: token.sub! }) },
  });
  const auth = createAuth(config);
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.get("/sessions", (request) => auth.listSessions(request));
  await using other = await testApp({ ...config });
  const client = new Client(app);
  await client.signIn({ ...FIELDS, rememberMe: "false" });
  const [listed] = (await client.get("/sessions")).json();
  assertAbout((Date.parse(listed.expires) - Date.now()) / 1000, 12 * HOUR);
  await withClock(async () => {
    const elsewhere = new Client(other);
    for (const [name, value] of client.cookies) elsewhere.cookies.set(name, value);
    assertEndsWithBrowser(await elsewhere.get("/me"));
    assertAbout(await lifeOf(elsewhere), 12 * HOUR);
  }, Date.now() + 3 * HOUR * 1000);
});
