/** The tokens of sessions in a database, where the application does not make its own. */
import { randomBytes } from "node:crypto";

/**
 * Makes a session token of 256 random bits, as 64 hexadecimal digits.
 *
 * Core's default is a UUID, which has 122; OWASP ASVS 5 (7.2.3) asks for 128. Digits of one case stay apart where
 * a database compares text without regard to case.
 */
export function generateSessionToken(): string {
  return randomBytes(32).toString("hex");
}
