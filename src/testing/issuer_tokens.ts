/** The key of the test issuer, and its ID tokens. */
import { generateKeyPair, type KeyObject, sign } from "node:crypto";
import { Buffer } from "node:buffer";
import { promisify } from "node:util";
import type { Grant } from "./issuer_grants.ts";

const ALGORITHM = "RS256"; // the one that every client knows (OpenID Connect Core 1.0, section 15.1)
const KEY_ID = "testing";

/** A key pair. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  /** The public key, as the JWK Set has it. */
  readonly jwk: object;
}

/** Makes a key pair. */
export async function newSigningKey(): Promise<SigningKey> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  const jwk = publicKey.export({ format: "jwk" });
  return { privateKey, jwk: { ...jwk, kid: KEY_ID, alg: ALGORITHM, use: "sig" } };
}

/** An ID token (OpenID Connect Core 1.0, section 2). */
export function signIdToken(
  { user, clientId, nonce, authTime, acr, sid }: Grant,
  { issuer, key, lifetime }: { issuer: string; key: SigningKey; lifetime: number },
): string {
  const now = Math.floor(Date.now() / 1000);
  return signJwt({
    ...user,
    auth_time: authTime,
    sid,
    ...(nonce && { nonce }),
    ...(acr && { acr }),
    iss: issuer,
    aud: clientId,
    iat: now,
    exp: now + lifetime,
  }, key);
}

/** A JWS in the compact serialization (RFC 7515 section 3.1). */
function signJwt(claims: object, { privateKey }: SigningKey): string {
  const input = [{ alg: ALGORITHM, kid: KEY_ID, typ: "JWT" }, claims].map(toBase64url).join(".");
  return `${input}.${sign("sha256", Buffer.from(input), privateKey).toString("base64url")}`;
}

function toBase64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
