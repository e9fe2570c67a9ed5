/** `encode` and `decode` of `@auth/core/jwt`, the fast way: same tokens, and errors of the same names. */
import {
  decode as coreDecode,
  encode as coreEncode,
  type JWT,
  type JWTDecodeParams,
  type JWTEncodeParams,
} from "@auth/core/jwt";
import { randomUUID } from "node:crypto";
import { isJsonObject, parseJsonObject } from "../utils/decode.ts";
import { open, seal } from "./jwe.ts";
import { EXPIRED, Refusal } from "./refusal.ts";

const DEFAULT_MAX_AGE = 30 * 24 * 60 * 60;

/** Core's tolerance for the clocks of two machines, in seconds. */
const CLOCK_TOLERANCE = 15;

/** Seals a structured clone of the claims with fresh `iat`, `exp` and `jti`. Throws what core throws. */
export async function encode(params: JWTEncodeParams): Promise<string> {
  const { token = {}, secret, salt, maxAge = DEFAULT_MAX_AGE } = params;
  // A `jwt` callback can return anything: core says what is wrong with it.
  if (!isJsonObject(token)) return await coreEncode(params);
  const claims: JWT = structuredClone(token);
  claims.iat = Math.floor(Date.now() / 1000);
  claims.exp = claims.iat + maxAge;
  claims.jti = randomUUID();
  return seal(JSON.stringify(claims), [secret].flat()[0]!, salt);
}

/** Opens a token. Throws a {@linkcode Refusal} if it is not ours, core's error if only core can judge it. */
export async function decode(params: JWTDecodeParams): Promise<JWT | null> {
  const { token, secret, salt } = params;
  if (!token) return null;
  const opened = open(token, [secret].flat(), salt);
  const claims = opened === undefined || opened instanceof Refusal ? opened : parseClaims(opened.text);
  if (claims instanceof Refusal) throw claims;
  return claims ?? await coreDecode(params);
}

/** The claims in a JSON text, if they are valid now; `undefined` if core has to say what is wrong. */
export function parseClaims(text: string): JWT | Refusal | undefined {
  const claims = parseJsonObject(text);
  if (claims === undefined) return undefined;
  const { iat = 0, nbf = 0, exp = Infinity } = claims;
  if (typeof iat !== "number" || typeof nbf !== "number" || typeof exp !== "number") return undefined;
  const now = Math.floor(Date.now() / 1000);
  if (nbf > now + CLOCK_TOLERANCE) return undefined;
  return exp <= now - CLOCK_TOLERANCE ? EXPIRED : claims;
}
