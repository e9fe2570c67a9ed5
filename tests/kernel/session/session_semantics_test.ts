import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { encode, type JWT } from "@auth/core/jwt";
import { EncryptJWT } from "jose";
import { hkdfSync } from "node:crypto";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { type FastifyAuthConfig, getSession } from "fastify-authjs";
import { captureLog, SECRET, testApp, testConfig } from "../../support/app.ts";
import {
  type Carried,
  compareReads,
  type ConfigMaker,
  endingAt,
  inSeconds,
  type Observed,
  SessionComparison,
} from "../../support/session_comparison.ts";
import { withClock } from "../../support/clock.ts";
import { withEnvironment } from "../../support/environment.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const NAME = "authjs.session-token";
const SECURE = `__Secure-${NAME}`;
const OLD_SECRET = "an-older-test-secret-of-at-least-32-chars";
const ADA: JWT = { name: "Ada", email: "ada@example.com", picture: "https://example.com/a.png", sub: "u1" };
const DAY = 86_400;
const seconds = () => Math.floor(Date.now() / 1000);

const sealed = (token: JWT = ADA, { secret = SECRET, salt = NAME, maxAge = 30 * DAY } = {}) =>
  encode({ token, secret, salt, maxAge });
const carry = async (token: JWT = ADA, name = NAME, maxAge = 30 * DAY): Promise<Carried> => ({
  cookie: `${name}=${await sealed(token, { salt: name, maxAge })}`,
});

/** A token with any claims and header, under the key core derives. */
async function forged(
  claims: Record<string, unknown>,
  header: Record<string, unknown> = {},
  secret = SECRET,
): Promise<string> {
  const enc = (header.enc ?? "A256CBC-HS512") as string;
  const length = enc === "A256GCM" ? 32 : 64;
  const key = new Uint8Array(
    hkdfSync("sha256", secret, NAME, `Auth.js Generated Encryption Key (${NAME})`, length),
  );
  return await new EncryptJWT(claims).setProtectedHeader({ alg: "dir", enc, ...header }).encrypt(key);
}

/** The only allowed differences from core, each with its reason; a case names those that apply to it. */
const DIFFERENCES = {
  "not renewed": "a token that is young and unchanged stays in the browser, so ordinary replies set no cookie",
  "only well-formed sessions": "a callback that returns anything but an object with a user is no session",
  "database cookie only when prolonged": "the cookie is set when its row's expiry was, not with each read",
  "chunks of a database token cleared": "setting the whole token beside its chunks would break the next read",
  "ends with the token": "`expires` is the end of the token where that comes before the end of the cookie",
  "the method that failed is named": "the log says which method of the adapter failed, and what it threw below that",
  "ends as prolonged": "`expires` is the end of the row that the read has just prolonged, not the one before",
  "kept": "a token of a key that only another process may know is not removed: secrets are being rotated",
  "malformed": "what cannot be a token is told in one word",
  "stale chunk removed": "a chunk beside the whole cookie goes when the token is renewed",
  "the session stays": "the failure of a callback says nothing about the session, so its cookie is not removed",
  "columns not sent": "a callback can read the columns of a row, and does not send them unless it names them",
} as const;

interface Case {
  make?: ConfigMaker;
  carried: Carried | Promise<Carried>;
  /** What core is shown instead, if it would take another application's cookie for a part of the session. */
  theirs?: Promise<Carried>;
  differs?: (keyof typeof DIFFERENCES)[];
  /** In how many seconds the session ends, if that differs. */
  ends?: number;
  /** The method of the adapter that fails. */
  failing?: string | undefined;
}

/** Applies the differences to what core did, which gives what we must do. */
function required(theirs: Observed, { differs = [], ends, failing }: Case): Observed {
  let expected = { ...theirs };
  for (const difference of differs) {
    switch (difference) {
      case "not renewed":
      case "database cookie only when prolonged":
        assert(theirs.cookies.length > 0, "core renews it");
        expected.cookies = [];
        break;
      case "ends with the token":
      case "ends as prolonged":
        expected = endingAt(expected, inSeconds(ends!));
        break;
      case "kept":
      case "the session stays":
        expected.cookies = [];
        break;
      case "malformed":
        assert(theirs.errors.length > 0, "core refuses it");
        expected.errors = ["JWTSessionError JWEInvalid Invalid Compact JWE"];
        break;
      case "stale chunk removed":
        expected.cookies = [...expected.cookies, {
          name: `${NAME}.0`,
          value: "",
          attributes: "; Max-Age=0; Path=/; HttpOnly; SameSite=Lax",
        }];
        break;
      case "the method that failed is named":
        expected.errors = theirs.errors.map((error) =>
          error.replace(
            "Error database down",
            `FastifyAuthError The adapter's ${failing}() failed: database down.`,
          )
        );
        break;
      case "columns not sent":
        expected = withoutColumns(expected);
        break;
      case "only well-formed sessions":
        expected.session = null;
        break;
    }
  }
  return expected;
}

