import { assert, assertEquals, assertMatch, assertNotEquals, assertStrictEquals } from "@std/assert";
import { decode as coreDecode, encode as coreEncode } from "@auth/core/jwt";
import type { JWT, JWTDecodeParams, JWTEncodeParams } from "@auth/core/jwt";
import { CompactEncrypt, EncryptJWT, SignJWT, UnsecuredJWT } from "jose";
import { Buffer } from "node:buffer";
import { createSecretKey, hkdfSync } from "node:crypto";
import { resolveConfig } from "../src/config/config.ts";
import { derivedKey } from "../src/session/derived_key.ts";
import { open, seal } from "../src/session/jwe.ts";
import { decode, decodeSync, encode } from "../src/session/jwt_codec.ts";
import { seededRandom } from "./support/random.ts";

const SECRET = "a-test-secret-of-at-least-32-characters";
const OLD_SECRET = "an-older-test-secret-of-at-least-32-chars";
const OTHER_SECRET = "somebody-elses-secret-of-at-least-32-chars";
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
    const { name, message, code } = error as Error & { code?: string };
    return { name, message, code };
  }
}

/** Both decoders on one token: the same result or the same error. Says whether core's was a success and ours the fast one. */
async function compare(params: JWTDecodeParams): Promise<{ good: boolean; fast: boolean }> {
  const expected = await outcome(() => coreDecode(params));
  const what = `token ${params.token}`;
  assertEquals(await outcome(() => decode(params)), expected, what);
  const fast = decodeSync(params);
  if (fast) assertEquals({ value: fast }, expected, what);
  return { good: "value" in (expected as object), fast: fast !== undefined };
}

/** A token by jose's own hand, with any header and plaintext, under the key core would derive. */
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
  return await new CompactEncrypt(bytes).setProtectedHeader({ alg: "dir", enc, ...header }).encrypt(key);
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
  class Claims {
    sub = "u";
  }
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
    "an instance": { ...base, token: new Claims() },
    "nbf not finite": { ...base, token: { nbf: NaN } },
    "maxAge not finite": { ...base, token: {}, maxAge: NaN },
    "no secret": { salt: SALT, token: {} },
    "empty secret": { ...base, secret: "", token: {} },
    "a long salt": { ...base, salt: "s".repeat(1100), token: {} },
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
      const { jti: _jti, iat: _iat, exp: _exp, ...rest } =
        (await coreDecode({ token, secret: SECRET, salt: SALT }))!;
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
    assertEquals(result, { good, fast: good }, claims);
  }
});

Deno.test("what is not recognised goes to core: compressed, other algorithms, odd headers, odd claims", async () => {
  const key = (bytes: number) =>
    new Uint8Array(hkdfSync("sha256", SECRET, SALT, `Auth.js Generated Encryption Key (${SALT})`, bytes));
  const claims = { name: "x", exp: seconds() + 60 };
  const text = JSON.stringify(claims);
  const bom = new Uint8Array([0xef, 0xbb, 0xbf, ...new TextEncoder().encode(text)]);
  const notUtf8 = new Uint8Array([...new TextEncoder().encode('{"name":"'), 0xff, 0x22, 0x7d]);
  const kid = derivedKey(SECRET, SALT, "A256CBC-HS512").kid;
  const cases: Record<string, [token: string, good: boolean]> = {
    "zip": [
      await new EncryptJWT(claims).setProtectedHeader({ alg: "dir", enc: "A256CBC-HS512", zip: "DEF" })
        .encrypt(key(64)),
      true,
    ],
    "typ": [await forge(text, { typ: "JWT" }), true],
    "replicated claim": [await forge(text, { iss: "x" }), false],
    "crit": [
      (await forge(text, { "x-y": 1 })).replace(
        /^[^.]+/,
        b64('{"alg":"dir","enc":"A256CBC-HS512","crit":["x-y"],"x-y":1}'),
      ),
      false,
    ],
    "kid null": [await forge(text, { kid: null }), false],
    "kid of nobody": [await forge(text, { kid: "nobody" }), false],
    "kid and own member order": [await forge(text, { kid, typ: undefined }), true],
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
    "no UTF-8": [await forge(notUtf8), false],
    "U+FFFD in a name": [await forge('{"name":"\ufffd"}'), true],
    "state token as session": [await coreEncode({ token: ADA, secret: SECRET, salt: "authjs.state" }), false],
  };
  const recognised = new Set(["kid and own member order"]);
  for (const [name, [token, good]] of Object.entries(cases)) {
    const result = await compare({ token, secret: SECRET, salt: SALT });
    assertEquals(result, { good, fast: recognised.has(name) }, name);
  }
});

