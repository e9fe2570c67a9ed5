/** What the test issuer has issued, and to whom. */
import { randomBytes } from "node:crypto";

/**
 * A user of the provider: the claims of ID tokens and of the userinfo endpoint (OpenID Connect Core 1.0,
 * section 5.1).
 */
export interface IssuerUser {
  /** The id of the user at the provider. */
  sub: string;
  /** The full name. */
  name?: string;
  /** The e-mail address. */
  email?: string;
  /** Whether the provider has verified the address. */
  email_verified?: boolean;
  /** The address of a picture. */
  picture?: string;
  /** Any other claim, such as `groups`. */
  [claim: string]: unknown;
}

/** What a client was allowed, and by whom. */
export interface Grant {
  readonly user: IssuerUser;
  readonly clientId: string;
  readonly scope: string;
  readonly redirectUri: string;
  readonly nonce: string | undefined;
  readonly challenge: string | undefined;
  readonly acr: string | undefined;
  /** When the user signed in, in seconds since 1970. */
  readonly authTime: number;
  /** The id of the session at the provider. */
  readonly sid: string;
}

/** The grants by code and by token. */
export interface Grants {
  readonly codes: Map<string, Grant>;
  readonly refreshTokens: Map<string, Grant>;
  readonly accessTokens: Map<string, { readonly grant: Grant; readonly expires: number }>;
}

/** Makes empty ones. */
export function newGrants(): Grants {
  return { codes: new Map(), refreshTokens: new Map(), accessTokens: new Map() };
}

/** A code, a token or an id that cannot be guessed. */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Takes a code or a token, which is used once. */
export function take(grants: Map<string, Grant>, secret: string | null): Grant | undefined {
  const grant = grants.get(secret ?? "");
  grants.delete(secret ?? "");
  return grant;
}
