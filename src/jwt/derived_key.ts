/**
 * The keys that `@auth/core/jwt` derives from a secret, derived once and kept as `KeyObject`s.
 *
 * A derivation is HKDF, a SHA-2 thumbprint and two key imports: more work than opening a token. A raw key
 * also costs about 8 µs a call on Node 24, where every cipher operation imports it again.
 */
import { Buffer } from "node:buffer";
import { createHash, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";

/** Content encryption of a session token: core writes the first and reads both. */
export type Encryption = "A256CBC-HS512" | "A256GCM";

/** A key for one (secret, salt, encryption), with what a token sealed by it carries in its header. */
export interface DerivedKey {
  readonly enc: Encryption;
  /** RFC 7638 thumbprint, which core puts in `kid` to tell rotated secrets apart. */
  readonly kid: string;
  /** The protected header as core serializes it: a token whose header equals it needs no parsing. */
  readonly header: string;
  /** Encrypts the content. */
  readonly cipher: KeyObject;
  /** Authenticates the content; A256GCM does so itself. */
  readonly mac: KeyObject | undefined;
}

/**
 * Secrets and salts come from the configuration: a few secrets for each tenant, and a dozen salts for each.
 * The bounds are for a process that makes configurations without end, such as a long test run.
 */
const MOST_SECRETS = 2048;
const MOST_SALTS = 64;

/**
 * By secret and salt. Kept for the process: what opens and seals tokens is called by core and by
 * applications, who have only the secret and the salt. Deriving a key takes more than ten times as long as
 * opening a token with it, and one text of both as a key of the map a twentieth.
 */
const keys = new Map<string, Map<string, Partial<Record<Encryption, DerivedKey>>>>();

/**
 * The key for a secret, a salt (the cookie's name) and an encryption.
 *
 * @throws when core's own derivation would: an empty secret, a salt that is too long.
 */
export function derivedKey(secret: string, salt: string, enc: Encryption): DerivedKey {
  const known = keys.get(secret)?.get(salt)?.[enc];
  if (known) return known;
  const key = derive(secret, salt, enc);
  const salts = member(keys, secret, MOST_SECRETS, () => new Map());
  member(salts, salt, MOST_SALTS, () => ({}))[enc] = key;
  return key;
}

function member<V>(map: Map<string, V>, key: string, most: number, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  if (map.size >= most) map.clear();
  const made = make();
  map.set(key, made);
  return made;
}

function derive(secret: string, salt: string, enc: Encryption): DerivedKey {
  if (!secret) throw new TypeError("a secret must be at least one character long");
  const length = enc === "A256GCM" ? 32 : 64;
  const info = `Auth.js Generated Encryption Key (${salt})`;
  const bytes = Buffer.from(hkdfSync("sha256", secret, salt, info, length));
  // RFC 7638: the members in lexicographic order, no white space.
  const jwk = JSON.stringify({ k: bytes.toString("base64url"), kty: "oct" });
  const kid = createHash(enc === "A256GCM" ? "sha256" : "sha512").update(jwk).digest("base64url");
  const header = Buffer.from(JSON.stringify({ alg: "dir", enc, kid })).toString("base64url");
  if (enc === "A256GCM") return { enc, kid, header, cipher: createSecretKey(bytes), mac: undefined };
  // RFC 7518, 5.2.2.1: the first half authenticates, the second encrypts.
  const mac = createSecretKey(bytes.subarray(0, 32));
  return { enc, kid, header, cipher: createSecretKey(bytes.subarray(32)), mac };
}
