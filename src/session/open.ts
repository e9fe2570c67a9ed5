/** Opening a session token, and telling whether it has to be renewed. */
import { JWTSessionError } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import { newEnd, tokenLife } from "../config/lifetime.ts";
import { parseClaims } from "../jwt/codec.ts";
import { open, type Opened } from "../jwt/jwe.ts";
import { OTHER_USE, Refusal } from "../jwt/refusal.ts";
import { ownString } from "../utils/own_string.ts";
import { digestName, nameOf, rowName } from "./name.ts";
import { wrapError } from "./read.ts";
import type { SessionSettings } from "./settings.ts";
import { BEARER } from "./token_use.ts";

/** A token that was opened. */
export interface OpenToken {
  /** The token itself. */
  readonly token: string;
  /** The name of its session. */
  readonly name: string;
  /** Its claims, which the callbacks may write to. */
  readonly claims: JWT;
  /** The claims as they came, in JSON where JSON can hold them. */
  readonly text: string | undefined;
  /** Whether it is to be renewed, whatever the callbacks do. */
  readonly due: boolean;
  /** When the session ends if the token stays, and if it is renewed now, as a session says it. */
  readonly ends: { readonly kept: string; readonly renewed: () => string };
}

/**
 * Opens a token.
 *
 * @throws {Refusal} If the token is not ours; {@linkcode JWTSessionError} if the decoder, which may be the
 * application's, does not accept it.
 */
export async function openToken(token: string, settings: SessionSettings): Promise<OpenToken> {
  const known = openKnown(token, settings);
  if (known !== undefined) return known;
  const claims = await decoded(token, settings);
  // A token that core's codec opens and ours does not is renewed, so that ours opens the next one.
  return toOpenToken(
    token,
    claims,
    { text: toJson(claims), current: settings.secrets === undefined },
    settings,
  );
}

/**
 * Opens a token that is in core's format.
 *
 * @returns `undefined` for one that only the decoder can read.
 * @throws {Refusal}
 */
export function openKnown(token: string, settings: SessionSettings): OpenToken | undefined {
  const opened = openText(token, settings);
  const claims = opened && parseClaims(opened.text);
  if (claims instanceof Refusal) throw claims;
  return claims && toOpenToken(token, claims, opened!, settings);
}

function toOpenToken(
  token: string,
  claims: JWT,
  { text, current }: Pick<Opened, "current"> & Pick<OpenToken, "text">,
  settings: SessionSettings,
): OpenToken {
  const { ownTokens, isBearer } = settings;
  if ((claims.token_use === BEARER) !== isBearer) throw OTHER_USE;
  const life = tokenLife(claims, settings, ownTokens);
  // Before the callbacks, which may write to the claims.
  const { exp } = claims;
  const renewed = () => (ownTokens ? newEnd(settings) : earlier(newEnd(settings), exp)).toISOString();
  const ends = { kept: life.expires, renewed };
  return { token, name: nameOf(claims, token), claims, text, due: !current || life.due, ends };
}

async function decoded(token: string, { jwt, cookie }: SessionSettings): Promise<JWT> {
  try {
    const claims = await jwt.decode({ ...jwt, token, salt: cookie.name });
    if (claims) return claims;
  } catch (cause) {
    throw wrapError(JWTSessionError, cause);
  }
  throw wrapError(JWTSessionError, new Error("Invalid JWT"));
}

/**
 * What a token in core's format holds. Those opened lately are remembered: a browser sends the same one with every
 * request.
 *
 * @returns `undefined` for one that only the decoder can read.
 */
function openText(
  token: string,
  { secrets, cookie, otherSalts, cache }: SessionSettings,
): Opened | undefined {
  if (secrets === undefined) return undefined;
  const known = cache?.get(token);
  if (known !== undefined) return known;
  const opened = open(token, secrets, cookie.name, otherSalts);
  if (opened instanceof Refusal) throw opened;
  // Only a token that authenticated is remembered.
  if (opened === undefined || cache === undefined) return opened;
  const hasRoom = cache.calculatedSize + 2 * token.length <= cache.maxSize;
  if (hasRoom || Math.random() < ADMITTED) cache.set(ownString(token), opened);
  return opened;
}

/**
 * The share of tokens that displace others. If all did, more users in turn than there is room for would displace one
 * another, and none would be found.
 */
const ADMITTED = 1 / 8;

/**
 * The application's encoder decides when its token ends, which is known only when the token comes back. It
 * may keep the `exp` of the claims, so until then the session is said to end no later than that.
 */
function earlier(end: Date, exp: unknown): Date {
  const kept = typeof exp === "number" ? Math.floor(exp) * 1000 : NaN;
  return kept > Date.now() && kept < end.getTime() ? new Date(kept) : end;
}

/** Whether the callbacks left the claims as they were: then the browser can keep its token. */
export function isUnchanged(token: JWT, { text }: OpenToken): boolean {
  if (text === undefined) return false;
  try {
    return JSON.stringify(token) === text || withoutStamps(token) === withoutStamps(JSON.parse(text));
  } catch {
    return false; // A BigInt or a cycle, which the encoder refuses.
  }
}

/** Encoding replaces these claims anyway. */
function withoutStamps({ iat: _iat, exp: _exp, jti: _jti, ...claims }: JWT): string {
  return JSON.stringify(claims);
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return; // A BigInt or a cycle, which only the codec of the application can hold.
  }
}

/** The name of the session of a token. */
export async function sessionName(token: string, settings: SessionSettings): Promise<string> {
  if (settings.strategy === "database") return rowName(token, settings.isBearer);
  return await openToken(token, settings).then(({ name }) => name, () => digestName(token));
}
