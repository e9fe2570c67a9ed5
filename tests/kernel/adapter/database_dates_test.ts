/** Dates as adapters and drivers return them: whatever comes is compared as a date, and what is none is over. */
import { assert, assertEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import type { Adapter, AdapterUser } from "@auth/core/adapters";
import fc from "../../support/property.ts";
import { bindAdapter } from "../../../src/adapter/bind.ts";
import { toDate } from "../../../src/adapter/dates.ts";

const NOON = new Date("2026-01-31T12:00:00.000Z");

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
