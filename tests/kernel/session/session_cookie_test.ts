import { assert, assertEquals } from "@std/assert";
import { Auth } from "@auth/core";
import { getToken } from "@auth/core/jwt";
import fc from "../../support/property.ts";
import { parseCookie, parseSetCookie, stringifySetCookie } from "cookie";
import type { CookieSettings } from "../../../src/config/cookies.ts";
import { toSetCookieLine } from "../../../src/http/set_cookie.ts";
import {
  CHUNK_SIZE,
  LONGEST_TOKEN,
  possibleParts,
  readSessionCookie,
  sessionCookies,
} from "../../../src/session/cookie.ts";
import { seededRandom } from "../../support/random.ts";

const NAME = "authjs.session-token";
const SECRET = "a-test-secret-of-at-least-32-characters";
const MOST_CHUNKS = 16;
const SETTINGS: CookieSettings = {
  name: NAME,
  options: { httpOnly: true, sameSite: "lax", path: "/", secure: false },
};

/** The token as core's own reader joins it. */
async function coreReads(cookie: string, name: string): Promise<string> {
  return await getToken({ req: { headers: { cookie } }, cookieName: name, raw: true, secret: SECRET }) ?? "";
}

/** The Set-Cookie lines core answers a session request with, when its encoder gives `token`. */
async function coreWrites(
  cookie: string,
  token: string,
  settings: CookieSettings,
): Promise<string[]> {
  const response = await Auth(new Request("http://localhost/auth/session", { headers: { cookie } }), {
    providers: [],
    secret: SECRET,
    trustHost: true,
    logger: { error() {}, debug() {}, warn() {} },
    cookies: { sessionToken: settings as { name: string; options: Record<string, never> } },
    jwt: { decode: () => ({}), encode: () => token },
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

Deno.test("only the configured name, or a run of its chunks from .0 on, is the session; core joins what starts the same", () => {
  const other = "sid";
  const cases: Record<string, [header: string, name: string, token: string, names: string[]]> = {
    "another application's name that starts the same": [`${other}=abc; ${other}er=x`, other, "abc", [other]],
    "the same, before": [`${other}er=x; ${other}=abc`, other, "abc", [other]],
    "the same, alone": [`${other}er=x`, other, "", []],
    "an old one": [`${NAME}=abc; ${NAME}-old=x`, NAME, "abc", [NAME]],
    "a letter for a number": [`${NAME}.x=x; ${NAME}=abc`, NAME, "abc", [NAME]],
    "a chunk without those before": [`${NAME}.9=x`, NAME, "", []],
    "a chunk without the first": [`${NAME}.1=x; ${NAME}.2=y`, NAME, "", []],
    "a gap": [`${NAME}.0=a; ${NAME}.2=c`, NAME, "a", [`${NAME}.0`, `${NAME}.2`]],
    "an empty chunk": [`${NAME}.0=a; ${NAME}.1=; ${NAME}.2=c`, NAME, "a", [`${NAME}.0`, `${NAME}.2`]],
    "a gap, and what no token of ours reached": [`${NAME}.0=a; ${NAME}.9=c`, NAME, "a", [`${NAME}.0`]],
    "a number spelled otherwise": [`${NAME}.00=a; ${NAME}.01=b`, NAME, "", []],
    "a dot and no number": [`${NAME}.=a`, NAME, "", []],
    "a chunk of a chunk": [`${NAME}.0.0=a`, NAME, "", []],
    "what only a script can set": [`${NAME}[1]=x; ${NAME}=abc`, NAME, "abc", [NAME]],
    "what only a script can set, alone": [`${NAME}(1)=x`, NAME, "", []],
    "the whole beside a stale chunk": [`${NAME}=whole; ${NAME}.0=part`, NAME, "whole", [NAME, `${NAME}.0`]],
    "a stale chunk before the whole": [`${NAME}.0=part; ${NAME}=whole`, NAME, "whole", [NAME, `${NAME}.0`]],
    "the whole beside others' chunks": [`${NAME}.1=b; ${NAME}=w; ${NAME}.3=a`, NAME, "w", [NAME]],
    "an empty whole beside chunks": [`${NAME}=; ${NAME}.0=a`, NAME, "a", [`${NAME}.0`]],
  };
  for (const [what, [header, name, token, names]] of Object.entries(cases)) {
    const read = readSessionCookie(header, name);
    assertEquals([read.token, read.names], [token, names], what);
  }
});

Deno.test("sixteen chunks are read, of the size that browsers keep; what is more is none, and is removed in part", () => {
  const run = (count: number, size = 1) =>
    Array.from({ length: count }, (_, i) => `${NAME}.${i}=${"x".repeat(size)}`).join("; ");
  assertEquals(readSessionCookie(run(MOST_CHUNKS), NAME).token, "x".repeat(MOST_CHUNKS));
  const longest = MOST_CHUNKS * CHUNK_SIZE;
  assertEquals(readSessionCookie(run(MOST_CHUNKS, CHUNK_SIZE), NAME).token.length, longest);
  const many = { token: "", names: Array.from({ length: MOST_CHUNKS }, (_, i) => `${NAME}.${i}`) };
  for (const header of [run(MOST_CHUNKS + 1), run(1000), `a=%; ${run(1000)}`, `${NAME}-x=1; ${run(1000)}`]) {
    assertEquals(readSessionCookie(header, NAME), many);
  }
});

Deno.test("a session may have left as many cookies as its token needs: 16 KB by default, and 16 at most", () => {
  assertEquals(possibleParts(NAME).length, 6);
  assertEquals([LONGEST_TOKEN, possibleParts(NAME, LONGEST_TOKEN).length], [MOST_CHUNKS * CHUNK_SIZE, 17]);
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
  const held = [[NAME], [`${NAME}.0`, `${NAME}.1`, `${NAME}.2`], [NAME, `${NAME}.0`]];
  const sizes = [1, CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 2 * CHUNK_SIZE, 3 * CHUNK_SIZE + 7];
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
        const written = await coreWrites(header(names), token, settings);
        // Unlike core, writing chunks removes what must not be beside them, whatever cookies the request had.
        const chunks = Math.ceil(size / CHUNK_SIZE);
        const removed = (chunks > 1 ? [NAME, `${NAME}.${chunks}`] : [])
          .filter((name) => !names.includes(name))
          .map((name) => stringifySetCookie({ name, value: "", ...options, maxAge: 0 }));
        const expected = [...written, ...removed];
        const expires = expected.map((line) => parseSetCookie(line).expires).find((date) => date) ??
          new Date();
        const lines = sessionCookies(token, names, settings, expires).map(toSetCookieLine);
        assertEquals(lines.toSorted(), expected.toSorted());
      }
    }
  }
});

