/**
 * Decoding a session token, and telling whether it has to be renewed.
 *
 * @module
 */
import type { JWT } from "@auth/core/jwt";
import { open } from "./jwe.ts";
import { parseClaims } from "./jwt_codec.ts";
import type { SessionSettings } from "./settings.ts";

/** A decoded token. */
export interface OpenToken {
  /** Its claims, a copy of its own for the callbacks to write to. */
  readonly claims: JWT;
  /** The claims as they came, in JSON where JSON can hold them. */
  readonly text: string | undefined;
  /** Whether it is to be renewed, whatever the callbacks do. */
  readonly due: boolean;
}

/**
 * Decodes a token.
 *
 * @throws what the decoder throws, which is core's wherever ours does not recognise the token.
 */
export async function openToken(token: string, settings: SessionSettings): Promise<OpenToken> {
  const known = openKnown(token, settings);
  if (known !== undefined) return known;
  const { jwt, cookie, secrets } = settings;
  const claims = await jwt.decode({ ...jwt, token, salt: cookie.name });
  if (!claims) throw new Error("Invalid JWT");
  // A token that core's codec opens and ours does not is renewed, so that ours opens the next one.
  return { claims, text: toJson(claims), due: secrets !== undefined || isDue(claims, settings) };
}

/** Decodes a token that we recognise, at once. */
export function openKnown(token: string, settings: SessionSettings): OpenToken | undefined {
  const { secrets, cookie, cache } = settings;
  if (secrets === undefined) return undefined;
  let opened = cache.get(token);
  if (opened === undefined) {
    opened = open(token, secrets, cookie.name);
    if (opened === undefined) return undefined;
    cache.set(token, opened);
  }
  const claims = parseClaims(opened.text);
  return claims && { claims, text: opened.text, due: !opened.current || isDue(claims, settings) };
}

/** Whether the token is old enough to be prolonged. One that does not tell its age always is, as all are in core. */
function isDue({ iat }: JWT, { renewAfter }: SessionSettings): boolean {
  return !(typeof iat === "number" && iat + renewAfter > Date.now() / 1000);
}

/** Whether the callbacks left the claims as they were: then the browser can keep its token. */
export function isUnchanged(token: JWT, { text }: OpenToken): boolean {
  const now = toJson(token);
  if (now === undefined || text === undefined) return false;
  return now === text || withoutStamps(token) === withoutStamps(JSON.parse(text));
}

/** What encoding replaces anyway is no change, nor is its place among the claims. */
function withoutStamps({ iat: _iat, exp: _exp, jti: _jti, ...claims }: JWT): string | undefined {
  return toJson(claims);
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return; // A BigInt or a cycle: the encoder will say so.
  }
}
