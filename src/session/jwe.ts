/**
 * Session tokens as `@auth/core/jwt` makes them (compact JWE, `alg: dir`), opened and sealed synchronously with `node:crypto`.
 *
 * It recognises what core writes and little else. Whatever it does not recognise is `undefined` here and is left to core, which
 * knows every case and words the errors; so nothing in this file decides that a token is bad.
 *
 * @module
 */
import type { JWT } from "@auth/core/jwt";
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { type DerivedKey, derivedKey, type Encryption } from "./derived_key.ts";
import type { TokenLife } from "./lifetime.ts";

/** What a token held, and whether the key in use for new tokens sealed it. */
export interface Opened {
  /** The claims, as JSON text. */
  readonly text: string;
  /** False when an older secret of a rotation, or another encryption, sealed it: time to issue a new one. */
  readonly current: boolean;
  /** What a read without callbacks takes from the claims, kept by who needed it. */
  plain?: PlainClaims | null;
}

/** The claims that core's default callbacks look at, and those that say when the token is valid. */
export interface PlainClaims extends Readonly<Pick<JWT, "name" | "email" | "picture">> {
  readonly iat?: unknown;
  readonly nbf?: unknown;
  readonly exp?: unknown;
  /** When it is renewed, and when it ends. */
  readonly life: TokenLife;
  /** The end as a session says it. */
  readonly expires: string;
}

/**
 * Opens a token, trying no more than the one key its header points at.
 *
 * @returns `undefined` when the token is not recognised or does not authenticate: core's decoder then says why.
 */
export function open(token: string, secrets: readonly string[], salt: string): Opened | undefined {
  const parts = split(token);
  if (!parts) return;
  const { header } = parts;
  try {
    const key = keyOf(header, secrets, salt);
    if (!key) return;
    const text = key.mac ? openCbc(key, parts) : openGcm(key, parts);
    if (text === undefined || isSuspect(text)) return;
    return { text, current: header === derivedKey(secrets[0]!, salt, "A256CBC-HS512").header };
  } catch {
    return; // Wrong padding, a GCM tag that does not match, a secret that no key can be derived from.
  }
}

/** Seals claims (JSON text) with the first secret, byte for byte in core's format. */
export function seal(text: string, secret: string, salt: string): string {
  const key = derivedKey(secret, salt, "A256CBC-HS512");
  const iv = randomBytes(16);
  const cipher = createCipheriv("aes-256-cbc", key.cipher, iv);
  const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  const tag = cbcTag(key, key.header, iv, ciphertext);
  return `${key.header}..${iv.toString("base64url")}.${ciphertext.toString("base64url")}.${
    tag.toString("base64url")
  }`;
}

/** A compact JWE (RFC 7516, 3.1) without a wrapped key, decoded but for its header, which the tag covers as it is written. */
interface Parts {
  readonly header: string;
  readonly iv: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

/** Without a regular expression, which costs a tenth of opening a long token. */
function split(token: string): Parts | undefined {
  const headerEnd = token.indexOf(".");
  if (token[headerEnd + 1] !== "." || !isAscii(token)) return;
  const ivEnd = token.indexOf(".", headerEnd + 2);
  const ciphertextEnd = token.indexOf(".", ivEnd + 1);
  if (ivEnd === -1 || ciphertextEnd === -1) return;
  const iv = decode(token.slice(headerEnd + 2, ivEnd));
  const ciphertext = decode(token.slice(ivEnd + 1, ciphertextEnd));
  const tag = decode(token.slice(ciphertextEnd + 1));
  if (iv && ciphertext && tag) return { header: token.slice(0, headerEnd), iv, ciphertext, tag };
}

/** The key a header asks for, in core's order: by `kid` among the secrets, or the first secret's when there is none. */
function keyOf(header: string, secrets: readonly string[], salt: string): DerivedKey | undefined {
  for (const secret of secrets) {
    const key = derivedKey(secret, salt, "A256CBC-HS512");
    if (key.header === header) return key;
  }
  const parsed = parseHeader(header);
  if (!parsed) return;
  for (const secret of secrets) {
    const key = derivedKey(secret, salt, parsed.enc);
    if (parsed.kid === undefined || parsed.kid === key.kid) return key;
  }
}

/** Reads a header core did not write but may read: other member order, A256GCM, no `kid`. */
function parseHeader(header: string): { enc: Encryption; kid: string | undefined } | undefined {
  const bytes = decode(header);
  const text = bytes?.toString("utf8");
  if (text === undefined || isSuspect(text)) return;
  const { alg, enc, kid, ...others } = JSON.parse(text);
  // "crit", "zip", replicated claims and whatever comes next are jose's to judge.
  if (alg !== "dir" || Object.keys(others).length) return;
  if (enc !== "A256CBC-HS512" && enc !== "A256GCM") return;
  if (kid !== undefined && typeof kid !== "string") return;
  return { enc, kid };
}

/** RFC 7518, 5.2.2.2. */
function openCbc(key: DerivedKey, { header, iv, ciphertext, tag }: Parts): string | undefined {
  if (iv.length !== 16 || tag.length !== 32) return;
  if (!timingSafeEqual(cbcTag(key, header, iv, ciphertext), tag)) return;
  const decipher = createDecipheriv("aes-256-cbc", key.cipher, iv);
  return decipher.update(ciphertext, undefined, "utf8") + decipher.final("utf8");
}

function openGcm(key: DerivedKey, { header, iv, ciphertext, tag }: Parts): string | undefined {
  // The tag's length matters: node:crypto would accept a shorter, forgeable one.
  if (iv.length !== 12 || tag.length !== 16) return;
  const decipher = createDecipheriv("aes-256-gcm", key.cipher, iv, { authTagLength: 16 });
  decipher.setAAD(Buffer.from(header, "latin1")).setAuthTag(tag);
  return decipher.update(ciphertext, undefined, "utf8") + decipher.final("utf8");
}

/** RFC 7518, 5.2.2.1: the first half of HMAC-SHA-512 over header, iv, ciphertext and the header's length in bits. */
function cbcTag(key: DerivedKey, header: string, iv: Buffer, ciphertext: Buffer): Buffer {
  const bits = Buffer.alloc(8);
  bits.writeUInt32BE(header.length * 8, 4);
  const mac = createHmac("sha512", key.mac!).update(header).update(iv).update(ciphertext).update(bits);
  return mac.digest().subarray(0, 32);
}

/**
 * Decodes strict base64url. `Buffer` passes over characters of no alphabet, which leaves fewer bytes, takes those of base64 for
 * their counterparts, and drops the last of 4n + 1 characters, which no byte string has. What is laxer goes to jose.
 */
function decode(segment: string): Buffer | undefined {
  if (segment.length % 4 === 1 || segment.includes("+") || segment.includes("/")) return;
  const bytes = Buffer.from(segment, "base64url");
  return bytes.length === (segment.length * 3) >> 2 ? bytes : undefined;
}

/** Others may pass for letters in a decoder that looks at eight of their bits. */
function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** True for bytes that were no UTF-8, which jose refuses and `toString` replaces; a text may rightly hold U+FFFD, so core decides. */
function isSuspect(text: string): boolean {
  return text.includes("\ufffd");
}