/** What was observed, had every session that is a row none but the fields that are sent. */
function withoutColumns(observed: Observed): Observed {
  const shown = (session: unknown) => {
    const { user, expires } = session as { user: Record<string, unknown>; expires: unknown };
    return { user: { id: user.id, name: user.name, email: user.email }, expires };
  };
  const calls = (observed.calls as [string, string[], { session: unknown }][]).map((call) => {
    const [name, keys, params] = call;
    return /^(session|event)$/.test(name) ? [name, keys, { ...params, session: shown(params.session) }] : call;
  });
  return { ...observed, session: shown(observed.session), calls };
}

const notRenewed: Case["differs"] = ["not renewed"];

const CASES: Record<string, Case> = {
  "valid": { carried: carry(), differs: notRenewed },
  "no cookie": { carried: {} },
  "empty value": { carried: { cookie: `${NAME}=` } },
  "garbage": { carried: { cookie: `${NAME}=garbage` } },
  "tampered tag": { carried: sealed().then((token) => ({ cookie: `${NAME}=${token.slice(0, -5)}AAAAA` })) },
  "wrong secret": {
    carried: sealed(ADA, { secret: OLD_SECRET }).then((token) => ({ cookie: `${NAME}=${token}` })),
    differs: ["kept"],
  },
  "state token": {
    carried: sealed(ADA, { salt: "authjs.state" }).then((token) => ({ cookie: `${NAME}=${token}` })),
  },
  "rotation, old secret second: renewed with the first": {
    make: () => ({ secret: [SECRET, OLD_SECRET] }),
    carried: sealed(ADA, { secret: OLD_SECRET }).then((token) => ({ cookie: `${NAME}=${token}` })),
  },
  "expired 20 s ago": {
    carried: sealed(ADA, { maxAge: -20 }).then((token) => ({ cookie: `${NAME}=${token}` })),
  },
  "expired 10 s ago": {
    carried: sealed(ADA, { maxAge: -10 }).then((token) => ({ cookie: `${NAME}=${token}` })),
  },
  "ends in an hour, of a configuration with another lifetime": { carried: carry(ADA, NAME, 3600) },
  "ends in a year, of a configuration with another lifetime": { carried: carry(ADA, NAME, 365 * DAY) },
  "callback arguments": {
    make: (note) => ({
      callbacks: {
        jwt(params) {
          note("jwt", Object.keys(params), params, "trigger" in params);
          return { ...params.token, extra: 1 };
        },
        session(params) {
          note("session", Object.keys(params), params);
          return { ...params.session, extra: 1 };
        },
      },
      events: { session: (message) => note("event", Object.keys(message), message) },
    }),
    carried: carry(),
  },
  "jwt returns null": { make: () => ({ callbacks: { jwt: () => null } }), carried: carry() },
  "jwt returns undefined": {
    make: () => ({ callbacks: { jwt: () => undefined as never } }),
    carried: carry(),
    differs: ["the session stays"],
  },
  "jwt returns a text": { make: () => ({ callbacks: { jwt: () => "x" as never } }), carried: carry() },
  "jwt throws": {
    make: () => ({ callbacks: { jwt: () => Promise.reject(new Error("boom")) } }),
    carried: carry(),
    differs: ["the session stays"],
  },
  "jwt is set to undefined": {
    make: () => ({ callbacks: { jwt: undefined as never } }),
    carried: carry(),
    differs: ["the session stays"],
  },
  "session throws": {
    make: () => ({
      callbacks: {
        session() {
          throw new Error("boom");
        },
      },
    }),
    carried: carry(),
    differs: ["the session stays"],
  },
  ...malformed({
    null: null,
    "an empty object": {},
    "a text": "str",
    "an empty text": "",
    "an array": ["a"],
    false: false,
    undefined,
  }),
  ...malformed({
    "no user": { expires: "x" },
    "a user that is a text": { user: "ada" },
    "a user that is an array": { user: [] },
  }),
  "session returns dates, undefined, a map, NaN": {
    make: () => ({
      callbacks: {
        session: ({ session }) => ({ ...session, d: new Date(0), u: undefined, m: new Map([[1, 2]]), n: NaN }) as never,
      },
    }),
    carried: carry(),
    differs: notRenewed,
  },
  "session returns no expires": {
    make: () => ({ callbacks: { session: () => ({ user: { name: "x" } }) as never } }),
    carried: carry(),
    differs: notRenewed,
  },
  "session writes to the token": {
    make: () => ({
      callbacks: {
        session({ session, token }) {
          token.seen = true;
          return session;
        },
      },
    }),
    carried: carry(),
  },
  "event throws": {
    make: () => ({ events: { session: () => Promise.reject(new Error("ev")) } }),
    carried: carry(),
    differs: notRenewed,
  },
  "event writes to the session": {
    make: () => ({
      callbacks: { session: ({ session }) => session },
      events: { session: ({ session }) => void (session.user = { name: "changed" }) },
    }),
    carried: carry(),
    differs: notRenewed,
  },
  "token without name or email": { carried: carry({ sub: "x" }), differs: notRenewed },
  "jwt adds a function to changed claims": {
    make: () => ({ callbacks: { jwt: ({ token }) => ({ ...token, seen: true, f() {} }) } }),
    carried: carry(),
  },
  "jwt adds a BigInt": {
    make: () => ({ callbacks: { jwt: ({ token }) => ({ ...token, n: 1n }) } }),
    carried: carry(),
  },
  "jwt changes only what is replaced anyway": {
    make: () => ({ callbacks: { jwt: ({ token }) => ({ ...token, exp: "soon" as never, jti: "mine" }) } }),
    carried: carry(),
    differs: notRenewed,
  },
  "jwt changes only the order": {
    make: () => ({
      callbacks: {
        jwt: ({ token: { iat, exp, jti, ...claims } }) => ({ jti: jti!, exp: exp!, iat: iat!, ...claims }),
      },
    }),
    carried: carry(),
    differs: notRenewed,
  },
  "custom codec": {
    make: (note) => ({
      jwt: {
        decode(params) {
          note("decode", Object.keys(params), params.token, params.salt);
          return { name: "decoded" };
        },
        encode(params) {
          note("encode", Object.keys(params), params.token, params.salt, params.maxAge);
          return "encoded";
        },
      },
    }),
    carried: { cookie: `${NAME}=hello` },
  },
  "custom encode throws": {
    make: () => ({ jwt: { encode: () => Promise.reject(new Error("enc")), decode: () => ({ name: "x" }) } }),
    carried: { cookie: `${NAME}=hello` },
  },
  "custom encode, core's decode, changed claims": {
    make: () => ({
      jwt: { encode: () => "x" },
      callbacks: { jwt: ({ token }) => ({ ...token, seen: true }) },
    }),
    carried: carry(),
  },
  "custom decode returns null": {
    make: () => ({ jwt: { decode: () => null } }),
    carried: { cookie: `${NAME}=hello` },
  },
  "encode set to undefined, changed claims": {
    make: () => ({
      jwt: { encode: undefined as never },
      callbacks: { jwt: ({ token }) => ({ ...token, seen: true }) },
    }),
    carried: carry(),
  },
  "jwt.secret": {
    make: () => ({ secret: OLD_SECRET, jwt: { secret: SECRET } as never }),
    carried: carry(),
    differs: notRenewed,
  },
  "jwt.maxAge": {
    make: () => ({ jwt: { maxAge: 777 }, session: { updateAge: 0 } }),
    carried: carry(),
    differs: ["ends with the token"],
    ends: 777,
  },
  "jwt.maxAge, not renewed": {
    make: () => ({ jwt: { maxAge: 777 } }),
    carried: carry(ADA, NAME, 777),
    differs: ["not renewed", "ends with the token"],
    ends: 777,
  },
  "jwt.maxAge longer than session.maxAge": {
    make: () => ({ jwt: { maxAge: 3600 }, session: { maxAge: 600 } }),
    carried: carry(ADA, NAME, 3600),
    differs: notRenewed,
  },
  "session.maxAge": {
    make: () => ({ session: { maxAge: 60 } }),
    carried: carry(ADA, NAME, 60),
    differs: notRenewed,
  },
  "updateAge 0": { make: () => ({ session: { updateAge: 0 } }), carried: carry() },
  "cookie name, salt follows": {
    make: () => ({
      cookies: { sessionToken: { name: "sid", options: { sameSite: "strict", domain: "example.com" } } },
    } as FastifyAuthConfig),
    carried: carry(ADA, "sid"),
    differs: notRenewed,
  },
  "cookie name, token with the default salt": {
    make: () => ({ cookies: { sessionToken: { name: "sid", options: {} } } }),
    carried: sealed().then((token) => ({ cookie: `sid=${token}` })),
  },
  "https": {
    carried: carry(ADA, SECURE).then((carried) => ({ ...carried, scheme: "https" })),
    differs: notRenewed,
  },
  "https, changed": {
    make: () => ({ callbacks: { jwt: ({ token }) => ({ ...token, n: 1 }) } }),
    carried: carry(ADA, SECURE).then((carried) => ({ ...carried, scheme: "https" })),
  },
  "https, unprefixed cookie": { carried: carry().then((carried) => ({ ...carried, scheme: "https" })) },
  "useSecureCookies over http": {
    make: () => ({ useSecureCookies: true }),
    carried: carry(ADA, SECURE),
    differs: notRenewed,
  },
  "chunks of one token": { carried: chunked(10_000, (parts) => parts), differs: notRenewed },
  "chunks reversed": { carried: chunked(10_000, (parts) => parts.toReversed()), differs: notRenewed },
  "a chunk missing": {
    carried: chunked(10_000, (parts) => parts.toSpliced(1, 1)),
    differs: ["malformed"],
  },
  "twelve chunks, shuffled": {
    carried: chunked(10_000, (parts) => [7, 11, 0, 2, 10, 1, 3, 9, 4, 8, 5, 6].map((i) => parts[i]!), 1200),
    differs: notRenewed,
  },
  "chunks shrink": {
    make: () => ({ callbacks: { jwt: ({ token }) => ({ sub: token.sub! }) } }),
    carried: chunked(10_000, (parts) => parts),
  },
  "claims grow into chunks": {
    make: () => ({ callbacks: { jwt: ({ token }) => ({ ...token, big: "x".repeat(9_000) }) } }),
    carried: carry(),
  },
  "a stale chunk beside the whole": {
    carried: carry().then(({ cookie }) => ({ cookie: `${cookie}; ${NAME}.0=stale` })),
    theirs: carry(),
    differs: notRenewed,
  },
  "a stale chunk beside the whole, renewed": {
    make: () => ({ callbacks: { jwt: ({ token }) => ({ ...token, n: 1 }) } }),
    carried: carry().then(({ cookie }) => ({ cookie: `${cookie}; ${NAME}.0=stale` })),
    theirs: carry(),
    differs: ["stale chunk removed"],
  },
  "a cookie of the same prefix": {
    carried: carry().then(({ cookie }) => ({ cookie: `${cookie}; ${NAME}-old=x; ${NAME}er=y; ${NAME}.9=z` })),
    theirs: carry(),
    differs: notRenewed,
  },
  "twice, good first": {
    carried: carry().then(({ cookie }) => ({ cookie: `${cookie}; ${NAME}=x` })),
    differs: notRenewed,
  },
  "twice, bad first": { carried: carry().then(({ cookie }) => ({ cookie: `${NAME}=x; ${cookie}` })) },
  "twice, the first empty": { carried: carry().then(({ cookie }) => ({ cookie: `${NAME}=; ${cookie}` })) },
  "a chunk .0 alone": {
    carried: sealed().then((token) => ({ cookie: `${NAME}.0=${token}` })),
    differs: notRenewed,
  },
  "a cookie of the same prefix, empty": {
    carried: carry().then(({ cookie }) => ({ cookie: `${NAME}-old=; ${cookie}` })),
    differs: notRenewed,
  },
  "spaces and tabs around": {
    carried: sealed().then((token) => ({ cookie: `a=1;  \t${NAME} \t=\t ${token} \t; b=2` })),
    differs: notRenewed,
  },
  "pairs without an equals sign": {
    carried: carry().then(({ cookie }) => ({ cookie: `a; b; ${cookie}` })),
    differs: notRenewed,
  },
  "Latin-1 beside it": {
    carried: carry().then(({ cookie }) => ({ cookie: `x=\u00e9; ${cookie}` })),
    differs: notRenewed,
  },
  "quoted": {
    carried: sealed().then((token) => ({ cookie: `${NAME}="${token}"` })),
    differs: ["malformed"],
  },
  "percent-encoded": {
    carried: sealed().then((token) => ({ cookie: `${NAME}=${token.replaceAll(".", "%2E")}` })),
    differs: notRenewed,
  },
  "malformed percent": {
    carried: carry().then(({ cookie }) => ({ cookie: `${cookie}%` })),
    differs: ["malformed"],
  },
  "A256GCM without kid: renewed in the usual form": {
    carried: forged({ ...ADA, iat: seconds() }, { enc: "A256GCM" }).then((token) => ({
      cookie: `${NAME}=${token}`,
    })),
  },
  "no kid, two secrets": {
    make: () => ({ secret: [OLD_SECRET, SECRET] }),
    carried: forged(ADA).then((token) => ({ cookie: `${NAME}=${token}` })),
  },
  "no exp, no iat": { carried: forged(ADA).then((token) => ({ cookie: `${NAME}=${token}` })) },
  "exp as a text": {
    carried: forged({ ...ADA, exp: "1" as never }).then((token) => ({ cookie: `${NAME}=${token}` })),
  },
  "nbf in 10 s": {
    carried: forged({ ...ADA, nbf: seconds() + 10 }).then((token) => ({ cookie: `${NAME}=${token}` })),
  },
  "nbf in 30 s": {
    carried: forged({ ...ADA, nbf: seconds() + 30 }).then((token) => ({ cookie: `${NAME}=${token}` })),
  },
  "compressed": {
    carried: forged({ ...ADA, iat: seconds() }, { zip: "DEF" }).then((token) => ({
      cookie: `${NAME}=${token}`,
    })),
  },
  "a week old: prolonged": {
    carried: forged({ ...ADA, iat: seconds() - 7 * DAY, exp: seconds() + DAY }).then((token) => ({
      cookie: `${NAME}=${token}`,
    })),
  },
  "__proto__ as a claim": {
    carried: carry(JSON.parse('{"__proto__":{"name":"x"},"name":"y"}')),
    differs: notRenewed,
  },
  "cookie named __proto__": {
    carried: carry().then(({ cookie }) => ({ cookie: `__proto__=x; ${cookie}` })),
    differs: notRenewed,
  },
  "foreign callback-url cookie": {
    carried: carry().then(({ cookie }) => ({
      cookie: `${cookie}; authjs.callback-url=https%3A%2F%2Fevil.example`,
    })),
    differs: notRenewed,
  },
  "adapter and strategy jwt": {
    make: (note) => ({ adapter: noted(note), session: { strategy: "jwt" } }),
    carried: carry(),
    differs: notRenewed,
  },
  "database": database({}, ["database cookie only when prolonged", "columns not sent"]),
  "database, due": database({ expires: 28 * DAY }, ["ends as prolonged", "columns not sent"], 30 * DAY),
  "database, updateAge 0": database({ updateAge: 0 }, ["columns not sent"]),
  "database, expired": database({ expires: -1 }),
  "database, not found": database({ token: "other" }),
  "database throws": database({ fails: "getSessionAndUser" }, ["the method that failed is named"]),
  "database throws on update": database({ fails: "updateSession", updateAge: 0 }, [
    "the method that failed is named",
  ]),
  "database throws on delete": database({ fails: "deleteSession", expires: -1 }, [
    "the method that failed is named",
  ]),
  "database, default callback": database({ bare: true }, ["database cookie only when prolonged"]),
};

