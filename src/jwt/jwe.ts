/**
 * Session tokens as `@auth/core/jwt` makes them (compact JWE, `alg: dir`, `enc: A256CBC-HS512`), opened and sealed with
 * `node:crypto`, the `encode` and `decode` of core over that, and why a token is refused.
 *
 * A token that is not sealed with one of our keys is refused here: any client can send one, and core would take fifty
 * times as long. One that core has not written and may accept (A256GCM, other members in its header) is left to it.
 */
import type { JWT, JWTDecodeParams, JWTEncodeParams } from "@auth/core/jwt";
import { decode as coreDecode, encode as coreEncode } from "@auth/core/jwt";
import { LRUCache } from "lru-cache";
import { Buffer } from "node:buffer";
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomUUID,
  timingSafeEqual,
} from "node:crypto";
import { decodeBase64Url, isObject, parseJsonObject } from "../utils/decode.ts";
import { plainCopy } from "../utils/plain_copy.ts";

export interface Opened {
  readonly claims: JWT;
  /** Whether the secret of new tokens sealed it, and not an older one. */
  readonly current: boolean;
}

/**
 * Opens a token with the one key that its header points at; `undefined` for one that only core can judge. The secret of
 * new tokens is first, and `otherSalts` tell a token of another cookie from one of an unknown secret.
 */
export function open(
  token: string,
  secrets: readonly string[],
  salt: string,
  otherSalts: readonly string[] = [],
): Opened | Refusal | undefined {
  // RFC 7516, 3.1: without a wrapped key.
  const [header = "", wrappedKey, ...encoded] = token.split(".", 6);
  const [iv, ciphertext, tag] = encoded.map(decodeBase64Url);
  if (header === "" || wrappedKey !== "" || encoded.length !== 3 || !iv || !ciphertext || !tag) return MALFORMED;
  const keysFor = (salt: string) => secrets.map((secret) => derivedKey(secret, salt));
  const keys = keysFor(salt);
  const key = keys.find((key) => key.header === header) ?? keyOf(header, keys, () => otherSalts.flatMap(keysFor));
  if (key === undefined || key instanceof Refusal) return key;
  const expected = tagOf(key, header, iv, ciphertext);
  if (tag.length !== expected.length || !timingSafeEqual(tag, expected)) return UNAUTHENTIC;
  if (header !== key.header) return undefined;
  const decipher = createDecipheriv("aes-256-cbc", key.cipher, iv);
  const claims = parseJsonObject(decipher.update(ciphertext, undefined, "utf8") + decipher.final("utf8"));
  return claims && { claims, current: key === keys[0] };
}

/** Seals claims (JSON text), byte for byte in core's format. */
export function seal(text: string, secret: string, salt: string): string {
  const key = derivedKey(secret, salt);
  const iv = randomBytes(16);
  const cipher = createCipheriv("aes-256-cbc", key.cipher, iv);
  const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  const tag = tagOf(key, key.header, iv, ciphertext).toString("base64url");
  return `${key.header}..${iv.toString("base64url")}.${ciphertext.toString("base64url")}.${tag}`;
}

/** Seals what core alone opens. A256GCM without a key id takes it a third of the time that a session token takes. */
export function sealForCore(content: object, secret: string | string[], salt: string): string {
  const header = Buffer.from('{"alg":"dir","enc":"A256GCM"}').toString("base64url"), iv = randomBytes(12);
  // Of the bytes that HKDF derives, these are the first, however many it derives.
  const { mac: key } = derivedKey([secret].flat()[0]!, salt);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(header));
  const ciphertext = Buffer.concat([cipher.update(JSON.stringify(content), "utf8"), cipher.final()]);
  return `${header}..${[iv, ciphertext, cipher.getAuthTag()].map((part) => part.toString("base64url")).join(".")}`;
}

/** The key that an unusual header asks for, as in core; `undefined` if only core has such keys. */
function keyOf(header: string, keys: readonly DerivedKey[], others: () => readonly DerivedKey[]) {
  const { alg, enc, kid } = parseJsonObject(String(decodeBase64Url(header))) ?? {};
  if (alg === "dir" && enc === "A256GCM") return undefined;
  if (alg !== "dir" || enc !== "A256CBC-HS512") return MALFORMED;
  const known = kid === undefined ? keys[0] : keys.find((key) => key.kid === kid);
  if (known !== undefined) return known;
  const isThumbprint = /^[\w-]{86}$/.test(String(kid));
  return isThumbprint && !others().some((key) => key.kid === kid) ? UNKNOWN_KEY : OTHER_USE;
}

/** RFC 7518, 5.2.2.1: the first half of an HMAC, also over the length of the header in bits. */
function tagOf({ mac }: DerivedKey, header: string, iv: Buffer, ciphertext: Buffer): Buffer {
  const bits = Buffer.alloc(8);
  bits.writeUInt32BE(header.length * 8, 4);
  const hmac = createHmac("sha512", mac).update(header).update(iv).update(ciphertext).update(bits);
  return hmac.digest().subarray(0, 32);
}

