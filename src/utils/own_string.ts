import { Buffer } from "node:buffer";

/**
 * A copy of a text that was cut out of a longer one, such as a token of its Cookie header. V8 keeps all of
 * the longer one in memory for as long as the part is used, so what is remembered is copied first.
 */
export function ownString(part: string): string {
  return Buffer.from(part).toString();
}
