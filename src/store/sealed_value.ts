/** Values in a store that others may write to: one that was forged, cut or moved to another place does not open. */
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from "node:crypto";
import { decodeBase64Url } from "../utils/decode.ts";

/** What HKDF separates these keys by from all others (RFC 5869, section 3.1). */
const SALT = "fastify-authjs shared sessions v1";

/** Sizes in bytes: of an AES-256 key and of a name; of the nonce and the tag of AES-GCM (NIST SP 800-38D). */
const KEY_BYTES = 32, NONCE_BYTES = 12, TAG_BYTES = 16;

export type Place = Readonly<ReturnType<typeof placeOf>>;

export function placeOf(secret: string, purpose: string) {
  const derived = Buffer.from(hkdfSync("sha256", secret, SALT, purpose, 2 * KEY_BYTES));
  const name = derived.subarray(0, KEY_BYTES).toString("base64url");
  const key = createSecretKey(derived.subarray(KEY_BYTES));
  const context = Buffer.from(`${purpose}:${name}`);
  return {
    name,
    seal(text: string): string {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(context);
      const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
      return Buffer.concat(parts).toString("base64url");
    },
    /** `undefined` for what was not sealed for this place. */
    open(value: string | null | undefined): string | undefined {
      const bytes = typeof value === "string" ? decodeBase64Url(value) : undefined;
      if (bytes === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(context).setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString();
      } catch {
        return undefined;
      }
    },
  };
}