/** What a session callback may return by mistake. Core passes it on, or fails; a guard must see no session. */
function malformed(values: Record<string, unknown>): Record<string, Case> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]): [string, Case] => [`session returns ${name}`, {
      make: () => ({ callbacks: { session: () => value as never } }),
      carried: carry(),
      differs: ["not renewed", "only well-formed sessions"],
    }]),
  );
}

/** A token with so many more characters, in chunks of a size, arranged by the test. */
async function chunked(
  characters: number,
  arrange: (parts: string[]) => string[],
  size = 3936,
): Promise<Carried> {
  const token = await sealed({ ...ADA, big: "x".repeat(characters) });
  const count = Math.ceil(token.length / size);
  const parts = Array.from(
    { length: count },
    (_, i) => `${NAME}.${i}=${token.slice(i * size, (i + 1) * size)}`,
  );
  return { cookie: arrange(parts).join("; ") };
}

interface Row {
  expires?: number;
  updateAge?: number;
  token?: string;
  fails?: string;
  bare?: boolean;
}

/** A session in a database, one row deep. */
function database(row: Row, differs?: Case["differs"], ends?: number): Case {
  const { updateAge } = row;
  return {
    make: (note) => ({
      adapter: noted(note, row),
      ...(updateAge !== undefined && { session: { updateAge } }),
      ...(!row.bare && {
        callbacks: {
          session(params) {
            note("session", Object.keys(params), params);
            return params.session;
          },
        },
        events: { session: (message) => note("event", Object.keys(message), message) },
      }),
    }),
    carried: { cookie: `${NAME}=tok` },
    ...(differs && { differs }),
    failing: row.fails,
    ...(ends !== undefined && { ends }),
  };
}

