import { assert, assertEquals, assertThrows } from "@std/assert";
import { Auth } from "@auth/core";
import { getToken } from "@auth/core/jwt";
import { parseCookie, parseSetCookie } from "cookie";
import {
  CHUNK_SIZE,
  clearSessionCookie,
  readSessionCookie,
  type SessionCookieSettings,
  writeSessionCookie,
} from "../src/session/cookie.ts";
import { seededRandom } from "./support/random.ts";

const NAME = "authjs.session-token";
const SECRET = "a-test-secret-of-at-least-32-characters";
const SETTINGS: SessionCookieSettings = {
  name: NAME,
  options: { httpOnly: true, sameSite: "lax", path: "/", secure: false },
};

/** The token as core's own reader joins it. */
async function coreReads(cookie: string, name: string): Promise<string> {
  return await getToken({ req: { headers: { cookie } }, cookieName: name, raw: true, secret: SECRET }) ?? "";
}

/** The Set-Cookie lines core answers a session request with, when its encoder gives `token`, or without one a null. */
async function coreWrites(
  cookie: string,
  token: string | undefined,
  settings: SessionCookieSettings,
): Promise<string[]> {
  const response = await Auth(new Request("http://localhost/auth/session", { headers: { cookie } }), {
    providers: [],
    secret: SECRET,
    trustHost: true,
    logger: { error() {}, debug() {}, warn() {} },
    cookies: { sessionToken: settings as { name: string; options: Record<string, never> } },
    jwt: { decode: () => ({}), encode: () => token! },
    ...(token === undefined && { callbacks: { jwt: () => null } }),
  });
  await response.body?.cancel();
  return response.headers.getSetCookie().filter((line) => line.startsWith(settings.name));
}

/** Removes the quirks a Headers object has: it trims, and core reads the cookie out of one. */
const asHeader = (text: string) => text.replace(/[^\t\x20-\xff]/g, "?").replace(/^[\t ]+|[\t ]+$/g, "");

