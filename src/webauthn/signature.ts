/**
 * Signatures that `@simplewebauthn/server` 9 takes for wrong, and that are not.
 *
 * An ECDSA signature is two numbers. Where one of them happens to have a byte less than the curve, that library drops
 * the byte and compares something else: one sign-in in 128 fails, for no reason a person could see. Core supports no
 * later version of it.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";

/** What was signed, the signature and the key, as the library is given them. */
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

/** Whether the key signed this with ES256; false for keys of any other kind, which the library has judged well. */
export function isSignedWithEs256({ response: { response }, authenticator }: Assertion): boolean {
  const key = toPublicKey(Buffer.from(authenticator.credentialPublicKey));
  const [authenticatorData, clientData, signature] = [
    response.authenticatorData,
    response.clientDataJSON,
    response.signature,
  ].map(fromBase64Url);
  if (!key || !authenticatorData || !clientData || !signature) return false;
  const signed = Buffer.concat([authenticatorData, createHash("sha256").update(clientData).digest()]);
  return verify("sha256", signed, key, signature);
}

/** The bytes, where there is but one way to read them: the library checked what it read. */
function fromBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

/** An EC2 key for ES256 on P-256 in COSE (RFC 9053 section 7.1), before x and between x and y. */
const BEFORE_X = Buffer.from("a5010203262001215820", "hex");
const BEFORE_Y = Buffer.from("225820", "hex");
const SIZE = 32;

function toPublicKey(cose: Buffer): KeyObject | undefined {
  const startOfX = BEFORE_X.length;
  const endOfX = startOfX + SIZE;
  const startOfY = endOfX + BEFORE_Y.length;
  const matches = cose.length === startOfY + SIZE && cose.subarray(0, startOfX).equals(BEFORE_X) &&
    cose.subarray(endOfX, startOfY).equals(BEFORE_Y);
  if (!matches) return undefined;
  const x = cose.toString("base64url", startOfX, endOfX);
  const y = cose.toString("base64url", startOfY);
  return createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
}
