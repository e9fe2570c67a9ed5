/** Dates as adapters and drivers return them: whatever comes is compared as a date, and what is none is over. */
import { assert, assertEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import type { Adapter, AdapterSession, AdapterUser } from "@auth/core/adapters";
import fc from "fast-check";
import { bindAdapter } from "../src/database/adapter.ts";
import { toDate } from "../src/database/dates.ts";
import { captureLog, testApp, testConfig } from "./support/app.ts";
import { Client, setCookies } from "./support/client.ts";
import { identityProvider, signInAs } from "./support/identity.ts";
import { memoryAdapter } from "./support/memory_adapter.ts";

const NOON = new Date("2026-01-31T12:00:00.000Z");
const COOKIE = "authjs.session-token";
const HOUR = 60 * 60 * 1000;

Deno.test("toDate() reads ISO 8601, SQL and JavaScript text, in UTC where it names no zone", () => {
  const texts = [
    "2026-01-31T12:00:00.000Z",
    "2026-01-31T12:00:00Z",
    "2026-01-31t12:00z",
    "2026-01-31 12:00:00",
    "2026-01-31 12:00:00.000",
    "2026-01-31 12:00:00,000",
    "2026-01-31 12:00:00.000000 UTC",
    "2026-01-31 12:00:00+00",
    "2026-01-31 12:00:00.000000+00",
    "2026-01-31 17:30:00+05:30",
    "2026-01-31 17:30:00 +0530",
    "2026-01-31T09:00:00.000000000-03:00[America/Sao_Paulo]",
    " 2026-01-31 12:00:00 ",
    "20260131120000",
    "20260131120000.123456",
    "Sat, 31 Jan 2026 12:00:00 GMT",
    "Sat Jan 31 2026 13:00:00 GMT+0100 (Central European Standard Time)",
  ];
  for (const text of texts) assertEquals(toDate(text), NOON, text);
  assertEquals(toDate("2026-01-31 12:00:00.123456+00")?.toISOString(), "2026-01-31T12:00:00.123Z");
  assertEquals(toDate("2026-01-31")?.toISOString(), "2026-01-31T00:00:00.000Z");
});

Deno.test("toDate() tells seconds, milliseconds, microseconds and nanoseconds apart, as numbers and as text", () => {
  const seconds = NOON.valueOf() / 1000;
  const values = [seconds, seconds * 1e3, BigInt(seconds) * 1_000_000n, BigInt(seconds) * 1_000_000_000n];
  for (const value of values) {
    assertEquals(toDate(value), NOON);
    assertEquals(toDate(String(value)), NOON, String(value));
  }
  assertEquals(toDate(seconds + 0.5)?.valueOf(), NOON.valueOf() + 500);
});

Deno.test("toDate() takes what converts to a date, and a Date as it is", () => {
  assertStrictEquals(toDate(NOON), NOON);
  const milliseconds = NOON.valueOf();
  const refuses = () => {
    throw new TypeError("not comparable");
  };
  const objects: object[] = [
    { valueOf: () => milliseconds }, // Luxon, Moment, a Date of another realm
    { toDate: () => NOON, valueOf: () => "063905932800.000000000" }, // Firestore
    { toJSDate: () => NOON, valueOf: refuses },
    { epochMilliseconds: milliseconds, valueOf: refuses }, // Temporal.Instant
    { valueOf: refuses, toString: () => "2026-01-31T12:00:00" }, // Temporal.PlainDateTime
    { toString: () => String(milliseconds) }, // a Long
  ];
  for (const object of objects) assertEquals(toDate(object), NOON, Object.keys(object).join());
});

Deno.test("toDate() knows no date in anything else, of none that could be meant otherwise either", () => {
  const values = [
    ...["", "soon", "never", "infinity", "0000-00-00 00:00:00", "2026-02-30 12:00:00", "2026-01-31 25:00:00"],
    ...["31.01.2026 12:00", "01/31/2026", "1/31/2026, 12:00:00 PM", "2026-01-31T12:00:00[Europe/Berlin]"],
    ...[0, 1, -1, 2460707.0, 1e10, 1e13, 1e20, NaN, Infinity, 0n],
    ...[
      null,
      undefined,
      true,
      false,
      {},
      [],
      [NOON],
      [NOON.valueOf()],
      () => NOON,
      Symbol("now"),
      new Date(NaN),
    ],
    Object.create(null),
  ];
  for (const value of values) {
    assertEquals(toDate(value), undefined, typeof value === "string" ? value : undefined);
  }
});

Deno.test("toDate() reads back any time of our days, however it was written, and never throws", () => {
  const times = fc.date({ min: new Date("1973-03-04"), max: new Date("2286-11-20"), noInvalidDate: true });
  fc.assert(fc.property(times, (date) => {
    const iso = date.toISOString();
    for (
      const text of [
        iso,
        iso.replace("T", " ").replace("Z", ""),
        iso.replace("Z", "+00"),
        String(date.valueOf()),
      ]
    ) {
      assertEquals(toDate(text)?.valueOf(), date.valueOf(), text);
    }
  }));
  fc.assert(fc.property(fc.anything({ withDate: true, withBigInt: true }), (value) => {
    const date = toDate(value);
    assert(date === undefined || !Number.isNaN(date.valueOf()));
  }));
  fc.assert(fc.property(fc.string(), (text) => {
    const date = toDate(text);
    assert(date === undefined || /\d{8}/.test(text.replace(/\D/g, "")), text);
  }));
});

/** An adapter with one method that does as told, and what is warned of. */
function bound(methods: Record<string, () => unknown>) {
  const warnings: string[] = [];
  const adapter = bindAdapter(methods as unknown as Adapter, {
    warn: (message) => void warnings.push(message),
  });
  return { adapter, warnings };
}

Deno.test("every date that an adapter returns is a Date", async () => {
  const text = "2026-01-31 12:00:00";
  const user = { id: "1", email: "ada@example.com", emailVerified: text };
  const session = { sessionToken: "token", userId: "1", expires: text };
  const invite = { identifier: user.email, token: "hash", expires: text };
  const { adapter, warnings } = bound({
    getSessionAndUser: () => ({ session, user }),
    createSession: () => session,
    updateSession: () => session,
    useVerificationToken: () => invite,
    ...Object.fromEntries(
      ["createUser", "getUser", "getUserByEmail", "getUserByAccount", "updateUser"].map((
        name,
      ) => [name, () => user]),
    ),
  });
  const found = await adapter.getSessionAndUser!("token");
  assertEquals(found, { session: { ...session, expires: NOON }, user: { ...user, emailVerified: NOON } });
  for (const name of ["createSession", "updateSession"] as const) {
    assertEquals((await adapter[name]!(session as never))?.expires, NOON, name);
  }
  assertEquals((await adapter.useVerificationToken!(invite))?.expires, NOON);
  for (const name of ["createUser", "getUser", "getUserByEmail", "getUserByAccount", "updateUser"] as const) {
    const call = adapter[name] as (asked: unknown) => Promise<AdapterUser>;
    assertEquals((await call(user.email)).emailVerified, NOON, name);
  }
  assertEquals(
    [session.expires, user.emailVerified, invite.expires],
    [text, text, text],
    "rows are not written to",
  );
  assertEquals(warnings, []);
});

Deno.test("rows with Dates are handed on as they are, and rows of a class stay of it", async () => {
  class Row {
    constructor(readonly id: string, readonly emailVerified: unknown) {}
    greet() {
      return `I am ${this.id}`;
    }
  }
  const dated = new Row("1", NOON);
  const found = { session: { expires: NOON }, user: { id: "1", emailVerified: null } };
  const { adapter } = bound({
    getUser: () => dated,
    getUserByAccount: () => new Row("2", "2026-01-31 12:00:00"),
    getSessionAndUser: () => found,
  });
  assertStrictEquals(await adapter.getUser!("1"), dated);
  assertStrictEquals(await adapter.getSessionAndUser!("token"), found as never);
  const copied = await adapter.getUserByAccount!({} as never) as unknown as Row;
  assertEquals([copied.greet(), copied.emailVerified], ["I am 2", NOON]);
});

Deno.test("what is no date is over or not verified, which is said once, without the value", async () => {
  for (const value of ["token-3f9a", "31.01.2026", null, undefined, {}, NaN, new Date(NaN)]) {
    const { adapter, warnings } = bound({
      getSessionAndUser: () => ({ session: { expires: value }, user: { id: "1", emailVerified: null } }),
      useVerificationToken: () => ({ identifier: "a", token: "b", expires: value }),
    });
    for (let i = 0; i < 3; i++) {
      const { session } = (await adapter.getSessionAndUser!("token"))!;
      assertEquals(session.expires, new Date(0));
      const invite = await adapter.useVerificationToken!({ identifier: "a", token: "b" });
      assertEquals(invite?.expires, new Date(0));
    }
    assertEquals(warnings.length, 2, String(value));
    assertStringIncludes(warnings[0]!, "getSessionAndUser() returned");
    assertStringIncludes(warnings[0]!, "Have the adapter return a Date");
    assert(!warnings.join().includes("3f9a"));
  }

  const { adapter, warnings } = bound({ getUser: () => ({ id: "1", emailVerified: "yes" }) });
  assertEquals((await adapter.getUser!("1"))?.emailVerified, null);
  assertEquals(warnings.length, 1);
});

Deno.test("a new session ends when it was asked to, where the adapter's answer does not say", async () => {
  const { adapter, warnings } = bound({
    createSession: () => ({ sessionToken: "a", userId: "1", expires: "soon" }),
  });
  const session = await adapter.createSession!({ sessionToken: "a", userId: "1", expires: NOON });
  assertEquals([session.expires, warnings], [NOON, []]);
});

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
  maxAge?: number,
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
    ...(maxAge !== undefined && { maxAge }),
  };
  const app = await testApp(testConfig({ adapter, providers: [identityProvider("one"), mail] }), { logger });
  const expire = (past: Date) => {
    for (const session of tables.sessions.values()) session.expires = past;
  };
  try {
    await run({ client: new Client(app), tables, lines, links, expire });
  } finally {
    await app.close();
  }
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
    for (const [maxAge, expected] of [[-60, null], [600, "ada@example.com"]] as const) {
      await withDates(format, async ({ client, links }) => {
        const csrfToken = await client.csrfToken();
        await client.post("/auth/signin/mail", { csrfToken, email: "ada@example.com" });
        const { pathname, search } = new URL(links[0]!);
        const answer = await client.get(pathname + search);
        assertEquals(String(answer.headers.location).includes("error=Verification"), expected === null);
        assertEquals(await reader(client), expected);
      }, maxAge);
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
    const answer = await client.get(pathname + search);
    assertStringIncludes(String(answer.headers.location), "error=Verification");
    assertEquals(await reader(client), null);
    assertStringIncludes(lines.map(({ msg }) => msg).join("\n"), "the sign-in link counts as expired");
  }));
