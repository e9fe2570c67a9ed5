/**
 * Decoding a session token, and telling whether it has to be renewed.
 *
 * @module
 */
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
  /** Its claims, a copy of its own for the callbacks to write to. */
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
 * @throws {Refusal} where the token is none of ours; what the decoder throws where that is core's or the application's.
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
  remember(token, known, claims, settings);
  return opened({ token, claims, text: known.text }, !known.current, settings);
}

function opened(
  token: Pick<OpenToken, "token" | "claims" | "text">,
  outdated: boolean,
  settings: SessionSettings,
): OpenToken {
  const { iat, exp } = token.claims;
  const life = tokenLife({ iat, exp }, settings, settings.ownTokens);
  // One that does not tell its age is always renewed, as all are in core.
  const due = outdated || life === undefined || isDue(life);
  const kept = life === undefined ? newEnd(settings) : new Date(life.ends);
  const renewed = () => settings.ownTokens ? newEnd(settings) : earlier(newEnd(settings), exp);
  return { ...token, due, ends: { kept, renewed } };
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
 * The claims of a plain read, of a token that we recognise and that is not due. They are parsed once: texts can be handed to
 * any number of readers. Claims that are objects cannot, and are left to the long way.
 *
 * @returns Why the token is refused; `undefined` where the long way has to be taken.
 */
export function openPlain(token: string, settings: SessionSettings): PlainClaims | Refusal | undefined {
  const opened = openCached(token, settings);
  if (opened === undefined || opened instanceof Refusal) return opened;
  if (!opened.current) return undefined;
  if (opened.plain === undefined) {
    const parsed = parseClaims(opened.text);
    if (parsed === undefined || parsed instanceof Refusal) return parsed;
    opened.plain = plainClaims(parsed, settings);
    remember(token, opened, parsed, settings);
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

function remember(token: string, opened: Opened, claims: JWT, { cache }: SessionSettings): void {
  if (opened.remembered) return;
  opened.remembered = true;
  cache.set(token, opened, claims);
}

/** Whether the token was made with a secret that this process does not have, as another one may while secrets are rotated. */
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
