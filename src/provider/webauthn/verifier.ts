/** What core's verifier, `@simplewebauthn/server` 9, leaves to us; core supports no later version of it. */
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { decodeBase64Url } from "../../utils/base64url.ts";

/**
 * Loads its helpers. It is installed only for passkeys: within `try` bundlers accept that the package is not
 * there; if it is, it is in the bundle.
 */
async function loadHelpers(): Promise<typeof import("@simplewebauthn/server/helpers")> {
  try {
    return await import("@simplewebauthn/server/helpers");
  } catch (cause) {
    const advice =
      "Passkeys need the package @simplewebauthn/server: run `npm install @simplewebauthn/server@9`.";
    throw new Error(advice, { cause });
  }
}

/**
 * Whether an attestation, what an authenticator states about itself at registration (WebAuthn section 6.5), has
 * no certificate: its format is "none", or "packed" signed by the new key itself. The decoder is the one of
 * core's verifier, so that both read the same.
 */
export async function isPlainAttestation(attestationObject: unknown): Promise<boolean> {
  if (typeof attestationObject !== "string") return false;
  const bytes = decodeBase64Url(attestationObject);
  // Decoders of base64url differ in what they skip.
  if (bytes === undefined) return false;
  const { decodeAttestationObject } = await loadHelpers();
  try {
    const decoded = decodeAttestationObject(bytes) as unknown;
    if (!(decoded instanceof Map)) return false;
    const [format, statement] = [decoded.get("fmt"), decoded.get("attStmt")];
    if (!(statement instanceof Map)) return false;
    if (format === "none") return statement.size === 0;
    return format === "packed" && statement.size === 2 && statement.has("alg") && statement.has("sig");
  } catch {
    return false; // Not CBOR.
  }
}

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
 * Whether the key signed this with ES256. An ECDSA signature is two numbers; if one of them has a byte less than
 * the curve, the library misreads it, and one sign-in in 128 fails. False for other kinds of keys, whose
 * signatures it reads well.
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
