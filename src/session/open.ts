/** Decoding a session token, and telling whether it has to be renewed. */
import type { JWT } from "@auth/core/jwt";
import { open, type Opened, type PlainClaims, type TokenLife } from "../jwt/jwe.ts";
import { checkTimes, parseClaims } from "../jwt/codec.ts";
import { FlatClaims } from "../jwt/flat_claims.ts";
import { isDue, newEnd, tokenLife } from "../config/lifetime.ts";
import { OTHER_USE, Refusal } from "../jwt/refusal.ts";
import { digestName, nameOf, rowName } from "./name.ts";
import type { SessionSettings } from "./settings.ts";
import { BEARER } from "./token_use.ts";

/** A decoded token. */
export interface OpenToken {
  /** The token itself. */
  readonly token: string;
  /** The name of its session. */
  readonly name: string;
  /** Its claims, which the callbacks may write to. */
  readonly claims: JWT;
  /** The claims as they came, in JSON where JSON can hold them. */
  readonly text: string | undefined;
  /** The same, where they hold no objects. */
  readonly flat: FlatClaims | null;
  /** Whether it is to be renewed, whatever the callbacks do. */
  readonly due: boolean;
  /** When the session ends, as it says so, if the token stays and if it is renewed now. */
  readonly ends: { readonly kept: string; readonly renewed: () => string };
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
  return known ?? await decodeToken(token, settings);
}

async function decodeToken(token: string, settings: SessionSettings): Promise<OpenToken> {
  const { secrets } = settings;
  const claims = await decoded(token, settings);
  if ((claims.token_use === BEARER) !== settings.isBearer) throw OTHER_USE;
  // A token that core's codec opens and ours does not is renewed, so that ours opens the next one.
  const life = tokenLife(claims, settings, settings.ownTokens);
  return toOpenToken(
    { token, claims, text: toJson(claims), flat: null },
    { life, isOutdated: secrets !== undefined, now: Date.now() },
    settings,
  );
}

async function decoded(token: string, { jwt, cookie }: SessionSettings): Promise<JWT> {
  try {
    const claims = await jwt.decode({ ...jwt, token, salt: cookie.name });
    if (claims) return claims;
  } catch (cause) {
    throw new UnreadableToken(cause);
  }
  throw new UnreadableToken(new Error("Invalid JWT"));
}

/** A token that core's decoder or the application's does not accept. */
export class UnreadableToken extends Error {
  constructor(cause: unknown) {
    super("The session token cannot be read.", { cause });
  }
}

/** Decodes a token that is in core's format; `undefined` for one that only the decoder can read. */
export function openKnown(token: string, settings: SessionSettings): OpenToken | Refusal | undefined {
  const cached = cachedToken(token, settings);
  const known = cached ?? openAnew(token, settings);
  if (known === undefined || known instanceof Refusal) return known;
  const now = Date.now();
  const claims = ownClaims(known, now);
  if (claims === undefined || claims instanceof Refusal) return claims;
  if ((claims.token_use === BEARER) !== settings.isBearer) return OTHER_USE;
  if (cached === undefined) settings.cache.set(token, known, claims);
  const life = lifeOf(known, claims, settings);
  const { text, flat = null } = known;
  return toOpenToken({ token, claims, text, flat }, { life, isOutdated: !known.current, now }, settings);
}

/** The claims for one read, whose callbacks may write to them. */
function ownClaims(known: Opened, now: number): JWT | Refusal | undefined {
  if (known.flat) {
    const copy = known.flat.copy();
    return checkTimes(copy, now) ?? copy;
  }
  const claims = parseClaims(known.text);
  const isParsed = claims !== undefined && !(claims instanceof Refusal);
  if (isParsed && known.flat === undefined) known.flat = FlatClaims.of(claims);
  return claims;
}

/** The life of a token, worked out once for as long as the token is remembered. */
function lifeOf(opened: Opened, claims: JWT, settings: SessionSettings): TokenLife | undefined {
  if (opened.life === undefined) opened.life = tokenLife(claims, settings, settings.ownTokens) ?? null;
  return opened.life ?? undefined;
}

/** What says whether a token is to be renewed. */
interface Age {
  readonly life: TokenLife | undefined;
  /** Whether it is, whatever its life. */
  readonly isOutdated: boolean;
  readonly now: number;
}

function toOpenToken(
  { token, claims, text, flat }: Pick<OpenToken, "token" | "claims" | "text" | "flat">,
  { life, isOutdated, now }: Age,
  settings: SessionSettings,
): OpenToken {
  // Before the callbacks, which may write to the claims.
  const { exp } = claims;
  // As core renews all tokens, a token without an age is always renewed.
  const due = isOutdated || life === undefined || isDue(life, now);
  const kept = life === undefined ? newEnd(settings).toISOString() : life.expires;
  const renewed = () =>
    (settings.ownTokens ? newEnd(settings) : earlier(newEnd(settings), exp)).toISOString();
  return { token, name: nameOf(claims, token), claims, text, flat, due, ends: { kept, renewed } };
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
  const opened = cachedToken(token, settings) ?? openAnew(token, settings);
  if (opened === undefined || opened instanceof Refusal) return opened;
  if (!opened.current) return undefined;
  if (opened.plain === undefined) {
    const parsed = parseClaims(opened.text);
    if (parsed === undefined || parsed instanceof Refusal) return parsed;
    opened.plain = plainClaims(parsed, nameOf(parsed, token), lifeOf(opened, parsed, settings));
    settings.cache.set(token, opened, parsed);
  }
  const { plain } = opened;
  if (plain === null || settings.isBearer) return undefined;
  const now = Date.now();
  return checkTimes(plain, now) ?? (isDue(plain.life, now) ? undefined : plain);
}

function plainClaims(parsed: JWT, session: string, life: TokenLife | undefined): PlainClaims | null {
  if (life === undefined) return null;
  const { name, email, picture, iat, nbf, exp } = parsed;
  if (isObject(name) || isObject(email) || isObject(picture) || parsed.token_use === BEARER) return null;
  return { name, email, picture, iat, nbf, exp, session, life } as PlainClaims;
}

function isObject(claim: unknown): boolean {
  return typeof claim === "object" && claim !== null;
}

function cachedToken(token: string, { secrets, cache }: SessionSettings): Opened | undefined {
  return secrets === undefined ? undefined : cache.get(token);
}

function openAnew(
  token: string,
  { secrets, cookie, otherSalts }: SessionSettings,
): Opened | Refusal | undefined {
  return secrets === undefined ? undefined : open(token, secrets, cookie.name, otherSalts);
}

/**
 * Whether the token was made with a secret that this process does not have, as another one may while secrets
 * are rotated.
 */
export function hasUnknownKey(token: string, settings: SessionSettings): boolean {
  const opened = cachedToken(token, settings) ?? openAnew(token, settings);
  return opened instanceof Refusal && opened.unknownKey;
}

/** Whether the callbacks left the claims as they were: then the browser can keep its token. */
export function isUnchanged(token: JWT, { text, flat }: OpenToken): boolean {
  if (flat?.equals(token)) return true;
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

/** The name of the session of a token. */
export async function sessionName(token: string, settings: SessionSettings): Promise<string> {
  if (settings.strategy === "database") return rowName(token, settings.isBearer);
  return await openToken(token, settings).then(({ name }) => name, () => digestName(token));
}
