/** Attestations: what an authenticator states about itself at registration (WebAuthn section 6.5). */
import { decodeBase64Url } from "../../utils/base64url.ts";
import { loadHelpers } from "./helpers.ts";

/**
 * Whether an attestation has no certificate: its format is "none", or "packed" signed by the new key itself.
 * The decoder is the one of core's verifier, so that both read the same.
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
