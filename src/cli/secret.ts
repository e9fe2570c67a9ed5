/** Makes a secret. */
import { randomBytes } from "node:crypto";

/** A new secret of 264 random bits, in Base64 for URLs: it needs no quotes in a file of variables. */
export function makeSecret(): string {
  return randomBytes(33).toString("base64url");
}
