/** Rotating the secret while several processes restart, in every state that two of them can be in. */
import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import type { FastifyAuthConfig } from "fastify-authjs";
import { captureLog, type LogLine, passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { attemptsOf } from "../../support/attempts.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { withEnvironment } from "../../support/environment.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { clearedCookies, locationOf, pathOf, signedInName } from "../../support/oauth_client.ts";
import { ScriptedProvider } from "../../support/scripted_provider.ts";

const OLD = "an-older-test-secret-of-at-least-32-chars";
const NEW = "a-newer-test-secret-of-at-least-32-chars!";
const NAME = "authjs.session-token";
const ADA = { username: "ada", password: "open" };

/** A process, and the one browser as it talks to it. */
interface Process {
  readonly client: Client;
  readonly lines: LogLine[];
}

/** Two processes behind one address, and what they share. */
interface Fleet {
  readonly a: Process;
  readonly b: Process;
  readonly provider: ScriptedProvider;
  /** The links that were mailed. */
  readonly links: string[];
}

interface Setup {
  secrets: [a: string[], b: string[]];
  overrides?: Partial<FastifyAuthConfig>;
}

async function withFleet(
  { secrets, overrides = {} }: Setup,
  run: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  await using provider = await ScriptedProvider.start();
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const links: string[] = [];
  const op = {
    id: "op",
    name: "OP",
    type: "oidc",
    clientId: "client",
    clientSecret: "secret",
    issuer: provider.issuer,
  };
  const mail = {
    id: "mail",
    name: "Mail",
    type: "email",
    from: "a@b.example",
    maxAge: 600,
    sendVerificationRequest: ({ url }: { url: string }) => void links.push(url),
  };
  const cookies = new Map<string, string>();
  const start = async (secret: string[]) => {
    const { logger, lines } = captureLog();
    const config = testConfig({
      providers: [passwordProvider(), { ...op, checks: ["state", "pkce", "nonce"] }, mail] as never,
      adapter: memoryAdapter(tables),
      session: { strategy: "jwt" },
      secret: secret.length === 1 ? secret[0]! : secret,
      ...overrides,
    });
    const app = await testApp(config, { logger });
    return { app, lines, client: Object.assign(new Client(app), { cookies }) };
  };
  const [a, b] = [await start(secrets[0]), await start(secrets[1])];
  await using _a = a.app;
  await using _b = b.app;
  await run({ a, b, provider, links });
}

/** The states of a rotation in three steps; in each, the two processes know each other's first secret. */
const STATES: Record<string, Setup["secrets"]> = {
  "{old} and {old, new}": [[OLD], [OLD, NEW]],
  "{old, new} and {new, old}": [[OLD, NEW], [NEW, OLD]],
  "{new, old} and {new}": [[NEW, OLD], [NEW]],
};

/** Each way round: which process begins. */
for (const [state, secrets] of Object.entries(STATES)) {
  for (const [way, order] of [["", secrets], [", the other way round", secrets.toReversed()]] as const) {
    const setup = { secrets: order as Setup["secrets"] };

    Deno.test(`${state}${way}: a session of one process is read, updated and ended by the other`, () =>
      withFleet(setup, async ({ a, b }) => {
        await a.client.signIn(ADA);
        for (const { client } of [b, a, b, a]) assertEquals(await signedInName(client), "ada");
        const csrfToken = await a.client.csrfToken();
        const updated = await b.client.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
        assertEquals(updated.json().user.name, "ada");
        assertEquals(await signedInName(a.client), "ada");
        assertEquals(await signOut(b.client, await a.client.csrfToken()), 302);
        for (const { client } of [a, b]) assertEquals(await signedInName(client), undefined);
        assertNoErrors(a, b);
      }));

    Deno.test(`${state}${way}: a session that one process renews is read by the other`, () =>
      withFleet({ ...setup, overrides: { session: { strategy: "jwt", updateAge: 0 } } }, async ({ a, b }) => {
        await a.client.signIn(ADA);
        for (const { client } of [a, b, a, b]) {
          const before = client.cookies.get(NAME);
          assertEquals(await signedInName(client), "ada");
          assert(client.cookies.get(NAME) !== before, "it is renewed");
        }
        assertNoErrors(a, b);
      }));

    Deno.test(`${state}${way}: a form of one process is accepted by the other`, () =>
      withFleet(setup, async ({ a, b }) => {
        const csrfToken = await a.client.csrfToken();
        assertEquals(await b.client.csrfToken(), csrfToken, "the other one keeps it");
        await b.client.post("/auth/callback/credentials", { ...ADA, csrfToken });
        assertEquals(await signedInName(a.client), "ada");
        assertEquals(await signOut(a.client, csrfToken), 302);
        assertEquals(await signedInName(b.client), undefined);
      }));

    Deno.test(`${state}${way}: a sign-in with a provider that begins in one process ends in the other`, () =>
      withFleet(setup, async ({ a, b, provider }) => {
        const csrfToken = await a.client.csrfToken();
        const started = await a.client.post("/auth/signin/op", { csrfToken });
        const answer = await b.client.get(pathOf(provider.authorize(locationOf(started))));
        assertEquals(attemptsOf(clearedCookies(answer)).length, 1);
        assertEquals(await signedInName(a.client), "Ada");
        assertNoErrors(a, b);
      }));

    Deno.test(`${state}${way}: a link that one process mailed signs in at the other`, () =>
      withFleet(setup, async ({ a, b, links }) => {
        await a.client.post("/auth/signin/mail", {
          csrfToken: await a.client.csrfToken(),
          email: "ada@example.com",
        });
        await b.client.confirm(pathOf(links[0]!));
        assertEquals(await signedInName(a.client), "");
        b.client.cookies.clear();
        const again = await b.client.confirm(pathOf(links[0]!));
        assertEquals(new URL(locationOf(again)).searchParams.get("error"), "Verification", "it works once");
      }));
  }
}

Deno.test("what was made two rotations ago is still accepted: a session, a form and a mailed link", () => {
  const newest = "the-newest-test-secret-of-at-least-32-chars";
  return withFleet({ secrets: [[OLD], [newest, NEW, OLD]] }, async ({ a, b, links }) => {
    const csrfToken = await a.client.csrfToken();
    await a.client.post("/auth/signin/mail", { csrfToken, email: "ada@example.com" });
    await a.client.signIn({ ...ADA, username: "bob" });
    assertEquals(await signedInName(b.client), "bob");
    assertEquals(await signOut(b.client, csrfToken), 302);
    await b.client.confirm(pathOf(links[0]!));
    assertEquals(await signedInName(b.client), "");
  });
});

/** In one step: what one process makes, the other one cannot read. */
const ONE_STEP: Setup = { secrets: [[OLD], [NEW, OLD]] };

Deno.test("{old} and {new, old}: the old process cannot read a session of the new secret, and leaves its cookie", () =>
  withFleet(ONE_STEP, async ({ a, b }) => {
    await b.client.signIn(ADA);
    const token = b.client.cookies.get(NAME);
    for (
      const url of ["/me", "/auth/session", "/auth/signin", "/auth/csrf", "/auth/providers", "/auth/signout"]
    ) {
      assertEquals((await a.client.get(url)).statusCode, 200, url);
      assertEquals(a.client.cookies.get(NAME), token, url);
    }
    assertEquals(await signedInName(a.client), undefined);
    const csrfToken = await a.client.csrfToken();
    const updated = await a.client.request("POST", "/auth/session", {
      json: { csrfToken, data: { name: "x" } },
    });
    assertEquals([updated.statusCode, updated.body], [200, "null"]);
    assertEquals(await signedInName(b.client), "ada");
    assertNoErrors(a, b);
  }));

Deno.test("{old} and {new, old}: the old process ends a session that it cannot read, and begins another", () =>
  withFleet(ONE_STEP, async ({ a, b }) => {
    await b.client.signIn(ADA);
    assertEquals(await signOut(a.client, await a.client.csrfToken()), 302);
    assertEquals(await signedInName(b.client), undefined);
    await b.client.signIn(ADA);
    await a.client.signIn({ ...ADA, username: "eve" });
    for (const { client } of [a, b]) assertEquals(await signedInName(client), "eve");
    assertNoErrors(a, b);
  }));

Deno.test("{old} and {new, old}: a sign-in of the new process that comes back to the old one can still end in the new one", () =>
  withFleet(ONE_STEP, async ({ a, b, provider }) => {
    const started = await b.client.post("/auth/signin/op", { csrfToken: await b.client.csrfToken() });
    const callback = pathOf(provider.authorize(locationOf(started)));
    const refused = await a.client.get(callback);
    assertEquals([refused.statusCode, clearedCookies(refused)], [302, []]);
    assertEquals(provider.paths.filter((path) => path === "/token"), [], "the code is still good");
    const answer = await b.client.get(callback);
    assertEquals(attemptsOf(clearedCookies(answer)).length, 1);
    assertEquals(await signedInName(b.client), "Ada");
    assertNoErrors(a, b);
  }));

Deno.test("{old} and {new, old}: what the old process began ends in the new one", () =>
  withFleet(ONE_STEP, async ({ a, b, provider, links }) => {
    const csrfToken = await a.client.csrfToken();
    const started = await a.client.post("/auth/signin/op", { csrfToken });
    await a.client.post("/auth/signin/mail", { csrfToken, email: "ada@example.com" });
    await b.client.get(pathOf(provider.authorize(locationOf(started))));
    assertEquals(await signedInName(b.client), "Ada");
    assertEquals(await signOut(b.client, csrfToken), 302);
    await b.client.confirm(pathOf(links[0]!));
    assertEquals((await b.client.get("/me")).json().session.user.email, "ada@example.com");
  }));

Deno.test("a CSRF cookie of core's own, made with a list of secrets, is accepted while they are rotated", () =>
  withFleet({ secrets: [[OLD, NEW], [NEW, OLD]] }, async ({ a, b }) => {
    for (const secret of [OLD, NEW, `${OLD},${NEW}`, `${NEW},${OLD}`]) {
      for (const { client } of [a, b]) {
        const token = "0123456789abcdef";
        const hash = createHash("sha256").update(`${token}${secret}`).digest("hex");
        client.cookies.set("authjs.csrf-token", `${token}%7C${hash}`);
        await client.post("/auth/callback/credentials", { ...ADA, csrfToken: token });
        assertEquals(await signedInName(client), "ada", secret);
        client.cookies.clear();
      }
    }
  }));

Deno.test("a CSRF cookie of another secret, of none, or with another token is refused as before", () =>
  withFleet({ secrets: [[OLD, NEW], [NEW, OLD]] }, async ({ a }) => {
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    const cases = [
      ["token", `token%7C${hash("tokenanother-secret")}`],
      ["token", `token%7C${hash("token")}`],
      ["token", `token%7C${hash(`token,${OLD}`)}`],
      ["token", `token%7C${hash(`token${OLD}`)}%7C`.replace(/..%7C$/, "00")],
      ["token", "token"],
      ["token", "token%7C"],
      ["", `%7C${hash("x")}`],
      ["other", `token%7C${hash(`token${OLD}`)}`],
    ] as const;
    for (const [csrfToken, cookie] of cases) {
      a.client.cookies.set("authjs.csrf-token", cookie);
      const answer = await a.client.post("/auth/callback/credentials", { ...ADA, csrfToken });
      assertEquals(new URL(locationOf(answer)).searchParams.get("error"), "MissingCSRF", cookie);
    }
  }));

Deno.test("with AUTH_SECRET_1 the new secret comes first at once; the old one there makes it known first", async () => {
  const { secret: _secret, ...config } = testConfig();
  const client = async (environment: Record<string, string>, cookies: Map<string, string>) =>
    await withEnvironment(environment, async () => {
      const app = await testApp({ ...config });
      return { app, client: Object.assign(new Client(app), { cookies }) };
    });
  const steps: Record<string, string>[] = [
    { AUTH_SECRET: OLD },
    { AUTH_SECRET: NEW, AUTH_SECRET_1: OLD },
    { AUTH_SECRET: OLD, AUTH_SECRET_1: NEW },
    { AUTH_SECRET: NEW },
  ];
  for (let step = 0; step < 3; step++) {
    const cookies = new Map<string, string>();
    const [before, after] = [await client(steps[step]!, cookies), await client(steps[step + 1]!, cookies)];
    await using _before = before.app;
    await using _after = after.app;
    for (const [one, other] of [[before, after], [after, before]] as const) {
      await one.client.signIn(ADA);
      assertEquals(await signedInName(other.client), "ada", `step ${step + 1}`);
      assertEquals(await signOut(other.client, await one.client.csrfToken()), 302);
      assertEquals(await signedInName(one.client), undefined);
    }
  }

  // In one step: what the new process makes, the old one cannot read.
  const cookies = new Map<string, string>();
  const [old, both] = [await client(steps[0]!, cookies), await client(steps[2]!, cookies)];
  await using _old = old.app;
  await using _both = both.app;
  await both.client.signIn(ADA);
  assertEquals(await signedInName(old.client), undefined);
  assertEquals(await signedInName(both.client), "ada");
});

Deno.test("an update of a session in chunks, of a key that is not known here, changes no cookie", () =>
  withFleet({
    ...ONE_STEP,
    overrides: { callbacks: { jwt: ({ token }) => ({ ...token, big: "x".repeat(3500) }) } },
  }, async ({ a, b }) => {
    await b.client.signIn(ADA);
    assert(b.client.cookies.has(`${NAME}.1`));
    const csrfToken = await a.client.csrfToken();
    const answer = await a.client.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
    assertEquals([answer.body, setCookies(answer).filter((line) => line.startsWith(NAME))], ["null", []]);
    assertEquals(await signedInName(b.client), "ada");
  }));

async function signOut(client: Client, csrfToken: string): Promise<number> {
  const answer: Answer = await client.post("/auth/signout", { csrfToken });
  assertEquals(new URL(locationOf(answer)).search, "");
  return answer.statusCode;
}

function assertNoErrors(...processes: Process[]): void {
  for (const { lines } of processes) assertEquals(lines.filter(({ level }) => level >= 50), []);
}
