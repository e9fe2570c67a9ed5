/**
 * Verifies valid signatures that `@simplewebauthn/server` 9 refuses; core supports no later version of it.
 *
 * An ECDSA signature is two numbers. If one of them has a byte less than the curve, the library misreads
 * it: one sign-in in 128 fails.
 */
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { decodeBase64Url } from "../../utils/base64url.ts";
import { loadHelpers } from "./helpers.ts";

/** What was signed, the signature and the key, in the form of the library's options. */
export interface Assertion {
  readonly response: {
    readonly response: {
      readonly authenticatorData: string;
      readonly clientDataJSON: string;
      readonly signature: string;
    };
  };
  readonly authenticator: { readonly credentialPublicKey: Uint8Array };
}

/**
 * Whether the key signed this with ES256. False for other kinds of keys, whose signatures the library reads
 * well.
 */
export async function isSignedWithEs256(
  { response: { response }, authenticator }: Assertion,
): Promise<boolean> {
  const key = await toPublicKey(authenticator.credentialPublicKey);
  const [authenticatorData, clientData, signature] = [
    response.authenticatorData,
    response.clientDataJSON,
    response.signature,
  ].map(decodeBase64Url);
  if (!key || !authenticatorData || !clientData || !signature) return false;
  const signed = Buffer.concat([authenticatorData, createHash("sha256").update(clientData).digest()]);
  return verify("sha256", signed, key, signature);
}

/** The public key, if it is one for ES256 on P-256 (RFC 9053 section 7.1). */
async function toPublicKey(bytes: Uint8Array): Promise<KeyObject | undefined> {
  const { cose, decodeCredentialPublicKey } = await loadHelpers();
  const { COSEALG, COSECRV, COSEKEYS } = cose;
  const key = decodeCredentialPublicKey(bytes);
  if (!cose.isCOSEPublicKeyEC2(key)) return undefined;
  if (key.get(COSEKEYS.alg) !== COSEALG.ES256 || key.get(COSEKEYS.crv) !== COSECRV.P256) return undefined;
  const [x, y] = [key.get(COSEKEYS.x), key.get(COSEKEYS.y)].map((part) =>
    part && Buffer.from(part).toString("base64url")
  );
  return x && y ? createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" }) : undefined;
}