function noted(
  note: (...call: unknown[]) => void,
  { expires = 30 * DAY, token = "tok", fails = "" }: Row = {},
) {
  const session = { sessionToken: token, userId: "u1", expires: new Date(Date.now() + expires * 1000) };
  const user = { id: "u1", name: "Ada", email: "a@b", emailVerified: null, secret: "hash" };
  const adapter = memoryAdapter({
    users: new Map([["u1", user]]),
    accounts: [],
    sessions: new Map([[token, session]]),
    tokens: [],
  });
  return Object.fromEntries(
    Object.entries(adapter).map(([name, method]) => [name, async (...args: unknown[]) => {
      note(name, ...args);
      if (name === fails) throw new Error("database down");
      return await (method as (...args: unknown[]) => unknown)(...args);
    }]),
  ) as unknown as typeof adapter;
}

/** The tokens are made now: a test that is kept waiting would find them older. */
const NOW = Date.now();

for (const [name, each] of Object.entries(CASES)) {
  Deno.test(`a session read gives what core gives: ${name}`, () =>
    withClock(async () => {
      const { make = () => ({}), carried, theirs = carried } = each;
      await using comparison = new SessionComparison(make);
      const ours = await comparison.ours(await carried);
      assertEquals(ours, required(await comparison.theirs(await theirs), each));
    }, NOW));
}

