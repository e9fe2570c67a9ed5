/** Strict base64url (RFC 4648 section 5): without padding, and only one encoding of each byte string. */
import { Buffer } from "node:buffer";
import { parseJsonObject } from "./json.ts";

/** @returns `undefined` if the text is not strict base64url: `Buffer` skips or ignores what is not. */
export function decodeBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

/** The claims of a signed JWT, which is not validated; `undefined` for anything else. */
export function jwtPayload(jwt: string | undefined): Record<string, unknown> | undefined {
  const bytes = decodeBase64Url(jwt?.split(".")[1] ?? "");
  return bytes === undefined ? undefined : parseJsonObject(bytes.toString());
}
