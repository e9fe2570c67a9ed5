/** Validates the logout tokens of OpenID Providers (OpenID Connect Back-Channel Logout 1.0, section 2.6). */
import type { Provider } from "@auth/core/providers";
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify, type RemoteJWKSet } from "jose";
import { isJsonObject } from "../utils/json.ts";
import { UsedLogoutTokens } from "./used_logout_tokens.ts";
import { type OpenIdClient, openIdClient, openIdMetadata } from "./openid_metadata.ts";

/** A logout token that is not accepted. The message is for the log and for the provider. */
export class LogoutTokenRefused extends Error {
  /** The type for the log. */
  readonly type = "LogoutTokenRefused";
  /** The HTTP status. */
  readonly statusCode = 400;
  /** For the provider (RFC 6749 section 5.2). */
  readonly code = "invalid_request";

  /** @param reason Why, as the end of a sentence. */
  constructor(reason: string) {
    super(`The logout token was refused: ${reason}.`);
  }
}

/** What a valid token says. */
export interface LogoutClaims {
  /** The issuer. */
  readonly iss: string;
  /** The user, or the session, or both. */
  readonly sub?: string;
  readonly sid?: string;
  /** In seconds since 1970. */
  readonly iat: number;
  readonly jti: string;
}

/** How old a token may be, in seconds: so long its id has to be remembered. */
export const LOGOUT_TOKEN_AGE = 600;

/** How much clocks may differ, in seconds. */
export const CLOCK_TOLERANCE = 30;

/** Signed with a key that the provider publishes: neither unsigned, nor with the client secret. */
const ALGORITHMS: readonly string[] = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

const EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** The logout tokens for the clients of one configuration. */
export class LogoutTokens {
  /** Those that were used. */
  readonly used: UsedLogoutTokens = new UsedLogoutTokens();
  readonly #providers: readonly Provider[];
  /** The keys by provider. */
  readonly #keys = new Map<string, { readonly url: string; readonly set: RemoteJWKSet }>();

  /** @param providers The prepared providers. */
  constructor(providers: readonly Provider[]) {
    this.#providers = providers;
  }

  /**
   * Validates a token of a provider. Whether it was used before is not checked.
   *
   * @throws {LogoutTokenRefused}
   * @throws {FastifyAuthError} Where the provider's metadata or keys cannot be had.
   */
  async verify(provider: string, token: string): Promise<LogoutClaims> {
    const client = openIdClient(this.#providers, provider);
    const metadata = await openIdMetadata(client);
    if (typeof metadata.jwks_uri !== "string") {
      throw new LogoutTokenRefused(`the provider "${provider}" publishes no keys (jwks_uri)`);
    }
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.#keysAt(metadata.jwks_uri, client), {
        algorithms: algorithmsOf(client, metadata.id_token_signing_alg_values_supported),
        issuer: metadata.issuer,
        audience: client.clientId,
        requiredClaims: ["iss", "aud", "iat", "exp", "jti"],
        maxTokenAge: LOGOUT_TOKEN_AGE,
        clockTolerance: CLOCK_TOLERANCE,
      });
      assertType(protectedHeader.typ);
      return logoutClaims(payload);
    } catch (error) {
      if (error instanceof errors.JOSEError) throw new LogoutTokenRefused(error.message);
      throw error;
    }
  }

  #keysAt(url: string, { id, fetch }: OpenIdClient): RemoteJWKSet {
    const known = this.#keys.get(id);
    if (known?.url === url) return known.set;
    const set = createRemoteJWKSet(new URL(url), { [customFetch]: fetch });
    this.#keys.set(id, { url, set });
    return set;
  }
}

/** The algorithm that is registered for ID tokens, else those that the provider has. */
function algorithmsOf({ client }: OpenIdClient, supported: unknown): string[] {
  const registered = client?.id_token_signed_response_alg;
  const used = registered !== undefined ? [registered] : Array.isArray(supported) ? supported : ["RS256"];
  return ALGORITHMS.filter((algorithm) => used.includes(algorithm));
}

/** Other kinds of tokens are signed with the same keys. Not all providers say that it is a logout token. */
function assertType(typ: string | undefined): void {
  const type = typ?.toLowerCase().replace(/^application\//, "");
  if (type === undefined || type === "logout+jwt" || type === "jwt") return;
  throw new LogoutTokenRefused(`"typ" is ${JSON.stringify(typ)}, not "logout+jwt"`);
}

function logoutClaims({ iss, sub, sid, iat, jti, events, nonce }: JWTPayload): LogoutClaims {
  if (!isJsonObject(events) || !isJsonObject(events[EVENT])) {
    throw new LogoutTokenRefused(`"events" lacks ${EVENT}`);
  }
  // An ID token must not pass for a logout token.
  if (nonce !== undefined) throw new LogoutTokenRefused('it has a "nonce"');
  if (!isText(jti)) throw new LogoutTokenRefused('"jti" must be a text');
  if (!isText(sub ?? "-") || !isText(sid ?? "-")) {
    throw new LogoutTokenRefused('"sub" and "sid" must be texts');
  }
  if (sub === undefined && sid === undefined) throw new LogoutTokenRefused('it has neither "sub" nor "sid"');
  const subject = { ...(sub !== undefined && { sub }), ...(sid !== undefined && { sid: sid as string }) };
  return { iss: iss!, ...subject, iat: iat!, jti };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
