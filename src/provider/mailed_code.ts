/** The code in a mail with a sign-in link. */
import { randomInt } from "node:crypto";

/** How long a code works, in seconds, unless its link ends before. */
export const CODE_SECONDS = 600;

/** A code of six digits. */
export function newCode(): string {
  return String(randomInt(1_000_000)).padStart(6, "0");
}
