/**
 * The name of a session, which all its tokens have and which is no secret, and what they come in. Tokens of other
 * applications with Auth.js have none: until the first renewal it is the `jti`, or else a digest.
 */
import type { Adapter } from "@auth/core/adapters";
import type { JWT, JWTOptions } from "@auth/core/jwt";
import { hash, randomUUID } from "node:crypto";

const CLAIM = "session_name";

/** The name of the session whose token has these claims. */
export function nameOf(claims: JWT, token: string): string {
  // What earlier builds named the sessions by that could be ended.
  const record = claims.sessionRecord as { id?: unknown } | undefined;
  const name = namedBy(claims) ?? record?.id ?? claims.jti;
  return typeof name === "string" && name !== "" ? name : digestName(token);
}

export function namedBy(claims: JWT): string | undefined {
  const name = claims[CLAIM];
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** The name of a row. A token for a header that is sent as a cookie has another, so ending that ends nothing. */
export function rowName(token: string, use: TokenUse = isRowFor(token, "header") ? "header" : "cookie"): string {
  const name = digestName(use === "header" ? `bearer ${token}` : token);
  return isEphemeral(token) ? name + EPHEMERAL_TAG : name;
}

/** What the name of a session that ends with the browser ends with, and the random part of the token of its row. */
export const EPHEMERAL_TAG = ".ephemeral";

export function isEphemeral(name: string): boolean {
  return /\.ephemeral(?=\.|$)/.test(name);
}

export function digestName(token: string): string {
  return hash("sha256", token, "base64url");
}

/** The claims with the name, which a `jwt` callback may have left out. Throws if they are a list, a map or the like. */
export function withName(claims: JWT, name: string | undefined): JWT {
  // What a callback returns that is no object the encoder refuses.
  if (typeof claims !== "object" || claims === null) return claims;
  // It would become an object without a user, which guards would let pass.
  const kind = Object.prototype.toString.call(claims).slice(8, -1);
  if (kind === "Object") return name && claims[CLAIM] !== name ? { ...claims, [CLAIM]: name } : claims;
  throw new TypeError(`\`callbacks.jwt\` (or \`jwt.decode\`) returned ${kind}, and no token.`);
}

export function withoutName({ [CLAIM]: _name, ...claims }: JWT): JWT {
  return claims;
}

/** Whether a codec of the application keeps the name. One that fails may need what is not there yet. */
export async function keepsName(jwt: JWTOptions & { secret: string | string[] }, salt: string): Promise<boolean> {
  const params = { ...jwt, salt };
  const name = randomUUID();
  try {
    const token = await jwt.encode({ ...params, token: withName({ sub: "check at boot" }, name) });
    const claims = await jwt.decode({ ...params, token });
    return claims !== null && namedBy(claims) === name;
  } catch {
    return true;
  }
}

/** What a token comes in: the cookie of a browser, or the `Authorization` header of another client. */
export type TokenUse = "cookie" | "header";

/** What tells a token for a header: a claim, or in the token of a row an end, before what else the end says. */
export const HEADER_CLAIM = { token_use: "bearer" }, HEADER_TAG = ".bearer";

export function areFor({ token_use }: JWT, use: TokenUse): boolean {
  return (token_use === HEADER_CLAIM.token_use) === (use === "header");
}

export function isRowFor(sessionToken: string, use: TokenUse): boolean {
  return /\.bearer(?=\.|$)/.test(sessionToken) === (use === "header");
}

/** The adapter for one use. The token of the row decides: some databases find it by another spelling, too. */
export function rowsForUse(adapter: Adapter, use: TokenUse): Adapter {
  return {
    ...adapter,
    async getSessionAndUser(token) {
      const found = await adapter.getSessionAndUser!(token);
      return isRowFor(found?.session.sessionToken ?? token, use) ? found : null;
    },
    deleteSession: (token) => isRowFor(token, use) ? adapter.deleteSession!(token) : Promise.resolve(null),
  };
}
