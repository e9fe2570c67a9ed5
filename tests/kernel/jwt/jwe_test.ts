import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  decode as coreDecode,
  encode as coreEncode,
  type JWT,
  type JWTDecodeParams,
  type JWTEncodeParams,
} from "@auth/core/jwt";
import fc from "../../support/property.ts";
import { CompactEncrypt, EncryptJWT, SignJWT, UnsecuredJWT } from "jose";
import { Buffer } from "node:buffer";
import { createHash, createSecretKey, hkdfSync } from "node:crypto";
import { resolveConfig } from "../../../src/config/resolve.ts";
import {
  decode,
  encode,
  MALFORMED,
  open,
  type Opened,
  OTHER_USE,
  Refusal,
  seal,
  sealForCore,
  UNAUTHENTIC,
  UNKNOWN_KEY,
  validClaims,
} from "../../../src/jwt/jwe.ts";
import { seededRandom } from "../../support/random.ts";

const SECRET = "a-test-secret-of-at-least-32-characters";
const OLD_SECRET = "an-older-test-secret-of-at-least-32-chars";
const OTHER_SECRET = "another-users-secret-of-at-least-32-chars";
const SALT = "authjs.session-token";
const ADA: JWT = {
  name: "Ada Lovelace",
  email: "ada@example.com",
  picture: "https://example.com/a.png",
  sub: "u",
};

const seconds = () => Math.floor(Date.now() / 1000);

/** What a decoder or encoder did, in a form that can be compared. */
async function outcome(run: () => unknown): Promise<unknown> {
  try {
    return { value: await run() };
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message };
  }
}

/** These are told in one word, where jose has many. */
const IN_OTHER_WORDS = new Set([MALFORMED, OTHER_USE, UNAUTHENTIC]);

/** What came of a token. */
interface Compared {
  /** Whether core accepts it. */
  good: boolean;
  /** Whether it was accepted here, without core. */
  fast: boolean;
  /** Whether it was refused here, without core. */
  refused: boolean;
}

/**
 * Both decoders on one token: the same result, or the same error. What core accepts is refused only by a test that says so,
 * and nothing that core refuses is accepted.
 */
async function compare(params: JWTDecodeParams, stricter = false): Promise<Compared> {
  const expected = await outcome(() => coreDecode(params));
  const what = `token ${params.token}`;
  const good = "value" in (expected as object);
  // Nothing is null to both.
  const found = params.token ? decodeWithoutCore(params) : undefined;
  const refused = found instanceof Refusal;
  if (refused && good) {
    assert(stricter, what);
    assertStrictEquals(await decode(params).catch((error) => error), found, what);
  } else if (refused && IN_OTHER_WORDS.has(found)) {
    assertStrictEquals(await decode(params).catch((error) => error), found, what);
  } else {
    assertEquals(await outcome(() => decode(params)), expected, what);
  }
  const fast = found !== undefined && !refused;
  if (fast) assertEquals({ value: found }, expected, what);
  return { good, fast, refused };
}

/** What our decoder makes of a token by itself; `undefined` if it asks core. */
function decodeWithoutCore({ token, secret, salt }: JWTDecodeParams) {
  const opened = open(token!, [secret].flat(), salt);
  return opened instanceof Refusal ? opened : opened && validClaims(opened.claims);
}

/** Opens what is known to open. */
function opened(token: string, secrets: string[]): Opened {
  const opened = open(token, secrets, SALT);
  if (opened === undefined || opened instanceof Refusal) throw new Error(`not opened: ${token}`);
  return opened;
}

/** The thumbprint of the key that core would derive. */
function kidOf(secret: string, salt: string, enc: "A256CBC-HS512" | "A256GCM"): string {
  const isGcm = enc === "A256GCM";
  const bytes = hkdfSync(
    "sha256",
    secret,
    salt,
    `Auth.js Generated Encryption Key (${salt})`,
    isGcm ? 32 : 64,
  );
  const jwk = JSON.stringify({ k: Buffer.from(bytes).toString("base64url"), kty: "oct" });
  return createHash(isGcm ? "sha256" : "sha512").update(jwk).digest("base64url");
}

