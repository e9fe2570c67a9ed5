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
}

/**
 * Five segments, the second (the wrapped key) empty, in the strict base64url alphabet. jose is laxer (padding, white space), so
 * what does not match goes to it.
 */
const COMPACT_DIR_JWE = /^([\w-]+)\.\.([\w-]+)\.([\w-]+)\.([\w-]+)$/;

/**
 * Opens a token, trying no more than the one key its header points at.
 *
 * @returns `undefined` when the token is not recognised or does not authenticate: core's decoder then says why.
 */
export function open(token: string, secrets: readonly string[], salt: string): Opened | undefined {
  const parts = COMPACT_DIR_JWE.exec(token);
  if (!parts) return;
  const [, header, iv, ciphertext, tag] = parts as unknown as [string, string, string, string, string];
  try {
    const key = keyOf(header, secrets, salt);
    if (!key) return;
    const text = key.mac
      ? openCbc(key, header, iv, ciphertext, tag)
      : openGcm(key, header, iv, ciphertext, tag);
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
  const bits = Buffer.alloc(8);
  bits.writeUInt32BE(key.header.length * 8, 4);
  const tag = cbcTag(key, Buffer.concat([Buffer.from(key.header, "latin1"), iv, ciphertext, bits]));
  return `${key.header}..${iv.toString("base64url")}.${ciphertext.toString("base64url")}.${
    tag.toString("base64url")
  }`;
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

/** RFC 7518, 5.2.2.2. What the tag covers is decoded in place, since each call into the cryptography has its price. */
function openCbc(
  key: DerivedKey,
  header: string,
  iv: string,
  ciphertext: string,
  tag: string,
): string | undefined {
  const tagBytes = decode(tag);
  if (iv.length !== 22 || ciphertext.length % 4 === 1 || tagBytes?.length !== 32) return;
  const ivAt = header.length, contentAt = ivAt + 16, bitsAt = contentAt + ((ciphertext.length * 3) >> 2);
  const covered = Buffer.allocUnsafe(bitsAt + 8);
  covered.write(header, 0, "latin1");
  covered.write(iv, ivAt, "base64url");
  covered.write(ciphertext, contentAt, "base64url");
  covered.writeUInt32BE(0, bitsAt);
  covered.writeUInt32BE(header.length * 8, bitsAt + 4);
  if (!timingSafeEqual(cbcTag(key, covered), tagBytes)) return;
  const decipher = createDecipheriv("aes-256-cbc", key.cipher, covered.subarray(ivAt, contentAt));
  return decipher.update(covered.subarray(contentAt, bitsAt), undefined, "utf8") + decipher.final("utf8");
}

function openGcm(
  key: DerivedKey,
  header: string,
  iv: string,
  ciphertext: string,
  tag: string,
): string | undefined {
  const ivBytes = decode(iv), content = decode(ciphertext), tagBytes = decode(tag);
  // The tag's length matters: node:crypto would accept a shorter, forgeable one.
  if (ivBytes?.length !== 12 || !content || tagBytes?.length !== 16) return;
  const decipher = createDecipheriv("aes-256-gcm", key.cipher, ivBytes, { authTagLength: 16 });
  decipher.setAAD(Buffer.from(header, "latin1")).setAuthTag(tagBytes);
  return decipher.update(content, undefined, "utf8") + decipher.final("utf8");
}

/** RFC 7518, 5.2.2.1: the first half of HMAC-SHA-512 over header, iv, ciphertext and the header's length in bits. */
function cbcTag(key: DerivedKey, covered: Buffer): Buffer {
  return createHmac("sha512", key.mac!).update(covered).digest().subarray(0, 32);
}

/** Decodes what {@link COMPACT_DIR_JWE} let through. No byte string is 4n + 1 characters long, yet `Buffer` takes it. */
function decode(segment: string): Buffer | undefined {
  return segment.length % 4 === 1 ? undefined : Buffer.from(segment, "base64url");
}

/** True for bytes that were no UTF-8, which jose refuses and `toString` replaces; a text may rightly hold U+FFFD, so core decides. */
function isSuspect(text: string): boolean {
  return text.includes("\ufffd");
}
