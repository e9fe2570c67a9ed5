/**
 * Session tokens as `@auth/core/jwt` makes them (compact JWE, `alg: dir`, `enc: A256CBC-HS512`), opened and
 * sealed with `node:crypto`.
 *
 * A token that is not sealed with one of our keys is refused here: any client can send one, and core would
 * take fifty times as long. One that core has not written and may accept (A256GCM, other members in its
 * header) is left to it.
 */
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
  timingSafeEqual,
} from "node:crypto";
import { decodeBase64Url } from "../utils/base64url.ts";
import { parseJsonObject } from "../utils/json.ts";
import { MALFORMED, NOT_ALLOWED, OTHER_USE, Refusal, UNAUTHENTIC, UNKNOWN_KEY } from "./refusal.ts";

/** What a token held. */
export interface Opened {
  /** The claims, as JSON text. */
  readonly text: string;
  /** Whether the secret of new tokens sealed it, and not an older one. */
  readonly current: boolean;
}

/**
 * Opens a token, trying no more than the one key that its header points at.
 *
 * @param secrets That of new tokens first.
 * @param salt What its key is derived for: the name of its cookie.
 * @param otherSalts The salts of our other keys: a token of another cookie is not one of an unknown secret.
 * @returns Why it is refused; `undefined` for one that only core can judge.
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
  if (header === "" || wrappedKey !== "" || encoded.length !== 3 || !iv || !ciphertext || !tag) {
    return MALFORMED;
  }
  const keys = secrets.map((secret) => derivedKey(secret, salt));
  const key = keys.find((key) => key.header === header) ??
    keyOf(
      header,
      keys,
      () => otherSalts.flatMap((salt) => secrets.map((secret) => derivedKey(secret, salt))),
    );
  if (key === undefined || key instanceof Refusal) return key;
  const expected = tagOf(key, header, iv, ciphertext);
  if (tag.length !== expected.length || !timingSafeEqual(tag, expected)) return UNAUTHENTIC;
  if (header !== key.header) return undefined;
  const decipher = createDecipheriv("aes-256-cbc", key.cipher, iv);
  const text = decipher.update(ciphertext, undefined, "utf8") + decipher.final("utf8");
  return { text, current: key === keys[0] };
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

/** A header has some 170 characters; no library writes a much longer one. */
const LONGEST_HEADER = 2048;

/**
 * The key that an unusual header asks for, as in core: by `kid`, or the first if there is none. `undefined`
 * if only core has such keys.
 */
function keyOf(
  header: string,
  keys: readonly DerivedKey[],
  others: () => readonly DerivedKey[],
): DerivedKey | Refusal | undefined {
  const text = header.length > LONGEST_HEADER ? undefined : decodeBase64Url(header)?.toString();
  const parsed = text === undefined ? undefined : parseJsonObject(text);
  if (parsed === undefined) return MALFORMED;
  const { alg, enc, kid } = parsed;
  if (alg !== "dir") return NOT_ALLOWED;
  if (enc !== "A256CBC-HS512") return enc === "A256GCM" ? undefined : NOT_ALLOWED;
  const known = kid === undefined ? keys[0] : keys.find((key) => key.kid === kid);
  if (known !== undefined) return known;
  const mayBeKnownElsewhere = THUMBPRINT.test(String(kid)) && !others().some((key) => key.kid === kid);
  return mayBeKnownElsewhere ? UNKNOWN_KEY : OTHER_USE;
}

/** RFC 7638, of SHA-512. */
const THUMBPRINT = /^[\w-]{86}$/;

/**
 * RFC 7518, 5.2.2.1: the first half of HMAC-SHA-512 over header, iv, ciphertext and the header's length in
 * bits.
 */
function tagOf({ mac }: DerivedKey, header: string, iv: Buffer, ciphertext: Buffer): Buffer {
  const bits = Buffer.alloc(8);
  bits.writeUInt32BE(header.length * 8, 4);
  return createHmac("sha512", mac).update(header).update(iv).update(ciphertext).update(bits).digest()
    .subarray(0, 32);
}

/** What is derived from a secret for a salt. */
interface DerivedKey {
  /** Its thumbprint, which core puts in `kid` to tell rotated secrets apart. */
  readonly kid: string;
  /** The header of the tokens that core and we seal with it. */
  readonly header: string;
  /** Encrypts. A `KeyObject`, since Node imports a raw key again with each use, in some 8 µs. */
  readonly cipher: KeyObject;
  /** Authenticates. */
  readonly mac: KeyObject;
}

/**
 * Kept for the process, since core and applications have only the secret and the salt: deriving a key takes
 * more than ten times as long as opening a token with it. There are a few secrets for each tenant, with a
 * dozen salts each.
 */
const derivedKeys = new LRUCache<string, DerivedKey>({ max: 20_000 });

function derivedKey(secret: string, salt: string): DerivedKey {
  const id = `${salt}\n${secret}`;
  const known = derivedKeys.get(id);
  if (known !== undefined) return known;
  const bytes = Buffer.from(
    hkdfSync("sha256", secret, salt, `Auth.js Generated Encryption Key (${salt})`, 64),
  );
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