Deno.test("reads what core reads, case by case", async () => {
  const cases: Record<string, [header: string, token: string]> = {
    "alone": [`${NAME}=abc.d-e_f`, "abc.d-e_f"],
    "first of three": [`${NAME}=abc; a=1; b=2`, "abc"],
    "last of three": [`a=1; b=2; ${NAME}=abc`, "abc"],
    "empty header": ["", ""],
    "absent": ["a=1; b=2", ""],
    "empty value": [`${NAME}=`, ""],
    "only the name": [NAME, ""],
    "the name as a value": [`a=${NAME}`, ""],
    "the name in a value, with equals": [`a=${NAME}=x`, ""],
    "part of another name": [`x${NAME}=x`, ""],
    "name after a pair without equals": [`a; ${NAME}=abc`, "abc"],
    "no space after the semicolon": [`a=1;${NAME}=abc`, "abc"],
    "spaces and tabs around": [`a=1;  \t${NAME} \t=\t abc \t; b=2`, "abc"],
    "a semicolon at the end": [`${NAME}=abc;`, "abc"],
    "quoted": [`${NAME}="abc"`, '"abc"'],
    "percent-encoded": [`${NAME}=a%2Eb`, "a.b"],
    "malformed percent": [`${NAME}=a%zz`, "a%zz"],
    "inner space": [`${NAME}=a b`, "a b"],
    "twice: the first": [`${NAME}=one; ${NAME}=two`, "one"],
    "twice: the first, empty": [`${NAME}=; ${NAME}=two`, ""],
    "other case is another cookie": [`${NAME.toUpperCase()}=x`, ""],
    "chunks": [`${NAME}.0=a; ${NAME}.1=b`, "ab"],
    "chunks shuffled": [`${NAME}.2=c; ${NAME}.0=a; x=y; ${NAME}.1=b`, "abc"],
    "eleven chunks sort by number": [
      [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((i) => `${NAME}.${i}=${i},`).join("; "),
      "0,1,2,3,4,5,6,7,8,9,10,",
    ],
    "an empty chunk": [`${NAME}.0=a; ${NAME}.1=; ${NAME}.2=c`, "ac"],
    "one chunk only": [`${NAME}.0=a`, "a"],
    "a neighbour's prefix, empty": [`${NAME}=abc; ${NAME}-old=`, "abc"],
    "__proto__": [`__proto__=x; ${NAME}=abc; constructor=y`, "abc"],
  };
  for (const [name, [header, token]] of Object.entries(cases)) {
    assertEquals(readSessionCookie(header, NAME).token, token, name);
    assertEquals(await coreReads(header, NAME), token, `core: ${name}`);
  }
  assertEquals(readSessionCookie(undefined, NAME), { token: "", names: [] });
});

Deno.test("a stale chunk beside the whole cookie is joined as core joins it", async () => {
  for (
    const header of [
      `${NAME}=whole; ${NAME}.0=part`,
      `${NAME}.0=part; ${NAME}=whole`,
      `${NAME}.1=b; ${NAME}=w; ${NAME}.0=a`,
    ]
  ) {
    assertEquals(readSessionCookie(header, NAME).token, await coreReads(header, NAME), header);
  }
});

Deno.test("a header no proxy would pass reads as no token or as some text, never as an error", () => {
  for (
    const header of [
      "=",
      ";",
      ";;;",
      "=;=",
      NAME + "\0=x",
      `${NAME}=日本`,
      `${NAME}=a\nb`,
      `${NAME}=%E0%A4%A`,
    ]
  ) {
    assertEquals(typeof readSessionCookie(header, NAME).token, "string", header);
  }
});

Deno.test("writes what core writes: whole, in chunks, and without leftovers", async () => {
  const header = (names: string[]) => names.map((name) => `${name}=x`).join("; ");
  const held = [[NAME], [`${NAME}.0`, `${NAME}.1`, `${NAME}.2`], [NAME, `${NAME}.1`], [`${NAME}-old`, NAME]];
  const sizes = [0, 1, CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 2 * CHUNK_SIZE, 3 * CHUNK_SIZE + 7];
  const attributes = [
    SETTINGS.options,
    {
      httpOnly: true,
      sameSite: "none" as const,
      path: "/",
      secure: true,
      domain: "example.com",
      partitioned: true,
    },
    {
      httpOnly: false,
      sameSite: "strict" as const,
      path: "/app",
      secure: false,
      priority: "high" as const,
      maxAge: 99,
    },
  ];
  for (const options of attributes) {
    const settings = { name: NAME, options };
    for (const names of held) {
      for (const size of sizes) {
        const token = "t".repeat(size);
        const expected = await coreWrites(header(names), token, settings);
        const expires = expected.map((line) => parseSetCookie(line).expires).find((date) => date) ??
          new Date();
        assertEquals(writeSessionCookie(names, token, settings, expires), { name: NAME, lines: expected });
      }
      assertEquals(
        clearSessionCookie(names, settings).lines,
        await coreWrites(header(names), undefined, settings),
      );
    }
  }
});

Deno.test("a cookie that cannot be written is an error, as in core", () => {
  assertThrows(() => writeSessionCookie([], "t", { name: "a b", options: {} }, new Date(0)), TypeError);
  assertThrows(() => writeSessionCookie([], "t", SETTINGS, new Date(NaN)), TypeError);
});

Deno.test("thousands of generated Cookie headers: core reads the same token", async () => {
  const random = seededRandom();
  const counts = { total: 0, tokens: 0, chunked: 0 };
  for (let i = 0; i < 4000; i++) {
    const name = random.pick([NAME, `__Secure-${NAME}`, "sid", "a.1"]);
    const names = [
      name,
      name,
      `${name}.0`,
      `${name}.1`,
      `${name}.10`,
      `${name}.`,
      `${name}-old`,
      `x${name}`,
      "a",
      "__proto__",
      "",
    ];
    const pairs = Array.from({ length: random.int(5) }, () => {
      const value = random.pick([
        "v1",
        "v-2.x",
        "",
        `${name}=`,
        name,
        "%41",
        "%",
        '"q"',
        " s ",
        random.text(4),
      ]);
      return random.pick(names) + random.pick(["=", "=", "=", " = ", ""]) + value;
    });
    const header = asHeader(pairs.join(random.pick(["; ", "; ", ";", ";;", " ;\t"])));
    const read = readSessionCookie(header, name);
    const what = `seed ${random.seed}: ${JSON.stringify({ name, header })}`;
    // Core sorts names without a number by comparing with NaN, on which V8's compilers do not agree.
    // A name that no server can set is none of ours (session_semantics_test.ts).
    const isOdd = (key: string) => key.startsWith(name) && /[^\w!#$%&'*+.^`|~-]/.test(key);
    if (Object.keys(parseCookie(header)).some(isOdd)) continue;
    const sortable = read.names.length < 2 || read.names.every((name) => /\.\d*$/.test(name));
    const inOrder = (token: string) => sortable ? token : [...token].sort().join("");
    assertEquals(inOrder(read.token), inOrder(await coreReads(header, name)), what);
    counts.total++,
      counts.tokens += Number(read.token !== ""),
      counts.chunked += Number(read.names.length > 1);
  }
  console.log(`seed ${random.seed}: ${JSON.stringify(counts)}`);
  assert(counts.tokens > 1000 && counts.tokens < 3500 && counts.chunked > 300, JSON.stringify(counts));
});
