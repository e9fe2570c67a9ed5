/** Validates the logout tokens of OpenID Providers (OpenID Connect Back-Channel Logout 1.0, section 2.6). */
import type { Provider } from "@auth/core/providers";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import { createHash } from "node:crypto";
import type { SharedStore } from "../../session/shared_store.ts";
import { isJsonObject } from "../../utils/json.ts";
import { openIdClient } from "../../provider/openid_metadata.ts";
import type { SigningKeys } from "../../provider/signing_keys.ts";
import { publishedKeys, secretKey } from "../../provider/token_keys.ts";

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

/** How old a token may be, in seconds. */
const LOGOUT_TOKEN_AGE = 600;

/** How much clocks may differ, in seconds. */
const CLOCK_TOLERANCE = 30;

/** For how long a token that was used has to be remembered, in milliseconds. */
const REMEMBERED_MS = (LOGOUT_TOKEN_AGE + 2 * CLOCK_TOLERANCE) * 1000;

/** The most used tokens in the memory of a process: with more, the oldest are forgotten. */
const MOST_USED = 10_000;

const EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** The logout tokens for the clients of one configuration. */
export class LogoutTokens {
  readonly #used = new LRUCache<string, true>({ maxSize: MOST_USED, sizeCalculation: () => 1 });
  readonly #providers: readonly Provider[];
  readonly #keys: SigningKeys;
  readonly #space: string;

  /**
   * @param providers The prepared providers.
   * @param keys What the tokens are signed with.
   * @param tenant Whose they are: a provider may send one to several.
   */
  constructor(providers: readonly Provider[], keys: SigningKeys, tenant: string | undefined) {
    this.#providers = providers;
    this.#keys = keys;
    this.#space = tenant === undefined ? "" : `${encodeURIComponent(tenant)}:`;
  }

  /**
   * Validates a token of a provider. Whether it was used before {@linkcode use} checks.
   *
   * @throws {LogoutTokenRefused}
   * @throws {FastifyAuthError} If the provider's metadata or keys cannot be had.
   */
  async verify(provider: string, token: string): Promise<LogoutClaims> {
    const client = openIdClient(this.#providers, provider);
    const secret = secretKey(client);
    const { issuer, url, algorithms } = await publishedKeys(client);
    if (secret === undefined && typeof url !== "string") {
      throw new LogoutTokenRefused(`the provider "${provider}" publishes no keys (jwks_uri)`);
    }
    const key = secret === undefined ? this.#keys.at(url as string, client) : () => secret.key;
    try {
      const { payload, protectedHeader } = await jwtVerify(token, key, {
        algorithms: secret?.algorithms ?? algorithms,
        issuer,
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

  /**
   * Does the work of a token. One whose work fails may come again.
   *
   * @param store What several processes know of used tokens.
   * @throws {LogoutTokenRefused} If it was used before.
   */
  async use(
    { iss, jti }: LogoutClaims,
    store: SharedStore | undefined,
    work: () => Promise<void>,
  ): Promise<void> {
    const name = createHash("sha256").update(JSON.stringify([iss, jti])).digest("base64url");
    if (this.#used.has(name)) throw usedBefore();
    this.#used.set(name, true, { ttl: REMEMBERED_MS });
    try {
      const key = `provider-token:${this.#space}${encodeURIComponent(name)}`;
      const [isUsed] = await store?.call("get", [key]) ?? [];
      if (isUsed) throw usedBefore();
      await work();
      await store?.call("set", key, "1", REMEMBERED_MS);
    } catch (error) {
      this.#used.delete(name);
      throw error;
    }
  }
}

function usedBefore(): LogoutTokenRefused {
  return new LogoutTokenRefused("it was used before");
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