Deno.test("a token with characters that cookies have as escapes is in cookies that browsers keep", () => {
  for (const length of [1000, 4000, 9000]) {
    const token = "+/=a".repeat(length / 4);
    const cookies = sessionCookies(token, [], { name: NAME, options: {} }, undefined);
    const lines = cookies.map((cookie) => toSetCookieLine(cookie).split(";")[0]!);
    assert(lines.every((line) => line.length <= 4096), lines.map((line) => line.length).join());
    assertEquals(readSessionCookie(lines.filter((line) => !line.endsWith("=")).join("; "), NAME).token, token);
  }
});

Deno.test("property: of any Cookie header, core reads the token that is read here, unless it takes other names for chunks", async () => {
  const random = seededRandom();
  const counts = { total: 0, tokens: 0, chunked: 0, asCore: 0 };
  const anyName = fc.constantFrom(NAME, `__Secure-${NAME}`, "sid", "a.1");
  const suffix = fc.constantFrom(
    "",
    "",
    ".0",
    ".0",
    ".1",
    ".1",
    ".2",
    ".10",
    ".",
    ".01",
    "-old",
    "er",
    "[1]",
    " ",
    "\u00a0",
  );
  const value = fc.constantFrom("v1", "v-2.x", "w", "", "=", "sid", "%41", "%", '"q"', " s ", "\u00e9");
  const company = fc.constantFrom("a", "__proto__", "", "xsid", `x${NAME}`);
  const separator = fc.constantFrom("; ", "; ", ";", ";;", " ;\t");
  const equals = fc.constantFrom("=", "=", "=", " = ", "");
  const pair = fc.record({ own: fc.boolean(), suffix, company, equals, value });
  await fc.assert(
    fc.asyncProperty(anyName, fc.array(pair, { maxLength: 6 }), separator, async (name, pairs, separator) => {
      const header = asHeader(
        pairs.map(({ own, suffix, company, equals, value }) => (own ? name + suffix : company) + equals + value)
          .join(separator),
      );
      const read = readSessionCookie(header, name);
      const cookies = parseCookie(header);
      // Where all that core takes for the session is the whole cookie or a run, core needs no help.
      const taken = Object.keys(cookies).filter((key) => key.startsWith(name) && cookies[key]);
      const run = taken.map((_, i) => `${name}.${i}`);
      const agreed = taken.every((key) => run.includes(key)) || taken.join() === name;
      if (agreed) assertEquals(await coreReads(header, name), read.token);
      // No cookie of another application is removed.
      for (const key of read.names) assert(key === name || /^\.\d+$/.test(key.slice(name.length)), key);
      counts.total++;
      counts.tokens += Number(read.token !== "");
      counts.chunked += Number(read.names.length > 1);
      counts.asCore += Number(agreed);
    }),
    { numRuns: 3000, seed: random.seed },
  );
  console.log(`seed ${random.seed}: ${JSON.stringify(counts)}`);
  assert(counts.tokens > 500 && counts.chunked > 100 && counts.asCore > 300, JSON.stringify(counts));
});