/** A token of core's that looks like this. */
async function tokenOf(pattern: RegExp): Promise<string> {
  while (true) {
    const token = await coreEncode({ token: ADA, secret: SECRET, salt: SALT });
    if (pattern.test(token)) return token;
  }
}

Deno.test("base64url is read no more laxly than jose reads it", async () => {
  const token = await tokenOf(/-[\w-]*_[\w-]*\.[\w-]+$/);
  const [header, , iv, content, tag] = token.split(".") as [string, string, string, string, string];
  const last = (text: string) => text.slice(0, -1) + other(text.at(-1)!);
  // The last character of 16 and of 32 bytes has spare bits: another spelling of the same bytes.
  const other = (character: string) => ALPHABET[ALPHABET.indexOf(character) ^ 1]!;
  const widened = (text: string) => String.fromCharCode(text.charCodeAt(0) + 0x100) + text.slice(1);
  const variants: Record<string, string> = {
    padded: `${header}..${iv}==.${content}.${tag}=`,
    "spare bits of the tag": `${header}..${iv}.${content}.${last(tag)}`,
    "spare bits of the iv": `${header}..${last(iv)}.${content}.${tag}`,
    "white space": `${header}..${iv}.${content.slice(0, 4)} \n${content.slice(4)}.${tag}`,
    "junk": `${header}..${iv}.${content.slice(0, 4)}!${content.slice(4)}.${tag}`,
    "plus": `${header}..${iv}.${content.replace("-", "+")}.${tag}`,
    "slash": `${header}..${iv}.${content.replace("_", "/")}.${tag}`,
    "one character too many": `${header}..${iv}.${content}AA.${tag}`,
    "wrapped key": `${header}.AAAA.${iv}.${content}.${tag}`,
    "sixth segment": `${token}.AAAA`,
    "four segments": `${header}..${iv}.${content}`,
    "no iv": `${header}...${content}.${tag}`,
    "no tag": `${header}..${iv}.${content}.`,
    "trailing newline": `${token}\n`,
    "wide characters": `${header}..${iv}.${content}日.${tag}`,
    "a wide character with a letter's low byte": `${header}..${iv}.${widened(content)}.${tag}`,
    "dots": "....",
  };
  const otherSpelling = ["spare bits of the tag", "spare bits of the iv"];
  for (const [name, token] of Object.entries(variants)) {
    const { good, fast } = await compare({ token, secret: SECRET, salt: SALT });
    assert(good || !fast, name);
    assert(!fast || otherSpelling.includes(name), name);
  }
  assert((await compare({ token: variants["spare bits of the tag"]!, secret: SECRET, salt: SALT })).good);
});

Deno.test("a segment of 4n + 1 characters is no base64url, though a lenient decoder drops the last one", async () => {
  // 64 bytes of ciphertext are 86 characters; 48 bytes are 64, to which one more adds no byte.
  const token = await forge(JSON.stringify({ pad: "x".repeat(30) }));
  const [header, , iv, content, tag] = token.split(".");
  assertEquals(content!.length, 64);
  const result = await compare({ token: `${header}..${iv}.${content}A.${tag}`, secret: SECRET, salt: SALT });
  assertEquals(result, { good: false, fast: false });
});

