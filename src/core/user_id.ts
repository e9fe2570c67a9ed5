/**
 * The id of a user who signs in with OAuth or OpenID Connect, and is in no database. Core makes up another
 * one at each sign-in, so that nothing knows two sessions of one user by it.
 */
import type { AuthConfig } from "@auth/core";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { RequestContext } from "./context.ts";

type SignInCallback = NonNullable<NonNullable<AuthConfig["callbacks"]>["signIn"]>;

/**
 * The `signIn` callback, for which the user has the id. It may set another.
 *
 * @returns `undefined` if the id is that of core, of the adapter or of `authorize()`.
 */
export function withUserId(
  { provider, config: { core, tenant } }: RequestContext,
  own: SignInCallback | undefined,
): SignInCallback | undefined {
  if (core.adapter !== undefined || (provider?.type !== "oauth" && provider?.type !== "oidc")) return own;
  const { id, server: { issuer = id } } = provider;
  return (params) => {
    // If `profile()` gave no id, core has made one up here, too.
    params.user.id = userId([tenant ?? "", issuer, String(params.account!.providerAccountId)]);
    return own?.(params) ?? true;
  };
}

/**
 * A UUID of version 8 (RFC 9562, section 5.8). Each part has its length before it, so that no two lists are
 * one text.
 */
function userId(parts: readonly string[]): string {
  const text = parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join("");
  const bytes = createHash("sha256").update(`fastify-authjs user id v1 ${text}`).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
