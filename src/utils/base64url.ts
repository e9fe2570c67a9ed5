/** Strict base64url (RFC 4648 section 5): without padding, and only one encoding of each byte string. */
import { Buffer } from "node:buffer";

/** The last character of a text of 4n + 2 or 4n + 3 characters: its unused bits must be zero. */
const LAST_OF_TWO = "AQgw";
const LAST_OF_THREE = "AEIMQUYcgkosw048";

/**
 * Decodes base64url. `Buffer` skips invalid characters, accepts those of base64, reads only eight bits of a
 * character, and ignores unused bits at the end.
 *
 * @returns `undefined` if the text is not strict base64url.
 */
export function decodeBase64Url(text: string): Buffer | undefined {
  if (!hasCanonicalEnd(text) || text.includes("+") || text.includes("/")) return undefined;
  const bytes = Buffer.from(text, "base64url");
  // A skipped character leaves fewer bytes; a character beyond ASCII has more bytes in UTF-8.
  const whole = bytes.length === (text.length * 3) >> 2 && Buffer.byteLength(text) === text.length;
  return whole ? bytes : undefined;
}

function hasCanonicalEnd(text: string): boolean {
  switch (text.length % 4) {
    case 0:
      return true;
    case 1:
      return false;
    case 2:
      return LAST_OF_TWO.includes(text[text.length - 1]!);
    default:
      return LAST_OF_THREE.includes(text[text.length - 1]!);
  }
}
