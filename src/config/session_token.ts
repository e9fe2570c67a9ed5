/** The tokens of sessions in a database, if the application does not make its own. */
import { randomBytes } from "node:crypto";

/**
 * Makes a session token of 256 random bits, as 64 hexadecimal digits.
 *
 * Core's default is a UUID, which has 122; OWASP ASVS 5 (7.2.3) asks for 128. Digits of one case stay apart
 * if a database compares text without regard to case.
 */
function generateSessionToken(): string {
  return randomBytes(32).toString("hex");
}

/** Makes a session token that ends with `tag`, which has what the row cannot say otherwise. */
export type TokenGenerator = (tag?: string) => string;

/**
 * Makes session tokens.
 *
 * @param own The application's function.
 */
export function tokenGenerator(own: (() => string) | undefined): TokenGenerator {
  const generate = own ?? generateSessionToken;
  return (tag = "") => generate() + tag;
}
