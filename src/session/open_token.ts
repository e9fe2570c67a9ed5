/**
 * Decoding a session token, and telling whether it has to be renewed.
 *
 * @module
 */
import type { JWT } from "@auth/core/jwt";
import { open, type Opened, type PlainClaims } from "./jwe.ts";
import { isTimely, parseClaims } from "./jwt_codec.ts";
import { isDue, newEnd, tokenLife } from "./lifetime.ts";
import type { SessionSettings } from "./settings.ts";

/** A decoded token. */
export interface OpenToken {
  /** Its claims, a copy of its own for the callbacks to write to. */
  readonly claims: JWT;
  /** The claims as they came, in JSON where JSON can hold them. */
  readonly text: string | undefined;
  /** Whether it is to be renewed, whatever the callbacks do. */
  readonly due: boolean;
  /** When the session ends, if the token stays and if it is renewed. */
  readonly ends: { readonly kept: Date; readonly renewed: Date };
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
  return opened(claims, toJson(claims), secrets !== undefined, settings);
}

/** Decodes a token that we recognise, at once. */
export function openKnown(token: string, settings: SessionSettings): OpenToken | undefined {
  const known = openOrRecall(token, settings);
  const claims = known && parseClaims(known.text);
  return claims && opened(claims, known.text, !known.current, settings);
}

function opened(
  claims: JWT,
  text: string | undefined,
  outdated: boolean,
  settings: SessionSettings,
): OpenToken {
  const life = tokenLife(claims, settings, settings.ownTokens);
  // One that does not tell its age is always renewed, as all are in core.
  const due = outdated || life === undefined || isDue(life);
  const end = newEnd(settings);
  const kept = life === undefined ? end : new Date(life.ends);
  return { claims, text, due, ends: { kept, renewed: settings.ownTokens ? end : earlier(end, claims.exp) } };
}

/**
 * When a token ends that the application encodes is known once it comes back. An encoder may keep the `exp` that it is given,
 * so until then it ends no later than that.
 */
function earlier(end: Date, exp: unknown): Date {
  const kept = typeof exp === "number" ? Math.floor(exp) * 1000 : NaN;
  return kept > Date.now() && kept < end.getTime() ? new Date(kept) : end;
}

/**
 * The claims of a plain read, of a token that we recognise and that is neither due nor out of its time. They are parsed
 * once: texts can be handed to any number of readers. Claims that are objects cannot, and are left to the long way.
 */
export function openPlain(token: string, settings: SessionSettings): PlainClaims | undefined {
  const opened = openOrRecall(token, settings);
  if (opened === undefined || !opened.current) return undefined;
  const claims = opened.plain === undefined
    ? opened.plain = plainClaims(opened.text, settings)
    : opened.plain;
  return claims !== null && isTimely(claims) && !isDue(claims.life) ? claims : undefined;
}

function plainClaims(text: string, settings: SessionSettings): PlainClaims | null {
  const parsed = parseClaims(text);
  const life = parsed && tokenLife(parsed, settings, settings.ownTokens);
  if (life === undefined) return null;
  const { name, email, picture, iat, nbf, exp } = parsed!;
  const shared = [name, email, picture].every((claim) => typeof claim !== "object" || claim === null);
  if (!shared) return null;
  return {
    name,
    email,
    picture,
    iat,
    nbf,
    exp,
    life,
    expires: new Date(life.ends).toISOString(),
  } as PlainClaims;
}

function openOrRecall(token: string, { secrets, cookie, cache }: SessionSettings): Opened | undefined {
  if (secrets === undefined) return undefined;
  let opened = cache.get(token);
  if (opened === undefined) {
    opened = open(token, secrets, cookie.name);
    if (opened !== undefined) cache.set(token, opened);
  }
  return opened;
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