Deno.test("`session.maxAge: undefined`: in core there is no session, here it is the default", async () => {
  const make = () => ({ session: { maxAge: undefined as never, updateAge: undefined as never } });
  const { ours, theirs } = await compareReads(make, await carry());
  assertEquals([theirs.session, theirs.errors], [null, [
    "JWTSessionError RangeError Invalid time value",
  ]]);
  assertEquals((ours.session as { expires: string }).expires, inSeconds(30 * DAY));
  assertEquals(ours.cookies, []);
});

Deno.test("a BigInt in the session: core fails the request, here there is no session", async () => {
  const make: ConfigMaker = () => ({
    callbacks: { session: ({ session }) => ({ ...session, n: 1n }) as never },
  });
  const { ours, theirs } = await compareReads(make, await carry());
  assertEquals(theirs.session, "THROWS SyntaxError");
  assertEquals(ours.session, null);
  assertEquals(ours.errors, ["TypeError  "]);
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(make(() => {})), { logger });
  const { cookie } = await carry();
  await app.inject({ url: "/auth/session", headers: { cookie } });
  assert(
    lines.some(({ msg }) => /`callbacks\.session` .* JSON cannot hold.*BigInt/.test(msg)),
    JSON.stringify(lines),
  );
});

Deno.test("a cookie of a name that no server can remove: core fails every request with it, here it is not ours", async () => {
  const { cookie } = await carry();
  const { ours, theirs } = await compareReads(() => ({ session: { updateAge: 0 } }), {
    cookie: `${NAME}(1)=y; ${cookie}`,
  });
  assertEquals(theirs.session, "THROWS SyntaxError");
  assert(ours.session !== null);
  assertEquals(ours.cookies.map((cookie) => (cookie as { name: string }).name), [NAME]);
});

