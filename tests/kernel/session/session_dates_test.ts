/** Sessions and sign-in links of databases whose dates come as text, numbers or objects. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Adapter, AdapterSession } from "@auth/core/adapters";
import { captureLog, testApp, testConfig } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { identityProvider, signInAs } from "../../support/identity.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { later } from "../../support/token_provider.ts";

const COOKIE = "authjs.session-token";
const HOUR = 60 * 60 * 1000;

/** How the rows of a test's database have their dates. */
type Format = (date: Date) => unknown;

const FORMATS: Record<string, Format> = {
  "ISO text": (date) => date.toISOString(),
  "SQL text": (date) => date.toISOString().replace("T", " ").slice(0, 19),
  "SQL text with a zone": (date) => date.toISOString().replace("T", " ").replace("Z", "+00"),
  seconds: (date) => Math.floor(date.valueOf() / 1000),
  "numeric text": (date) => String(date.valueOf()),
  bigint: (date) => BigInt(date.valueOf()),
  "an object": (date) => ({ valueOf: () => date.valueOf() }),
  "an object of Neo4j": (date) => ({ toStandardDate: () => date }),
};

/** A browser of an application over a database with such dates. */
async function withDates(
  format: Format,
  run: (parts: {
    client: Client;
    tables: { sessions: Map<string, AdapterSession> };
    lines: ReturnType<typeof captureLog>["lines"];
    links: string[];
    expire: (past: Date) => void;
  }) => Promise<void>,
): Promise<void> {
  const tables = { users: new Map(), accounts: [], sessions: new Map<string, AdapterSession>(), tokens: [] };
  const inner = memoryAdapter(tables);
  const adapter: Adapter = {
    ...inner,
    async createSession(session) {
      return { ...await inner.createSession(session), expires: format(session.expires) as Date };
    },
    async getSessionAndUser(token) {
      const found = await inner.getSessionAndUser(token);
      return found &&
        { ...found, session: { ...found.session, expires: format(found.session.expires) as Date } };
    },
    async useVerificationToken(asked) {
      const row = await inner.useVerificationToken(asked);
      return row && { ...row, expires: format(row.expires) as Date };
    },
  };
  const links: string[] = [];
  const { logger, lines } = captureLog();
  const mail = {
    id: "mail",
    name: "Mail",
    type: "email" as const,
    sendVerificationRequest: ({ url }: { url: string }) => void links.push(url),
    maxAge: 600,
  };
  await using app = await testApp(testConfig({ adapter, providers: [identityProvider("one"), mail] }), {
    logger,
  });
  const expire = (past: Date) => {
    for (const session of tables.sessions.values()) session.expires = past;
  };
  await run({ client: new Client(app), tables, lines, links, expire });
}

const reader = async (client: Client) => (await client.get("/me")).json().session?.user.email ?? null;

for (const [name, format] of Object.entries(FORMATS)) {
  Deno.test(`sessions whose end comes as ${name} begin, are prolonged and end as others`, () =>
    withDates(format, async ({ client, tables, expire, lines }) => {
      const answer = await signInAs(client, "one", { id: "1", email: "ada@example.com" });
      const line = setCookies(answer).find((cookie) => cookie.startsWith(`${COOKIE}=`))!;
      const expires = new Date(/expires=([^;]+)/i.exec(line)![1]!);
      assert(expires.valueOf() > Date.now() + 29 * 24 * HOUR, line);
      assertEquals(await reader(client), "ada@example.com");

      expire(new Date(Date.now() + HOUR));
      assertEquals(await reader(client), "ada@example.com");
      const [session] = tables.sessions.values();
      assert(session!.expires.valueOf() > Date.now() + 29 * 24 * HOUR, "due, so it was prolonged");

      expire(new Date(Date.now() - 60_000));
      assertEquals(await reader(client), null);
      assertEquals(tables.sessions.size, 0);
      assertEquals(lines.filter(({ level }) => level >= 40), []);
    }));

  Deno.test(`a sign-in link whose end comes as ${name} ends`, async () => {
    for (const [seconds, expected] of [[660, null], [0, "ada@example.com"]] as const) {
      await withDates(format, async ({ client, links }) => {
        const csrfToken = await client.csrfToken();
        await client.post("/auth/signin/mail", { csrfToken, email: "ada@example.com" });
        const { pathname, search } = new URL(links[0]!);
        const answer = await later(seconds, () => client.confirm(pathname + search));
        assertEquals(String(answer.headers.location).includes("error=Verification"), expected === null);
        assertEquals(await reader(client), expected);
      });
    }
  });
}

Deno.test("an end that cannot be read ends the session and is logged once, with what to change", () =>
  withDates(() => "next Tuesday", async ({ client, tables, lines }) => {
    for (let i = 0; i < 2; i++) {
      await signInAs(client, "one", { id: "1", email: "ada@example.com" });
      assert(client.cookies.has(COOKIE), "the browser gets the session that was written");
      assertEquals(await reader(client), null);
      assertEquals(tables.sessions.size, 0);
    }
    const warnings = lines.filter(({ level, msg }) => level === 40 && msg.includes("no date"));
    assertEquals(warnings.length, 1);
    assertStringIncludes(warnings[0]!.msg, "the session counts as expired. Have the adapter return a Date");
  }));

Deno.test("a sign-in link whose end cannot be read is refused", () =>
  withDates(() => "next Tuesday", async ({ client, links, lines }) => {
    const csrfToken = await client.csrfToken();
    await client.post("/auth/signin/mail", { csrfToken, email: "ada@example.com" });
    const { pathname, search } = new URL(links[0]!);
    const answer = await client.confirm(pathname + search);
    assertStringIncludes(String(answer.headers.location), "error=Verification");
    assertEquals(await reader(client), null);
    assertStringIncludes(lines.map(({ msg }) => msg).join("\n"), "the sign-in link counts as expired");
  }));
