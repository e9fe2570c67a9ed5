/** Opening a session token, and telling whether it has to be renewed. */
import { JWTSessionError } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import { isDue, newEnd, tokenLife } from "../config/lifetime.ts";
import { parseClaims } from "../jwt/codec.ts";
import { open } from "../jwt/jwe.ts";
import { OTHER_USE, Refusal } from "../jwt/refusal.ts";
import { ownString } from "../utils/own_string.ts";
import { digestName, nameOf, rowName } from "./name.ts";
import { wrapError } from "./read.ts";
import type { KnownToken, SessionSettings } from "./settings.ts";
import { areFor } from "./token_use.ts";

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
  if (known instanceof Refusal) throw known;
  if (known !== undefined) return known;
  const claims = await decoded(token, settings);
  const life = tokenLife(claims, settings, settings.ownTokens);
  // A token that core's codec opens and ours does not is renewed, so that ours opens the next one.
  const current = settings.secrets === undefined;
  const opened = toOpenToken({ ...life, token, text: toJson(claims), current }, claims, settings);
  if (opened instanceof Refusal) throw opened;
  return opened;
}

/**
 * Opens a token that is in core's format. Those opened lately are remembered: a browser sends the same one with every
 * request.
 *
 * @returns Why it is refused; `undefined` for one that only the decoder can read.
 */
export function openKnown(token: string, settings: SessionSettings): OpenToken | Refusal | undefined {
  const { secrets, cookie, otherSalts, cache, ownTokens } = settings;
  if (secrets === undefined) return undefined;
  // Of a part that is short and differs for each token, its end, a hash is worked out sooner.
  const known = cache.get(token.slice(-KEY_LENGTH));
  const isKnown = known?.token === token;
  const opened = isKnown ? known : open(token, secrets, cookie.name, otherSalts);
  if (opened === undefined || opened instanceof Refusal) return opened;
  const claims = parseClaims(opened.text);
  if (claims === undefined || claims instanceof Refusal) return claims;
  if (isKnown) return toOpenToken(known, claims, settings);
  const found = { ...opened, ...tokenLife(claims, settings, ownTokens), token };
  if (cache.calculatedSize + 2 * token.length <= cache.maxSize || Math.random() < ADMITTED) {
    found.token = ownString(token);
    cache.set(found.token.slice(-KEY_LENGTH), found);
  }
  return toOpenToken(found, claims, settings);
}

/** The characters of a tag (RFC 7518, section 5.2.5). */
const KEY_LENGTH = 43;

/**
 * The share of tokens that displace others. If all did, more users in turn than there is room for would displace one
 * another, and none would be found.
 */
const ADMITTED = 1 / 8;

function toOpenToken(
  known: Omit<KnownToken, "text"> & Pick<OpenToken, "text">,
  claims: JWT,
  settings: SessionSettings,
): OpenToken | Refusal {
  const { ownTokens, use } = settings;
  if (!areFor(claims, use)) return OTHER_USE;
  const { token, text, current, expires } = known;
  // Before the callbacks, which may write to the claims.
  const { exp } = claims;
  const renewed = () => (ownTokens ? newEnd(settings) : earlier(newEnd(settings), exp)).toISOString();
  const due = !current || isDue(known);
  return { token, name: nameOf(claims, token), claims, text, due, ends: { kept: expires, renewed } };
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
  if (settings.strategy === "database") return rowName(token, settings.use);
  return await openToken(token, settings).then(({ name }) => name, () => digestName(token));
}

/**
 * The id of the user of a session token: the `sub` of its claims, or the user of its row. No callback is called.
 *
 * @returns `undefined` if the token is of no session.
 * @throws What the adapter throws.
 */
export async function ownerOf(token: string, settings: SessionSettings): Promise<string | undefined> {
  if (token === "") return undefined;
  if (settings.strategy === "jwt") {
    return await openToken(token, settings).then(({ claims }) => claims.sub, () => undefined);
  }
  const found = await settings.adapter!.getSessionAndUser!(token);
  return found && found.session.expires.valueOf() >= Date.now() ? String(found.user.id) : undefined;
}
