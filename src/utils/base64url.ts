/**
 * base64url (RFC 4648, section 5) as strictly as it is written: without padding, and one spelling for each byte string.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/** The characters that a segment of 4n + 2 characters may end with, and one of 4n + 3: those without spare bits. */
const LAST_OF_TWO = "AQgw";
const LAST_OF_THREE = "AEIMQUYcgkosw048";

/**
 * Decodes base64url. `Buffer` alone passes over characters of no alphabet, takes those of base64 for their counterparts,
 * looks at eight bits of a character, and ignores what is left over at the end.
 *
 * @returns `undefined` for what an encoder would not have written.
 */
export function decodeBase64Url(text: string): Buffer | undefined {
  if (!hasCanonicalEnd(text) || text.includes("+") || text.includes("/")) return undefined;
  const bytes = Buffer.from(text, "base64url");
  // A character that was passed over leaves fewer bytes; one of more than a byte has more bytes in UTF-8.
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