Deno.test("a malformed callback-url cookie: core fails every read, here it does not matter", async () => {
  const { cookie } = await carry();
  const { ours, theirs } = await compareReads(() => ({}), {
    cookie: `${cookie}; authjs.callback-url=javascript:alert(1)`,
  });
  assert(String(theirs.session).startsWith("THROWS"));
  assertEquals((ours.session as { user: unknown }).user, {
    name: "Ada",
    email: "ada@example.com",
    image: "https://example.com/a.png",
  });
});

Deno.test("the redirect callback has no part in a read; in core it can fail it", async () => {
  const make: ConfigMaker = (note) => ({
    callbacks: {
      redirect() {
        note("redirect");
        throw new Error("red");
      },
    },
  });
  const { cookie } = await carry();
  const { ours, theirs } = await compareReads(make, {
    cookie: `${cookie}; authjs.callback-url=https%3A%2F%2Fa.example`,
  });
  assert(String(theirs.session).startsWith("THROWS"));
  assert(ours.session !== null);
  assertEquals(ours.calls, []);
});

Deno.test("an adapter that is an instance of a class: core finds no methods in it, here they are found", async () => {
  class ClassAdapter {
    getSessionAndUser(sessionToken: string) {
      const user = { id: "u", name: "Ada", email: "a@b", emailVerified: null };
      return {
        session: { sessionToken, userId: "u", expires: new Date(Date.now() + 30 * DAY * 1000) },
        user,
      };
    }
  }
  const rest = Object.keys(memoryAdapter()).filter((name) => name !== "getSessionAndUser");
  for (const name of rest) Object.assign(ClassAdapter.prototype, { [name]: () => null });
  const { ours, theirs } = await compareReads(() => ({ adapter: new ClassAdapter() as never }), {
    cookie: `${NAME}=tok`,
  });
  assertEquals(theirs.session, null);
  assertEquals((ours.session as { user: { name: string } }).user.name, "Ada");
});

Deno.test("a database token in chunks: read by both, and when it is prolonged its chunks go", async () => {
  const { make } = database({ token: "ab", updateAge: 0 });
  const { ours, theirs } = await compareReads(make!, { cookie: `${NAME}.0=a; ${NAME}.1=b` });
  const expected = withoutColumns(theirs);
  assertEquals(ours.session, expected.session);
  assertEquals(ours.calls, expected.calls);
  assertEquals(theirs.cookies.map((cookie) => (cookie as { name: string }).name), [NAME]);
  assertEquals(ours.cookies.map((cookie) => (cookie as { name: string }).name), [
    `${NAME}.0`,
    `${NAME}.1`,
    NAME,
  ]);
});