/** A token by jose's own hand, in core's form, or with any header and plaintext, under the key core would derive. */
async function forge(
  plaintext: string | Uint8Array,
  header: Record<string, unknown> = {},
  { secret = SECRET, salt = SALT }: { secret?: string; salt?: string } = {},
): Promise<string> {
  const enc = (header.enc ?? "A256CBC-HS512") as string;
  const length =
    ({ "A256CBC-HS512": 64, A256GCM: 32, A128GCM: 16, "A128CBC-HS256": 32 } as Record<string, number>)[enc]!;
  const key = new Uint8Array(
    hkdfSync("sha256", secret, salt, `Auth.js Generated Encryption Key (${salt})`, length),
  );
  const bytes = typeof plaintext === "string" ? new TextEncoder().encode(plaintext) : plaintext;
  const crit = Object.fromEntries(((header.crit ?? []) as string[]).map((name) => [name, true]));
  const kid = kidOf(secret, salt, "A256CBC-HS512");
  return await new CompactEncrypt(bytes).setProtectedHeader({ alg: "dir", enc, kid, ...header } as never)
    .encrypt(key, { crit });
}

Deno.test("encode() writes the format of core: header, claims, lengths", async () => {
  const params = { token: ADA, secret: [SECRET, OLD_SECRET], salt: SALT, maxAge: 60 };
  const ours = await encode(params), theirs = await coreEncode(params);
  const [ourHeader, ...ourParts] = ours.split("."), [theirHeader, ...theirParts] = theirs.split(".");
  assertEquals(ourHeader, theirHeader);
  assertEquals(ourParts.map((part) => part.length), theirParts.map((part) => part.length));
  assertMatch(ours, /^[\w-]+\.\.[\w-]{22}\.[\w-]+\.[\w-]{43}$/);

  const claims = await coreDecode({ token: ours, secret: SECRET, salt: SALT });
  assertEquals(Object.keys(claims!), ["name", "email", "picture", "sub", "iat", "exp", "jti"]);
  assertEquals(claims!.exp! - claims!.iat!, 60);
  assertMatch(claims!.jti!, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  assertNotEquals(await encode(params), ours);
});

Deno.test("encode() defaults to core's lifetime, replaces old times and leaves the caller's object alone", async () => {
  const token = Object.freeze({ sub: "u", iat: 1, exp: 2, jti: "old" });
  const claims = await coreDecode({
    token: await encode({ token, secret: SECRET, salt: SALT }),
    secret: SECRET,
    salt: SALT,
  });
  assertEquals(Object.keys(claims!), ["sub", "iat", "exp", "jti"]);
  assertEquals(claims!.exp! - claims!.iat!, 30 * 24 * 60 * 60);
  assert(Math.abs(claims!.iat! - seconds()) <= 2);
  assertNotEquals(claims!.jti, "old");
  assertEquals(token, { sub: "u", iat: 1, exp: 2, jti: "old" });
});

Deno.test("encode() fails on what core fails on, with core's error", async () => {
  const base = { secret: SECRET, salt: SALT };
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const cases: Record<string, unknown> = {
    "a function": { ...base, token: { f() {} } },
    "a symbol": { ...base, token: { s: Symbol("s") } },
    "a BigInt": { ...base, token: { n: 1n } },
    "a cycle": { ...base, token: cyclic },
    "an array": { ...base, token: [] },
    "null": { ...base, token: null },
    "a text": { ...base, token: "x" },
  };
  for (const [name, params] of Object.entries(cases)) {
    const expected = await outcome(() => coreEncode(params as JWTEncodeParams));
    assert(!("value" in (expected as object)), `${name}: core accepts it`);
    assertEquals(await outcome(() => encode(params as JWTEncodeParams)), expected, name);
  }
});

Deno.test("encode() clones what core clones", async () => {
  const bare = Object.assign(Object.create(null), { sub: "u" });
  const tokens: JWT[] = [
    {},
    bare,
    { d: new Date(0), m: new Map([[1, 2]]), u: undefined, n: NaN, e: -0, l: [undefined, , null] },
    { o: { toJSON: undefined }, text: "日本 🦕 \ud800 \u2028" },
    JSON.parse('{"__proto__":{"admin":true},"1":"x"}'),
  ];
  for (const token of tokens) {
    const params = { token, secret: SECRET, salt: SALT };
    const read = async (token: string) => {
      const { jti: _jti, iat: _iat, exp: _exp, ...rest } = (await coreDecode({ token, secret: SECRET, salt: SALT }))!;
      return JSON.stringify(rest);
    };
    assertEquals(await read(await encode(params)), await read(await coreEncode(params)));
  }
});

Deno.test("core's own routes are given this codec, unless the application has one", () => {
  const config = { providers: [], secret: SECRET, trustHost: true };
  assertStrictEquals(resolveConfig(config).core.jwt!.encode, encode);
  assertStrictEquals(resolveConfig(config).core.jwt!.decode, decode);
  const own = () => "own";
  assertStrictEquals(resolveConfig({ ...config, jwt: { encode: own } }).core.jwt!.encode, own);
  assertStrictEquals(resolveConfig({ ...config, jwt: { encode: own } }).core.jwt!.decode, decode);
});

Deno.test("decode() of nothing is null", async () => {
  assertStrictEquals(await decode({ token: "", secret: SECRET, salt: SALT }), null);
  assertStrictEquals(await decode({ secret: SECRET, salt: SALT }), null);
});

Deno.test("times are checked as core checks them, with 15 seconds of tolerance", async () => {
  const now = seconds();
  // Two seconds clear of each limit, so that a slow machine decides nothing.
  const cases: [claims: string, good: boolean][] = [
    [`{"exp":${now - 12}}`, true],
    [`{"exp":${now - 18}}`, false],
    [`{"exp":"${now + 60}"}`, false],
    [`{"exp":null}`, false],
    [`{"exp":1e999}`, true],
    [`{"nbf":${now + 12}}`, true],
    [`{"nbf":${now + 30}}`, false],
    [`{"nbf":true}`, false],
    [`{"iat":${now + 9999}}`, true],
    [`{"iat":"0"}`, false],
    [`{}`, true],
  ];
  for (const [claims, good] of cases) {
    const result = await compare({ token: await forge(claims), secret: SECRET, salt: SALT });
    const refused = claims === `{"exp":${now - 18}}`;
    assertEquals(result, { good, fast: good, refused }, claims);
  }
});

Deno.test("what core alone may accept goes to core: other headers of our keys, odd claims", async () => {
  const key = (bytes: number) =>
    new Uint8Array(hkdfSync("sha256", SECRET, SALT, `Auth.js Generated Encryption Key (${SALT})`, bytes));
  const claims = { name: "x", exp: seconds() + 60 };
  const text = JSON.stringify(claims);
  const bom = new Uint8Array([0xef, 0xbb, 0xbf, ...new TextEncoder().encode(text)]);
  const cases: Record<string, [token: string, good: boolean]> = {
    "zip": [
      await new EncryptJWT(claims).setProtectedHeader({ alg: "dir", enc: "A256CBC-HS512", zip: "DEF" })
        .encrypt(key(64)),
      true,
    ],
    "typ": [await forge(text, { typ: "JWT" }), true],
    "replicated claim": [await forge(text, { iss: "x" }), false],
    "crit": [await forge(text, { crit: ["x-y"], "x-y": 1 }), false],
    "crit, not authentic": [
      (await forge(text)).replace(/^[^.]+/, b64('{"alg":"dir","enc":"A256CBC-HS512","crit":["x"],"x":1}')),
      false,
    ],
    "kid null": [await forge(text, { kid: null }), false],
    "kid of no key": [await forge(text, { kid: "unknown" }), false],
    "no kid": [await forge(text, { kid: undefined }), true],
    "core's form": [await forge(text), true],
    "A128GCM": [await forge(text, { enc: "A128GCM" }), false],
    "A128CBC-HS256": [await forge(text, { enc: "A128CBC-HS256" }), false],
    "A256KW": [
      await new EncryptJWT(claims).setProtectedHeader({ alg: "A256KW", enc: "A256GCM" }).encrypt(key(32)),
      false,
    ],
    "PBES2": [
      await new EncryptJWT(claims).setProtectedHeader({ alg: "PBES2-HS256+A128KW", enc: "A256GCM" }).encrypt(
        key(32),
      ),
      false,
    ],
    "JWS": [
      await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(
        createSecretKey(Buffer.from(SECRET)),
      ),
      false,
    ],
    "alg none": [new UnsecuredJWT(claims).encode(), false],
    "an array": [await forge("[1]"), false],
    "a number": [await forge("1"), false],
    "null": [await forge("null"), false],
    "no JSON": [await forge("name"), false],
    "byte order mark": [await forge(bom), true],
    "U+FFFD in a name": [await forge('{"name":"\ufffd"}'), true],
    "half an emoji in a name": [await forge('{"name":"\ud83e"}'), true],
    "state token as session": [await coreEncode({ token: ADA, secret: SECRET, salt: "authjs.state" }), false],
  };
  const recognised = new Set(["core's form", "U+FFFD in a name", "half an emoji in a name"]);
  const left = new Set(["zip", "typ", "replicated claim", "crit", "an array", "a number", "null", "no JSON"]);
  for (const name of ["byte order mark", "no kid"]) left.add(name);
  for (const [name, [token, good]] of Object.entries(cases)) {
    const result = await compare({ token, secret: SECRET, salt: SALT });
    const fast = recognised.has(name);
    assertEquals(result, { good, fast, refused: !fast && !left.has(name) }, name);
  }
});

/** A token of core's that looks like this. */
async function tokenOf(pattern: RegExp): Promise<string> {
  while (true) {
    const token = await coreEncode({ token: ADA, secret: SECRET, salt: SALT });
    if (pattern.test(token)) return token;
  }
}

/** Another spelling of the same bytes: the last character of 16 and of 32 bytes has spare bits. */
const withSpareBits = (text: string) => text.slice(0, -1) + ALPHABET[ALPHABET.indexOf(text.at(-1)!) ^ 1]!;

Deno.test("a token is read in one spelling: padding, white space and spare bits, which jose lets pass, are refused", async () => {
  const token = await tokenOf(/-[\w-]*_[\w-]*\.[\w-]+$/);
  const [header, , iv, content, tag] = token.split(".") as [string, string, string, string, string];
  const variants: Record<string, string> = {
    padded: `${header}..${iv}==.${content}.${tag}=`,
    "a padded header": `${header}==..${iv}.${content}.${tag}`,
    "spare bits of the tag": `${header}..${iv}.${content}.${withSpareBits(tag)}`,
    "spare bits of the iv": `${header}..${withSpareBits(iv)}.${content}.${tag}`,
    "white space": `${header}..${iv}.${content.slice(0, 4)} \n${content.slice(4)}.${tag}`,
  };
  for (const [name, token] of Object.entries(variants)) {
    assertStrictEquals(open(token, [SECRET], SALT), MALFORMED, name);
    await compare({ token, secret: SECRET, salt: SALT }, true);
  }
  assert(
    (await compare({ token: variants["spare bits of the tag"]!, secret: SECRET, salt: SALT }, true)).good,
  );

  // Contents of 16n + 2 and 16n + 1 bytes of base64url, and a header that core did not write.
  for (const padding of [0, 1, 2]) {
    const token = await forge(JSON.stringify({ pad: "x".repeat(30 + 16 * padding) }), { kid: undefined });
    const parts = token.split(".");
    for (const at of [0, 3]) {
      const spelled = parts.with(at, withSpareBits(parts[at]!)).join(".");
      const spare = parts[at]!.length % 4 !== 0;
      const refusal = open(spelled, [SECRET], SALT);
      assertStrictEquals(
        refusal instanceof Refusal && (!spare || refusal === MALFORMED),
        true,
        `${at}: ${spelled}`,
      );
    }
  }
});

Deno.test("what cannot be a token is refused, and core agrees", async () => {
  const token = await tokenOf(/-[\w-]*_[\w-]*\.[\w-]+$/);
  const [header, , iv, content, tag] = token.split(".") as [string, string, string, string, string];
  const widened = (text: string) => String.fromCharCode(text.charCodeAt(0) + 0x100) + text.slice(1);
  const variants: Record<string, string> = {
    "junk": `${header}..${iv}.${content.slice(0, 4)}!${content.slice(4)}.${tag}`,
    "plus": `${header}..${iv}.${content.replace("-", "+")}.${tag}`,
    "slash": `${header}..${iv}.${content.replace("_", "/")}.${tag}`,
    "one character too many": `${header}..${iv}.${content}AA.${tag}`,
    "wrapped key": `${header}.AAAA.${iv}.${content}.${tag}`,
    "sixth segment": `${token}.AAAA`,
    "four segments": `${header}..${iv}.${content}`,
    "no iv": `${header}...${content}.${tag}`,
    "no tag": `${header}..${iv}.${content}.`,
    "no header": `..${iv}.${content}.${tag}`,
    "a long header": `${"A".repeat(4096)}..${iv}.${content}.${tag}`,
    "wide characters": `${header}..${iv}.${content}日.${tag}`,
    "a wide character with a letter's low byte": `${header}..${iv}.${widened(content)}.${tag}`,
    "a wide character in the header": `${widened(header)}..${iv}.${content}.${tag}`,
    "dots": "....",
    "a header that is no object": `${b64("1")}..${iv}.${content}.${tag}`,
    "a header that is no JSON": `${b64("{")}..${iv}.${content}.${tag}`,
  };
  for (const [name, token] of Object.entries(variants)) {
    const { good, refused } = await compare({ token, secret: SECRET, salt: SALT });
    assertEquals([good, refused], [false, true], name);
  }
});

Deno.test("a segment of 4n + 1 characters is no base64url, though a lenient decoder drops the last one", async () => {
  // 64 bytes of ciphertext are 86 characters; 48 bytes are 64, to which one more adds no byte.
  const token = await forge(JSON.stringify({ pad: "x".repeat(30) }));
  const [header, , iv, content, tag] = token.split(".");
  assertEquals(content!.length, 64);
  const result = await compare({ token: `${header}..${iv}.${content}A.${tag}`, secret: SECRET, salt: SALT });
  assertEquals(result, { good: false, fast: false, refused: true });
});

Deno.test("a refusal says what is known of the key: unknown only where another process may have it", async () => {
  const token = await coreEncode({ token: ADA, secret: SECRET, salt: SALT });
  const parts = token.split(".");
  const other = await coreEncode({ token: ADA, secret: OTHER_SECRET, salt: SALT });
  const state = await coreEncode({ token: ADA, secret: OLD_SECRET, salt: "authjs.state" });
  const cases: [name: string, token: string, refusal: Refusal][] = [
    ["the tag changed", parts.with(4, "A".repeat(43)).join("."), UNAUTHENTIC],
    ["another secret", other, UNKNOWN_KEY],
    ["another secret, the tag changed", other.slice(0, -43) + "A".repeat(43), UNKNOWN_KEY],
    ["another secret, cut", other.slice(0, -50), MALFORMED],
    ["another cookie of ours", state, OTHER_USE],
    [
      "another cookie of another secret",
      await coreEncode({ token: ADA, secret: OTHER_SECRET, salt: "s" }),
      UNKNOWN_KEY,
    ],
    ["no thumbprint", await forge("{}", { kid: "unknown" }), OTHER_USE],
    ["a thumbprint of another length", await forge("{}", { kid: "A".repeat(43) }), OTHER_USE],
    ["no text", await forge("{}", { kid: 1 }), OTHER_USE],
    ["another algorithm", await forge("{}", { enc: "A128GCM" }), MALFORMED],
  ];
  for (const [name, token, refusal] of cases) {
    assertStrictEquals(open(token, [SECRET, OLD_SECRET], SALT, ["authjs.state"]), refusal, name);
  }
  assertStrictEquals(open(state, [SECRET, OLD_SECRET], SALT), UNKNOWN_KEY);
});

const ACCEPTED: Compared = { good: true, fast: true, refused: false };
const REFUSED: Compared = { good: false, fast: false, refused: true };
/** Accepted, or not, by core. */
const LEFT = { fast: false, refused: false };

Deno.test("rotation: kid finds the secret, a token without kid takes the first", async () => {
  const secret = [SECRET, OLD_SECRET];
  const old = await coreEncode({ token: ADA, secret: OLD_SECRET, salt: SALT });
  assertEquals(await compare({ token: old, secret, salt: SALT }), ACCEPTED);
  assertEquals(opened(old, secret).current, false);
  assertEquals(opened(await coreEncode({ token: ADA, secret, salt: SALT }), secret).current, true);

  const noKid = await forge("{}", { kid: undefined }, { secret: OLD_SECRET });
  assertEquals(await compare({ token: noKid, secret, salt: SALT }), REFUSED);
  assertEquals(await compare({ token: noKid, secret: OLD_SECRET, salt: SALT }), { good: true, ...LEFT });
});

Deno.test("A256GCM is left to core, which reads it with and without kid, and only with a whole tag", async () => {
  const kid = kidOf(SECRET, SALT, "A256GCM");
  for (const header of [{ enc: "A256GCM", kid: undefined }, { enc: "A256GCM", kid }]) {
    const token = await forge('{"name":"gcm"}', header);
    assertEquals(await compare({ token, secret: SECRET, salt: SALT }), { good: true, ...LEFT });
    const short = token.slice(0, -6);
    const { good } = await compare({ token: short, secret: SECRET, salt: SALT });
    assertEquals(good, false);
  }
  const mislabelled = await forge("{}", {
    enc: "A256GCM",
    kid: kidOf(SECRET, SALT, "A256CBC-HS512"),
  });
  assertEquals(await compare({ token: mislabelled, secret: SECRET, salt: SALT }), { good: false, ...LEFT });
});

/** Tokens of every length of contents. */
const anyToken = fc.string({ maxLength: 80 }).map((name) => {
  const text = JSON.stringify({ name });
  return { text, token: seal(text, SECRET, SALT) };
});

Deno.test("property: a token of which any one bit or character is another is refused", async () => {
  const { seed } = seededRandom();
  console.log(`seed ${seed}`);
  const at = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const change = fc.oneof(
    // A bit of a character, of which all stay in a byte.
    fc.record({
      at,
      to: fc.integer({ min: 0, max: 7 }).map((bit) => (c: number) => String.fromCharCode(c ^ 1 << bit)),
    }),
    fc.record({ at, to: fc.constantFrom(...ALPHABET, "", ".", "=", " ", "AA").map((text) => () => text) }),
    // A bit of the bytes.
    fc.record({ at, bit: fc.integer({ min: 0, max: 7 }) }),
  );
  await fc.assert(
    fc.asyncProperty(anyToken, change, async ({ text, token }, change) => {
      assertEquals(opened(token, [SECRET]).claims, JSON.parse(text));
      const place = Math.floor(change.at * token.length);
      let changed: string;
      if ("to" in change) {
        changed = token.slice(0, place) + change.to(token.charCodeAt(place)) + token.slice(place + 1);
      } else {
        const parts = token.split(".");
        const index = [0, 2, 3, 4][Math.floor(change.at * 4)]!;
        const bytes = Buffer.from(parts[index]!, "base64url");
        bytes[Math.floor(change.at * 4 % 1 * bytes.length)]! ^= 1 << change.bit;
        changed = parts.with(index, bytes.toString("base64url")).join(".");
      }
      if (changed === token) return;
      const made = open(changed, [SECRET], SALT);
      assert(made === undefined || made instanceof Refusal, changed);
      assertStrictEquals(
        await decode({ token: changed, secret: SECRET, salt: SALT }).catch(() => null),
        null,
      );
    }),
    { numRuns: 4000, seed },
  );
});

/** Clear of the 15 seconds after which a token ends: the two decoders look at it a moment apart. */
const LIVES = [-30, -20, -10, 0, 30, 60];

Deno.test("thousands of generated tokens: core and the fast codec agree", async () => {
  const random = seededRandom();
  const salts = [SALT, "__Secure-authjs.session-token", "__Host-sid", "日本", "a"];
  const counts = { total: 0, good: 0, fast: 0 };

  for (let i = 0; i < 3000; i++) {
    const salt = random.pick(salts);
    const secret = random.pick([SECRET, [SECRET], [SECRET, OLD_SECRET], [OLD_SECRET, SECRET], OTHER_SECRET]);
    const sealed = random.oneIn(8) ? random.pick(salts) : salt;
    const token = mangle(await make(sealed), random);
    // A changed character may be one of spare bits.
    const { good, fast } = await compare({ token, secret, salt }, true);
    counts.total++, counts.good += Number(good), counts.fast += Number(fast);
  }
  console.log(`seed ${random.seed}: ${JSON.stringify(counts)}`);
  assert(counts.good > 300 && counts.good < 2700 && counts.fast > counts.good * 0.9, JSON.stringify(counts));

  async function make(salt: string): Promise<string> {
    const claims = Object.assign(Object.create(null), random.json(2)) as JWT;
    const secret = random.pick([SECRET, OLD_SECRET]);
    const kind = random.int(6);
    if (kind < 2) return await encode({ token: claims, secret, salt, maxAge: random.pick(LIVES) });
    if (kind < 4) return await coreEncode({ token: claims, secret, salt, maxAge: random.pick(LIVES) });
    const enc = random.pick(["A256CBC-HS512", "A256GCM"] as const);
    const kid = random.pick([undefined, kidOf(secret, salt, enc), "x"]);
    const plaintext = random.oneIn(4) ? random.text(20) : JSON.stringify(random.json(2)) ?? "";
    return await forge(
      plaintext || "x",
      { enc, kid, ...(random.oneIn(9) && { cty: "JWT" }) },
      { secret, salt },
    );
  }
});

function mangle(token: string, random: ReturnType<typeof seededRandom>): string {
  const parts = token.split(".");
  const at = random.int(token.length);
  switch (random.int(20)) {
    case 0: // one character of one segment
      return token.slice(0, at) + random.pick([...ALPHABET, "=", " ", "!", "."]) + token.slice(at + 1);
    case 1:
      return token.slice(0, at);
    case 2:
      return token.slice(0, at) + token.slice(at + 1);
    case 3: { // one byte of the plaintext's last block, of the iv, of the tag
      const i = 2 + random.int(3), bytes = Buffer.from(parts[i]!, "base64url");
      bytes[random.int(bytes.length)]! ^= 1 << random.int(8);
      parts[i] = bytes.toString("base64url");
      return parts.join(".");
    }
    case 4: { // segments in another order
      const a = random.int(5), b = random.int(5);
      [parts[a], parts[b]] = [parts[b]!, parts[a]!];
      return parts.join(".");
    }
    case 5: // ciphertext shorter by a block
      parts[3] = Buffer.from(parts[3]!, "base64url").subarray(16).toString("base64url");
      return parts.join(".");
    default:
      return token;
  }
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const b64 = (text: string) => Buffer.from(text).toString("base64url");

Deno.test("core opens what is sealed for it, with the secret and for the salt alone", async () => {
  const content = { value: "state äöü", provider: "idp" };
  for (const secret of [SECRET, [SECRET, OLD_SECRET]]) {
    const token = sealForCore(content, secret, "fastify-authjs.state");
    assertEquals(await coreDecode({ token, secret, salt: "fastify-authjs.state" }), content);
    assertNotEquals(token, sealForCore(content, secret, "fastify-authjs.state"));
    for (const [given, salt] of [[OTHER_SECRET, "fastify-authjs.state"], [secret, "fastify-authjs.nonce"]] as const) {
      await assertRejects(() => coreDecode({ token, secret: given as string, salt }));
    }
  }
});
