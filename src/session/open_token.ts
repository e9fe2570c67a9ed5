/** Decoding a session token, and telling whether it has to be renewed. */
import type { JWT } from "@auth/core/jwt";
import { open, type Opened, type PlainClaims } from "../jwt/jwe.ts";
import { checkTimes, parseClaims } from "../jwt/codec.ts";
import { isDue, newEnd, tokenLife } from "../config/lifetime.ts";
import { Refusal } from "../jwt/refusal.ts";
import type { SessionSettings } from "./settings.ts";

/** A decoded token. */
export interface OpenToken {
  /** The token itself. */
  readonly token: string;
  /** Its claims, which the callbacks may write to. */
  readonly claims: JWT;
  /** The claims as they came, in JSON where JSON can hold them. */
  readonly text: string | undefined;
  /** Whether it is to be renewed, whatever the callbacks do. */
  readonly due: boolean;
  /** When the session ends, if the token stays and if it is renewed now. */
  readonly ends: { readonly kept: Date; readonly renewed: () => Date };
}

/**
 * Decodes a token.
 *
 * @throws {Refusal} where the token is not ours; what the decoder throws where that is core's or the
 * application's.
 */
export async function openToken(token: string, settings: SessionSettings): Promise<OpenToken> {
  const known = openKnown(token, settings);
  if (known instanceof Refusal) throw known;
  if (known !== undefined) return known;
  const { jwt, cookie, secrets } = settings;
  const claims = await jwt.decode({ ...jwt, token, salt: cookie.name });
  if (!claims) throw new Error("Invalid JWT");
  // A token that core's codec opens and ours does not is renewed, so that ours opens the next one.
  return opened({ token, claims, text: toJson(claims) }, secrets !== undefined, settings);
}

/** Decodes a token that is in core's format, at once; `undefined` for one that only the decoder can read. */
function openKnown(token: string, settings: SessionSettings): OpenToken | Refusal | undefined {
  const known = openCached(token, settings);
  if (known === undefined || known instanceof Refusal) return known;
  const claims = parseClaims(known.text);
  if (claims === undefined || claims instanceof Refusal) return claims;
  cacheOpened(token, known, claims, settings);
  return opened({ token, claims, text: known.text }, !known.current, settings);
}

function opened(
  token: Pick<OpenToken, "token" | "claims" | "text">,
  outdated: boolean,
  settings: SessionSettings,
): OpenToken {
  const { iat, exp } = token.claims;
  const life = tokenLife({ iat, exp }, settings, settings.ownTokens);
  // As core renews all tokens, a token without an age is always renewed.
  const due = outdated || life === undefined || isDue(life);
  const kept = life === undefined ? newEnd(settings) : new Date(life.ends);
  const renewed = () => settings.ownTokens ? newEnd(settings) : earlier(newEnd(settings), exp);
  return { ...token, due, ends: { kept, renewed } };
}

/**
 * The application's encoder decides when its token ends, which is known only when the token comes back. It
 * may keep the `exp` of the claims, so until then the session is said to end no later than that.
 */
function earlier(end: Date, exp: unknown): Date {
  const kept = typeof exp === "number" ? Math.floor(exp) * 1000 : NaN;
  return kept > Date.now() && kept < end.getTime() ? new Date(kept) : end;
}

/**
 * The claims for a read without callbacks, of a token that is not due for renewal. They are parsed once and
 * shared by all reads, so claims that are objects, which a reader could write to, are left to `openToken()`.
 *
 * @returns Why the token is refused; `undefined` where `openToken()` is needed.
 */
export function openPlain(token: string, settings: SessionSettings): PlainClaims | Refusal | undefined {
  const opened = openCached(token, settings);
  if (opened === undefined || opened instanceof Refusal) return opened;
  if (!opened.current) return undefined;
  if (opened.plain === undefined) {
    const parsed = parseClaims(opened.text);
    if (parsed === undefined || parsed instanceof Refusal) return parsed;
    opened.plain = plainClaims(parsed, settings);
    cacheOpened(token, opened, parsed, settings);
  }
  const { plain } = opened;
  if (plain === null) return undefined;
  return checkTimes(plain) ?? (isDue(plain.life) ? undefined : plain);
}

function plainClaims(parsed: JWT, settings: SessionSettings): PlainClaims | null {
  const life = tokenLife(parsed, settings, settings.ownTokens);
  if (life === undefined) return null;
  const { name, email, picture, iat, nbf, exp } = parsed;
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

function openCached(
  token: string,
  { secrets, cookie, otherSalts, cache }: SessionSettings,
): Opened | Refusal | undefined {
  if (secrets === undefined) return undefined;
  return cache.get(token) ?? open(token, secrets, cookie.name, otherSalts);
}

function cacheOpened(token: string, opened: Opened, claims: JWT, { cache }: SessionSettings): void {
  if (cache.get(token) === undefined) cache.set(token, opened, claims);
}

/**
 * Whether the token was made with a secret that this process does not have, as another one may while secrets
 * are rotated.
 */
export function hasUnknownKey(token: string, settings: SessionSettings): boolean {
  const opened = openCached(token, settings);
  return opened instanceof Refusal && opened.unknownKey;
}

/** Whether the callbacks left the claims as they were: then the browser can keep its token. */
export function isUnchanged(token: JWT, { text }: OpenToken): boolean {
  const now = toJson(token);
  if (now === undefined || text === undefined) return false;
  return now === text || withoutStamps(token) === withoutStamps(JSON.parse(text));
}

/** Encoding replaces these claims anyway. */
function withoutStamps({ iat: _iat, exp: _exp, jti: _jti, ...claims }: JWT): string | undefined {
  return toJson(claims);
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return; // A BigInt or a cycle, which the encoder refuses.
  }
}
