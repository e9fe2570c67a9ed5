/** What comes from outside, decoded: JSON, and strict base64url (RFC 4648 section 5). */
import { Buffer } from "node:buffer";

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @returns `undefined` if it has padding or another encoding of its bytes: `Buffer` ignores what is no base64url. */
export function decodeBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

/** The claims of a signed JWT, which is not validated; `undefined` for anything else. */
export function jwtPayload(jwt: string | undefined): Record<string, unknown> | undefined {
  const bytes = decodeBase64Url(jwt?.split(".")[1] ?? "");
  return bytes === undefined ? undefined : parseJsonObject(bytes.toString());
}
