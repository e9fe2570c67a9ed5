/**
 * Session tokens as `@auth/core/jwt` makes them (compact JWE, `alg: dir`), opened and sealed synchronously
 * with `node:crypto`.
 *
 * A token that is not sealed with one of our keys is refused here: any client can send one, and core would
 * take fifty times as long to refuse it. An authentic token in a form that this file does not read
 * (compressed, with other members in its header) is left to core.
 */
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { decodeBase64Url } from "../utils/base64url.ts";
import { parseJsonObject } from "../utils/json.ts";
import { type DerivedKey, derivedKey, type Encryption } from "./derived_key.ts";
import { MALFORMED, NOT_ALLOWED, OTHER_USE, Refusal, UNAUTHENTIC, UNKNOWN_KEY } from "./refusal.ts";

/** What a token held, and whether the key in use for new tokens sealed it. */
export interface Opened {
  /** The claims, as JSON text. */
  readonly text: string;
  /** False when an older secret of a rotation, or another encryption, sealed it: time to issue a new one. */
  readonly current: boolean;
}

/**
 * Opens a token, trying no more than the one key its header points at.
 *
 * @param secrets That of new tokens first.
 * @param salt What its key is derived for: the name of its cookie.
 * @param otherSalts The salts of our other keys: a token of another cookie is not taken for one of an unknown
 * secret.
 * @returns Why it is refused; `undefined` for an authentic one that only core can read.
 */
