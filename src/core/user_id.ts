/**
 * The id of a user who signs in with OAuth or OpenID Connect, and is in no database. Core makes up another
 * one at each sign-in, so that nothing knows two sessions of one user by it.
 */
import type { Account } from "@auth/core/types";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { ProviderContext } from "./context.ts";

/** The id of the user of an account. */
export function userIdOf(
  { providerAccountId }: Pick<Account, "providerAccountId">,
  { provider: { id, server: { issuer = id } }, config: { tenant = "" } }: ProviderContext,
): string {
  return uuidOf([tenant, issuer, String(providerAccountId)]);
}

/**
 * A UUID of version 8 (RFC 9562, section 5.8). Each part has its length before it, so that no two lists are
 * one text.
 */
function uuidOf(parts: readonly string[]): string {
  const text = parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join("");
  const bytes = createHash("sha256").update(`fastify-authjs user id v1 ${text}`).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