Deno.test("rotation: kid finds the secret, a token without kid takes the first", async () => {
  const secret = [SECRET, OLD_SECRET];
  const old = await coreEncode({ token: ADA, secret: OLD_SECRET, salt: SALT });
  assertEquals(await compare({ token: old, secret, salt: SALT }), { good: true, fast: true });
  assertEquals(open(old, secret, SALT)!.current, false);
  assertEquals(open(await coreEncode({ token: ADA, secret, salt: SALT }), secret, SALT)!.current, true);

  const noKid = await forge("{}", {}, { secret: OLD_SECRET });
  assertEquals(await compare({ token: noKid, secret, salt: SALT }), { good: false, fast: false });
  assertEquals(await compare({ token: noKid, secret: OLD_SECRET, salt: SALT }), { good: true, fast: true });
  assertEquals(open(noKid, [OLD_SECRET], SALT)!.current, false);
});

Deno.test("A256GCM is read, with and without kid, and only with a whole tag", async () => {
  const kid = derivedKey(SECRET, SALT, "A256GCM").kid;
  for (const header of [{ enc: "A256GCM" }, { enc: "A256GCM", kid }]) {
    const token = await forge('{"name":"gcm"}', header);
    assertEquals(await compare({ token, secret: SECRET, salt: SALT }), { good: true, fast: true });
    assertEquals(open(token, [SECRET], SALT)!.current, false);
    const short = token.slice(0, -6);
    assertEquals(await compare({ token: short, secret: SECRET, salt: SALT }), { good: false, fast: false });
  }
  const mislabelled = await forge("{}", {
    enc: "A256GCM",
    kid: derivedKey(SECRET, SALT, "A256CBC-HS512").kid,
  });
  assertEquals(await compare({ token: mislabelled, secret: SECRET, salt: SALT }), {
    good: false,
    fast: false,
  });
});

Deno.test("every single changed character of a token is noticed", () => {
  const token = seal('{"name":"x"}', SECRET, SALT);
  for (let i = 0; i < token.length; i++) {
    const changed = token.slice(0, i) + (token[i] === "A" ? "B" : "A") + token.slice(i + 1);
    const opened = open(changed, [SECRET], SALT);
    // Spare bits alone may change; the bytes are then the same.
    if (opened) assertEquals(opened.text, '{"name":"x"}');
    if (opened) assert(token[i + 1] === "." || i === token.length - 1, `character ${i}`);
  }
});

Deno.test("thousands of generated tokens: core and the fast codec agree", async () => {
  const random = seededRandom();
  const salts = [SALT, "__Secure-authjs.session-token", "__Host-sid", "日本", "a"];
  const counts = { total: 0, good: 0, fast: 0 };

  for (let i = 0; i < 3000; i++) {
    const salt = random.pick(salts);
    const secret = random.pick([SECRET, [SECRET], [SECRET, OLD_SECRET], [OLD_SECRET, SECRET], OTHER_SECRET]);
    const sealed = random.oneIn(8) ? random.pick(salts) : salt;
    const token = mangle(await make(sealed), random);
    const { good, fast } = await compare({ token, secret, salt });
    counts.total++, counts.good += Number(good), counts.fast += Number(fast);
  }
  console.log(`seed ${random.seed}: ${JSON.stringify(counts)}`);
  assert(counts.good > 300 && counts.good < 2700 && counts.fast > counts.good * 0.9, JSON.stringify(counts));

  async function make(salt: string): Promise<string> {
    const claims = Object.assign(Object.create(null), random.json(2)) as JWT;
    const secret = random.pick([SECRET, OLD_SECRET]);
    const kind = random.int(6);
    if (kind < 2) return await encode({ token: claims, secret, salt, maxAge: random.int(100) - 30 });
    if (kind < 4) return await coreEncode({ token: claims, secret, salt, maxAge: random.int(100) - 30 });
    const enc = random.pick(["A256CBC-HS512", "A256GCM"] as const);
    const kid = random.pick([undefined, derivedKey(secret, salt, enc).kid, "x"]);
    const plaintext = random.oneIn(4) ? random.text(20) : JSON.stringify(random.json(2)) ?? "";
    return await forge(
      plaintext || "x",
      { enc, ...(kid && { kid }), ...(random.oneIn(9) && { cty: "JWT" }) },
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