/** What is derived from a secret for a salt, as `KeyObject`s: Node imports others again with each use. */
interface DerivedKey {
  /** Its thumbprint, by which core tells rotated secrets apart. */
  readonly kid: string;
  /** The header of the tokens that core and we seal with it. */
  readonly header: string;
  readonly cipher: KeyObject;
  readonly mac: KeyObject;
}

/** For the process: deriving a key takes ten times as long as opening a token. `max` would make long arrays at once. */
const derivedKeys = new LRUCache<string, DerivedKey>({ maxSize: 20_000, sizeCalculation: () => 1 });

function derivedKey(secret: string, salt: string): DerivedKey {
  const id = `${salt}\n${secret}`;
  const known = derivedKeys.get(id);
  if (known !== undefined) return known;
  const info = `Auth.js Generated Encryption Key (${salt})`;
  const bytes = Buffer.from(hkdfSync("sha256", secret, salt, info, 64));
  // RFC 7638: the members in lexicographic order, no white space.
  const jwk = JSON.stringify({ k: bytes.toString("base64url"), kty: "oct" });
  const kid = createHash("sha512").update(jwk).digest("base64url");
  const header = Buffer.from(JSON.stringify({ alg: "dir", enc: "A256CBC-HS512", kid })).toString("base64url");
  // RFC 7518, 5.2.2.1: the first half authenticates, the second encrypts.
  const mac = createSecretKey(bytes.subarray(0, 32));
  const key = { kid, header, cipher: createSecretKey(bytes.subarray(32)), mac };
  derivedKeys.set(id, key);
  return key;
}

/** Why a token is refused, in the words of `jose`. One of each kind, without a stack: a client can send any number. */
export class Refusal extends Error {}

/** Not by its constructor: Deno takes 15 ms for the first stack of a large file, when the application starts. */
function refusal(name: string, message: string): Refusal {
  const stack = { value: `${name}: ${message}` };
  return Object.freeze(Object.create(Refusal.prototype, { name: { value: name }, message: { value: message }, stack }));
}

/** It cannot be a token: other characters, parts or algorithms, too long. */
export const MALFORMED: Refusal = refusal("JWEInvalid", "Invalid Compact JWE");

/** It names a known key, and was changed since it was sealed, or never sealed with that key. */
export const UNAUTHENTIC: Refusal = refusal("JWEDecryptionFailed", "decryption operation failed");

/** It was made with our secret for another cookie, or for another use. */
export const OTHER_USE: Refusal = refusal("Error", "no matching decryption secret");

/** It was made with a secret that another process may have, while the secret is rotated: the browser keeps it. */
export const UNKNOWN_KEY: Refusal = refusal("Error", "no matching decryption secret");

/** It has ended. */
export const EXPIRED: Refusal = refusal("JWTExpired", '"exp" claim timestamp check failed');

/** Core's tolerance for the clocks of two machines, in seconds. */
const CLOCK_TOLERANCE = 15;

/** Seals a copy of the claims with fresh `iat`, `exp` and `jti`. Throws what core throws. */
export async function encode(params: JWTEncodeParams): Promise<string> {
  const { token = {}, secret, salt, maxAge = 30 * 24 * 60 * 60 } = params;
  // A `jwt` callback can return anything: core says what is wrong with it.
  if (!isObject(token)) return await coreEncode(params);
  const claims: JWT = plainCopy(token, structuredClone);
  claims.iat = Math.floor(Date.now() / 1000);
  claims.exp = claims.iat + maxAge;
  claims.jti = randomUUID();
  return seal(JSON.stringify(claims), [secret].flat()[0]!, salt);
}

/** Opens a token. Throws a {@linkcode Refusal} if it is not ours, core's error if only core can judge it. */
export async function decode(params: JWTDecodeParams): Promise<JWT | null> {
  const { token, secret, salt } = params;
  if (!token) return null;
  const opened = open(token, [secret].flat(), salt);
  const claims = opened instanceof Refusal ? opened : opened && validClaims(opened.claims);
  if (claims instanceof Refusal) throw claims;
  return claims ?? await coreDecode(params);
}

/** The claims, if they are valid now; `undefined` if core has to say what is wrong. */
export function validClaims(claims: JWT): JWT | Refusal | undefined {
  const { iat = 0, nbf = 0, exp = Infinity } = claims;
  if (typeof iat !== "number" || typeof nbf !== "number" || typeof exp !== "number") return undefined;
  const now = Math.floor(Date.now() / 1000);
  if (nbf > now + CLOCK_TOLERANCE) return undefined;
  return exp <= now - CLOCK_TOLERANCE ? EXPIRED : claims;
}