export function open(
  token: string,
  secrets: readonly string[],
  salt: string,
  otherSalts: readonly string[] = [],
): Opened | Refusal | undefined {
  const parts = split(token);
  if (parts === undefined) return MALFORMED;
  const { header } = parts;
  const found = ownKey(header, secrets, salt) ?? keyOf(header, secrets, { salt, otherSalts });
  if (found instanceof Refusal) return found;
  const { key, usual, current } = found;
  if (!hasLengthsOf(key, parts)) return MALFORMED;
  if (!isAuthentic(key, parts)) return UNAUTHENTIC;
  const text = usual ? decryptText(key, parts) : undefined;
  if (text === undefined) return;
  return { text, current };
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

/**
 * A compact JWE (RFC 7516, 3.1) without a wrapped key, decoded but for its header, which the tag covers as it
 * is written.
 */
interface Parts {
  readonly header: string;
  readonly iv: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

/** Without a regular expression, which costs a tenth of opening a long token. */
function split(token: string): Parts | undefined {
  const headerEnd = token.indexOf(".");
  if (headerEnd < 1 || token[headerEnd + 1] !== ".") return;
  const ivEnd = token.indexOf(".", headerEnd + 2);
  const ciphertextEnd = token.indexOf(".", ivEnd + 1);
  if (ivEnd === -1 || ciphertextEnd === -1) return;
  const iv = decodeBase64Url(token.slice(headerEnd + 2, ivEnd));
  const tag = iv && decodeBase64Url(token.slice(ciphertextEnd + 1));
  const ciphertext = tag && decodeBase64Url(token.slice(ivEnd + 1, ciphertextEnd));
  if (iv && tag && ciphertext) return { header: token.slice(0, headerEnd), iv, ciphertext, tag };
}

interface FoundKey {
  readonly key: DerivedKey;
  /** Whether the header has no members but those that are read here. */
  readonly usual: boolean;
  /** Whether the token is as new ones are: the first secret's, with the very header that it gives them. */
  readonly current: boolean;
}

/** The key whose tokens have this very header. */
function ownKey(header: string, secrets: readonly string[], salt: string): FoundKey | undefined {
  for (const secret of secrets) {
    const key = derivedKey(secret, salt, "A256CBC-HS512");
    if (key.header === header) return { key, usual: true, current: secret === secrets[0] };
  }
}

/** What keys are derived for. */
interface Salts {
  readonly salt: string;
  readonly otherSalts: readonly string[];
}

/**
 * The key a header asks for, in core's order: by `kid` among the secrets, or the first secret's when there is
 * none.
 */
function keyOf(
  header: string,
  secrets: readonly string[],
  { salt, otherSalts }: Salts,
): FoundKey | Refusal {
  const parsed = parseHeader(header);
  if (parsed instanceof Refusal) return parsed;
  const { enc, kid, usual } = parsed;
  for (const secret of secrets) {
    const key = derivedKey(secret, salt, enc);
    if (kid === undefined || kid === key.kid) return { key, usual, current: false };
  }
  const otherUse = otherSalts.some((salt) =>
    secrets.some((secret) => derivedKey(secret, salt, "A256CBC-HS512").kid === kid)
  );
  return otherUse || !THUMBPRINT[enc].test(kid!) ? OTHER_USE : UNKNOWN_KEY;
}

/** The `kid` of a key: a SHA-2 thumbprint as long as the key (RFC 7638). */
const THUMBPRINT: Readonly<Record<Encryption, RegExp>> = {
  "A256CBC-HS512": /^[\w-]{86}$/,
  A256GCM: /^[\w-]{43}$/,
};

/** A header has some 170 characters; no library writes a much longer one. */
const LONGEST_HEADER = 2048;

/** Reads a header core did not write but may read: other member order, A256GCM, no `kid`. */
function parseHeader(header: string): { enc: Encryption; kid: string | undefined; usual: boolean } | Refusal {
  const text = header.length > LONGEST_HEADER ? undefined : decodeBase64Url(header)?.toString("utf8");
  const parsed = text === undefined ? undefined : parseJsonObject(text);
  if (parsed === undefined) return MALFORMED;
  const { alg, enc, kid, ...others } = parsed;
  if (alg !== "dir" || (enc !== "A256CBC-HS512" && enc !== "A256GCM")) return NOT_ALLOWED;
  if (kid !== undefined && typeof kid !== "string") return OTHER_USE;
  // "crit", "zip", replicated claims and whatever comes next are jose's to judge.
  return { enc, kid, usual: Object.keys(others).length === 0 && !text!.includes(REPLACEMENT) };
}

/** RFC 7518, 5.2.3 and 5.3. Of GCM, node:crypto would accept a shorter tag, which can be forged. */
function hasLengthsOf({ mac }: DerivedKey, { iv, tag }: Parts): boolean {
  return mac ? iv.length === 16 && tag.length === 32 : iv.length === 12 && tag.length === 16;
}

/** RFC 7518, 5.2.2.2 for CBC. GCM tells with its decryption. */
function isAuthentic(key: DerivedKey, parts: Parts): boolean {
  const { header, iv, ciphertext, tag } = parts;
  if (key.mac) return timingSafeEqual(cbcTag(key, header, iv, ciphertext), tag);
  try {
    decryptBytes(key, parts);
    return true;
  } catch {
    return false;
  }
}

/** The text of an authentic token; `undefined` where jose has to say what is wrong with it. */
function decryptText(key: DerivedKey, parts: Parts): string | undefined {
  try {
    const decipher = decipherOf(key, parts);
    const text = decipher.update(parts.ciphertext, undefined, "utf8") + decipher.final("utf8");
    // In place of bytes that are no UTF-8, which jose refuses. But a name may hold it, of half an emoji for
    // example.
    if (text.includes(REPLACEMENT) && !decryptBytes(key, parts).equals(Buffer.from(text))) return;
    return text;
  } catch {
    return; // Wrong padding, under an authentic tag.
  }
}

function decryptBytes(key: DerivedKey, parts: Parts): Buffer {
  const decipher = decipherOf(key, parts);
  return Buffer.concat([decipher.update(parts.ciphertext), decipher.final()]);
}

function decipherOf({ cipher, mac }: DerivedKey, { header, iv, tag }: Parts) {
  if (mac) return createDecipheriv("aes-256-cbc", cipher, iv);
  const decipher = createDecipheriv("aes-256-gcm", cipher, iv, { authTagLength: 16 });
  return decipher.setAAD(Buffer.from(header, "latin1")).setAuthTag(tag);
}

const REPLACEMENT = "\ufffd";

/**
 * RFC 7518, 5.2.2.1: the first half of HMAC-SHA-512 over header, iv, ciphertext and the header's length in
 * bits.
 */
function cbcTag(key: DerivedKey, header: string, iv: Buffer, ciphertext: Buffer): Buffer {
  const bits = Buffer.alloc(8);
  bits.writeUInt32BE(header.length * 8, 4);
  const mac = createHmac("sha512", key.mac!).update(header).update(iv).update(ciphertext).update(bits);
  return mac.digest().subarray(0, 32);
}