Deno.test("a frozen configuration is read with; core would write to it", async () => {
  const config = Object.freeze(testConfig());
  await using app = await testApp(config);
  const { cookie } = await carry();
  const answer = await app.inject({ url: "/me", headers: { cookie: cookie! } });
  assertEquals(answer.json().session.user.name, "Ada");
});

Deno.test("headers that no proxy would pass mean no session, not an error", async () => {
  const config = testConfig();
  await using app = await testApp(config);
  app.get("/odd", async (request) => {
    const odd = ["x=a\nb", "日本=1", `${NAME}=日本`, `${NAME}=\0`, "=", ";"];
    const sessions = [];
    for (const cookie of odd) {
      const made = Object.assign(Object.create(request), { raw: { ...request.raw } });
      Object.defineProperty(made, "headers", { value: { host: "localhost", cookie } });
      sessions.push(await getSession(made, config));
    }
    return sessions;
  });
  const answer = await app.inject("/odd");
  assertEquals(answer.statusCode, 200);
  assertEquals(answer.json(), [null, null, null, null, null, null]);
});

Deno.test("secrets come from the environment, the newest first, and later changes are not seen", async () => {
  await withEnvironment({ AUTH_SECRET: OLD_SECRET, AUTH_SECRET_1: SECRET }, async () => {
    const { secret: _secret, ...config } = testConfig();
    await using app = await testApp(config);
    for (const secret of [OLD_SECRET, SECRET]) {
      const cookie = `${NAME}=${await sealed(ADA, { secret })}`;
      const answer = await app.inject({ url: "/me", headers: { cookie } });
      assertEquals(answer.json().session.user.name, "Ada");
      assertEquals(answer.headers["set-cookie"] === undefined, secret === SECRET);
    }
  });
});

Deno.test("a secret that the environment changes after the start is not seen", async () => {
  await withEnvironment({ AUTH_SECRET: SECRET }, async () => {
    const { secret: _secret, ...config } = testConfig();
    await using app = await testApp(config);
    await withEnvironment({ AUTH_SECRET: OLD_SECRET }, async () => {
      for (const secret of [SECRET, OLD_SECRET]) {
        const headers = { cookie: `${NAME}=${await sealed(ADA, { secret })}` };
        const { session } = (await app.inject({ url: "/me", headers })).json();
        assertEquals(session?.user.name, secret === SECRET ? "Ada" : undefined);
      }
    });
  });
});

Deno.test("a token in another spelling of base64url: core reads it, here there is no session", async () => {
  const token = await sealed();
  const { ours, theirs } = await compareReads(() => ({}), { cookie: `${NAME}=${token}=` });
  assert(theirs.session !== null);
  assertEquals(ours.session, null);
});

Deno.test("a token with any one other character is no session", async () => {
  await using app = await testApp();
  const token = await sealed();
  for (let i = 0; i < token.length; i++) {
    const changed = token.slice(0, i) + (token[i] === "A" ? "B" : "A") + token.slice(i + 1);
    const { body } = await app.inject({ url: "/me", headers: { cookie: `${NAME}=${changed}` } });
    assertEquals([i, body], [i, '{"session":null}']);
  }
});

Deno.test("Cookie headers on several lines are one", async () => {
  await using app = await testApp();
  await app.listen({ host: "127.0.0.1", port: 0 });
  const lines = ["GET /me HTTP/1.1", "Host: localhost", "Cookie: a=1", `Cookie: ${(await carry()).cookie}`];
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  socket.write([...lines, "Connection: close", "", ""].join("\r\n"));
  assertStringIncludes(await text(socket), '"name":"Ada"');
});

Deno.test("`debug: true` warns of nothing at a read", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ debug: true }), { logger });
  const headers = { cookie: (await carry()).cookie! };
  await app.inject({ url: "/me", headers });
  lines.length = 0;
  assertEquals((await app.inject({ url: "/me", headers })).json().session.user.name, "Ada");
  assertEquals(lines.filter(({ level }) => level > 30), []);
});

Deno.test("the same token read again gives the same, out of the cache too, until it expires", async () => {
  await using comparison = new SessionComparison(() => ({}));
  const carried = await carry();
  for (let i = 0; i < 3; i++) {
    const [ours, theirs] = [await comparison.ours(carried), await comparison.theirs(carried)];
    assertEquals(ours, required(theirs, { carried, differs: notRenewed! }));
  }
});

