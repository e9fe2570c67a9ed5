/**
 * `encode` and `decode` of `@auth/core/jwt`, the fast way: same tokens, same results. Errors have the same
 * names; a token that is refused here is not tried again by core.
 */
import { decode as coreDecode, encode as coreEncode, type JWT } from "@auth/core/jwt";
import type { JWTDecodeParams, JWTEncodeParams } from "@auth/core/jwt";
import { randomUUID } from "node:crypto";
import { open, seal } from "./jwe.ts";
import { parseJsonObject } from "../utils/json.ts";
import { EXPIRED, NO_NUMBER, NOT_YET_VALID, Refusal } from "./refusal.ts";

/** Core's default lifetime of a token, in seconds. */
const DEFAULT_MAX_AGE = 30 * 24 * 60 * 60;

/** Core's tolerance for the clocks of two machines, in seconds. */
const CLOCK_TOLERANCE = 15;

/**
 * Drop-in for core's `encode`: seals a structured clone of the claims with fresh `iat`, `exp` and `jti`.
 *
 * @throws what core throws for claims that cannot be cloned (`DataCloneError`) or written as JSON
 * (`TypeError`).
 */
export async function encode(params: JWTEncodeParams): Promise<string> {
  const { token = {}, secret, salt, maxAge = DEFAULT_MAX_AGE } = params;
  const secrets = secretList(secret, salt);
  if (!secrets || !isPlainObject(token) || !Number.isFinite(maxAge)) return await coreEncode(params);
  const claims: JWT = structuredClone(token);
  const now = Math.floor(Date.now() / 1000);
  claims.iat = now;
  claims.exp = now + maxAge;
  claims.jti = randomUUID();
  if (typeof claims.nbf === "number" && !Number.isFinite(claims.nbf)) return await coreEncode(params);
  return seal(JSON.stringify(claims), secrets[0]!, salt);
}

/**
 * Drop-in for core's `decode`.
 *
 * @throws {Refusal} for a token that is not ours; core's error for one of ours that only core can judge.
 */
export async function decode(params: JWTDecodeParams): Promise<JWT | null> {
  const { token, secret, salt } = params;
  if (!token) return null;
  const secrets = secretList(secret, salt);
  const opened = secrets && typeof token === "string" ? open(token, secrets, salt) : undefined;
  const claims = opened === undefined || opened instanceof Refusal ? opened : parseClaims(opened.text);
  if (claims instanceof Refusal) throw claims;
  return claims ?? await coreDecode(params);
}

/**
 * The claims in a JSON text; `undefined` if they are not an object, a `Refusal` if they are not valid now by the
 * time checks of jose's `jwtDecrypt`, with core's tolerance.
 */
export function parseClaims(text: string): JWT | Refusal | undefined {
  const claims = parseJsonObject(text);
  if (claims === undefined) return undefined;
  const { iat, nbf, exp } = claims;
  const now = Math.floor(Date.now() / 1000);
  if (iat !== undefined && typeof iat !== "number") return NO_NUMBER.iat;
  if (nbf !== undefined) {
    if (typeof nbf !== "number") return NO_NUMBER.nbf;
    if (nbf > now + CLOCK_TOLERANCE) return NOT_YET_VALID;
  }
  if (exp !== undefined) {
    if (typeof exp !== "number") return NO_NUMBER.exp;
    if (exp <= now - CLOCK_TOLERANCE) return EXPIRED;
  }
  return claims;
}

/** The secrets as a list, unless core's derivation would throw on them or on the salt: then let it. */
export function secretList(secret: unknown, salt: unknown): readonly string[] | undefined {
  if (typeof salt !== "string" || salt.length > 200) return;
  const secrets: unknown[] = Array.isArray(secret) ? secret : [secret];
  if (secrets.length > 0 && secrets.every((one) => typeof one === "string" && one !== "")) {
    return secrets as string[];
  }
}

/** As jose tests a claims set. */
function isPlainObject(value: unknown): boolean {
  if (
    typeof value !== "object" || value === null || Object.prototype.toString.call(value) !== "[object Object]"
  ) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
