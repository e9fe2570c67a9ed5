/** Which attestations, what an authenticator states about itself at registration, are accepted unasked. */
import { decodeBase64Url } from "../../utils/decode.ts";

/**
 * Loads the decoder of core's verifier, so that both read the same. It is installed only for passkeys: within `try`
 * bundlers accept that the package is not there; if it is, it is in the bundle.
 */
async function loadHelpers(): Promise<typeof import("@simplewebauthn/server/helpers")> {
  try {
    return await import("@simplewebauthn/server/helpers");
  } catch (cause) {
    const advice = "Passkeys need the package @simplewebauthn/server: run `npm install @simplewebauthn/server@14`.";
    throw new Error(advice, { cause });
  }
}

/**
 * Whether an attestation (WebAuthn section 6.5) has no certificate: its format is "none", or "packed" signed by the
 * new key itself.
 */
export async function isPlainAttestation(attestationObject: unknown): Promise<boolean> {
  if (typeof attestationObject !== "string") return false;
  const bytes = decodeBase64Url(attestationObject);
  // Decoders of base64url differ in what they skip.
  if (bytes === undefined) return false;
  const { decodeAttestationObject } = await loadHelpers();
  try {
    const decoded = decodeAttestationObject(new Uint8Array(bytes)) as unknown;
    if (!(decoded instanceof Map)) return false;
    const [format, statement] = [decoded.get("fmt"), decoded.get("attStmt")];
    if (!(statement instanceof Map)) return false;
    if (format === "none") return statement.size === 0;
    return format === "packed" && statement.size === 2 && statement.has("alg") && statement.has("sig");
  } catch {
    return false; // Not CBOR.
  }
}