Deno.test("a token that ends as one that was opened before is not taken for it", async () => {
  await using app = await testApp(testConfig());
  const nameFor = async (token: string) => {
    const answer = await app.inject({ url: "/me", headers: { cookie: `${NAME}=${token}` } });
    return answer.json().session?.user.name;
  };
  const token = await sealed();
  assertEquals(await nameFor(token), "Ada");
  const end = token.slice(-43);
  const changed = token.slice(0, -60) + (token.at(-60) === "A" ? "B" : "A") + token.slice(-59);
  for (const other of [changed, `${(await sealed({ name: "Eve" })).slice(0, -43)}${end}`, end]) {
    assertEquals(await nameFor(other), undefined, other);
    assertEquals(await nameFor(token), "Ada");
  }
});

Deno.test("a callback may return a promise of its own kind, which may fail", async () => {
  for (const callback of ["jwt", "session"]) {
    let fails = false;
    const later = (value: unknown) => ({
      // deno-lint-ignore no-explicit-any -- what it is given may be of any type
      then: (resolve: any, reject: any) => fails ? reject(new Error("no answer")) : resolve(value),
    });
    const callbacks = {
      [callback]: (params: Record<string, unknown>) => later(params[callback === "jwt" ? "token" : "session"]),
    };
    const { logger, lines } = captureLog();
    await using app = await testApp(testConfig({ callbacks }), { logger });
    const headers = { cookie: (await carry()).cookie! };
    const answer = async () => (await app.inject({ url: "/me", headers })).json().session?.user.name;
    assertEquals(await answer(), "Ada");
    assertEquals(await answer(), "Ada");
    fails = true;
    assertEquals(await answer(), undefined);
    assertStringIncludes(JSON.stringify(lines), `The \`${callback}\` callback of the application failed`);
  }
});

Deno.test("what callbacks do with the claims of one read shows in no other read", async () => {
  for (const claims of [ADA, { ...ADA, groups: ["users"], team: { id: 1 } }]) {
    const seen: string[] = [];
    const config = testConfig({
      callbacks: {
        jwt({ token }) {
          seen.push(JSON.stringify(token));
          const kept = structuredClone(token);
          Object.assign(token, { name: "Eve", sub: "u2", added: true });
          delete token.email;
          (token.groups as string[] | undefined)?.push("admins");
          return kept;
        },
        session({ session, token }) {
          Object.assign(session.user, { id: token.sub, groups: token.groups });
          return session;
        },
      },
    });
    await using app = await testApp(config);
    const headers = { cookie: `${NAME}=${await sealed(claims)}` };
    const bodies: string[] = [];
    for (let i = 0; i < 4; i++) {
      const answer = await app.inject({ url: "/me", headers });
      bodies.push(answer.body);
      assertEquals(answer.cookies, []);
    }
    assertEquals([new Set(seen).size, new Set(bodies).size], [1, 1]);
    const { session: { user } } = JSON.parse(bodies[0]!);
    const { name, email, sub: id, groups } = claims as JWT;
    assertEquals(user, JSON.parse(JSON.stringify({ name, email, image: ADA.picture, id, groups })));
  }
});

Deno.test("requests that share a read are given the claims as the jwt callback made them", async () => {
  const config = testConfig({
    callbacks: {
      jwt: ({ token }) => Promise.resolve({ ...token, since: new Date(0) }),
      session: ({ session, token }) => ({ ...session, since: token.since instanceof Date && token.since.getTime() }),
    },
  });
  await using app = await testApp(config);
  const headers = { cookie: `${NAME}=${await sealed(ADA)}` };
  const answers = await Promise.all([1, 2, 3].map(() => app.inject({ url: "/me", headers })));
  assertEquals(answers.map((answer) => answer.json().session.since), [0, 0, 0]);
});

Deno.test("a token is replaced where a callback changes a claim, its kind or its presence, and only there", async () => {
  const changes: Record<string, [boolean, (token: JWT) => JWT]> = {
    "nothing": [false, (token) => token],
    "a copy": [false, (token) => ({ ...token })],
    "an undefined claim": [false, (token) => ({ ...token, role: undefined })],
    "another value": [true, (token) => ({ ...token, name: "Eve" })],
    "a number for a text": [true, (token) => ({ ...token, level: 1 })],
    "one more": [true, (token) => ({ ...token, role: "admin" })],
    "one less": [true, ({ email: _email, ...token }) => token],
  };
  for (const [what, [isReplaced, jwt]] of Object.entries(changes)) {
    const config = testConfig({ callbacks: { jwt: ({ token }) => jwt(token) } });
    await using app = await testApp(config);
    const headers = { cookie: `${NAME}=${await sealed({ ...ADA, level: "1" })}` };
    const { cookies } = await app.inject({ url: "/me", headers });
    assertEquals([what, cookies.length], [what, isReplaced ? 1 : 0]);
  }
});
