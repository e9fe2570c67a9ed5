/** Opening a session token, and telling whether it has to be renewed. */
import { JWTSessionError } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import { isDue, newEnd, tokenLife } from "../config/lifetime.ts";
import { open, OTHER_USE, Refusal, validClaims } from "../jwt/jwe.ts";
import { plainCopy, tryCopy } from "../utils/plain_copy.ts";
import { ownString } from "../utils/text.ts";
import { areFor, digestName, nameOf, rowName } from "./name.ts";
import { wrapError } from "./read.ts";
import { lifetimesFor, type SessionSettings } from "./settings.ts";

export interface OpenToken {
  readonly token: string;
  readonly name: string;
  /** Its claims, which the callbacks may write to. */
  readonly claims: JWT;
  /** The claims as they came, if JSON can hold them. They are shared: nobody writes to them. */
  readonly original: Readonly<JWT> | undefined;
  /** Whether it is to be renewed, whatever the callbacks do. */
  readonly due: boolean;
  /** When the session ends if the token stays, and if it is renewed now. */
  readonly ends: { readonly kept: string; readonly renewed: () => string };
}

/** The share of tokens that displace others from a full cache: if all did, none would be found again. */
const ADMITTED = 1 / 8;

/** Throws a {@linkcode Refusal} for a token that is not ours, a {@linkcode JWTSessionError} if the decoder fails. */
export async function openToken(token: string, settings: SessionSettings): Promise<OpenToken> {
  const opened = await openOrRefuse(token, settings);
  if (opened instanceof Refusal) throw opened;
  return opened;
}

/** The same, with a refusal as the result: any client can cause one, and a throw costs more than to open a token. */
export async function openOrRefuse(token: string, settings: SessionSettings): Promise<OpenToken | Refusal> {
  const { secrets, cookie, otherSalts, cache, ownTokens, use } = settings;
  // By its tag: V8 would take longer to hash the whole token than for the rest of this function.
  const cached = cache.get(token.slice(-TAG_LENGTH));
  const known = cached?.token === token ? cached : undefined;
  const opened = known ?? (secrets && open(token, secrets, cookie.name, otherSalts));
  if (opened instanceof Refusal) return opened;
  const valid = opened && validClaims(opened.claims);
  if (valid instanceof Refusal) return valid;
  const found = valid ?? await decoded(token, settings);
  const name = nameOf(found, token);
  const life = known ?? tokenLife(found, lifetimesFor(name, settings), ownTokens);
  if (valid && opened && !known) {
    const isRoom = cache.calculatedSize + 2 * token.length <= cache.maxSize;
    if (isRoom || Math.random() < ADMITTED) {
      const own = ownString(token);
      cache.set(own.slice(-TAG_LENGTH), { token: own, ...life, ...opened });
    }
  }
  if (!areFor(found, use)) return OTHER_USE;
  // Before the callbacks, which may write to the claims.
  const [claims, original] = valid ? [plainCopy(valid), valid] : [found, tryCopy(found)];
  const { exp } = found;
  const renewed = () => {
    const end = newEnd(lifetimesFor(name, settings));
    // The application's encoder may keep the `exp` of the claims: the session is said to end no later than that.
    const kept = ownTokens || typeof exp !== "number" ? NaN : Math.floor(exp) * 1000;
    return (kept > Date.now() && kept < end.getTime() ? new Date(kept) : end).toISOString();
  };
  // A token that core's codec opens and ours does not is renewed, so that ours opens the next one.
  const isCurrent = valid && opened ? opened.current : secrets === undefined;
  const ends = { kept: life.expires, renewed };
  // A token for a header is not renewed.
  const due = use === "cookie" && (!isCurrent || isDue(life));
  return { token: known?.token ?? token, name, claims, original, due, ends };
}

/** The characters of a token's authentication tag, with which it ends. */
const TAG_LENGTH = 43;

async function decoded(token: string, { jwt, cookie }: SessionSettings): Promise<JWT> {
  try {
    const claims = await jwt.decode({ ...jwt, token, salt: cookie.name });
    // Any other would be a session without a user, which guards would let pass.
    if (typeof claims === "object" && claims !== null) return claims;
    if (claims) throw new TypeError(`\`jwt.decode\` returned a ${typeof claims}, and no claims.`);
    throw new Error("Invalid JWT");
  } catch (cause) {
    throw wrapError(JWTSessionError, cause);
  }
}

/** Encoding replaces these claims anyway. */
const STAMPS = ["iat", "exp", "jti"];

/** Whether the callbacks left the claims as they were: then the browser can keep its token. */
export function isUnchanged(token: JWT, { original }: OpenToken): boolean {
  if (original === undefined) return false;
  try {
    const isSame = (name: string) =>
      token[name] === original[name] || STAMPS.includes(name) ||
      JSON.stringify(token[name]) === JSON.stringify(original[name]);
    return Object.keys(token).every(isSame) && Object.keys(original).every(isSame);
  } catch {
    return false; // A BigInt or a cycle, which JSON cannot hold.
  }
}

export async function sessionName(token: string, settings: SessionSettings): Promise<string> {
  if (settings.strategy === "database") return rowName(token, settings.use);
  return await openToken(token, settings).then(({ name }) => name, () => digestName(token));
}

export type SignedIn = Pick<JWT, "sub" | "name" | "email" | "picture">;

/** Who is signed in by a token, as core is told; `undefined` if that is nobody. Throws what the adapter throws. */
export async function signedInBy(token: string, settings: SessionSettings): Promise<SignedIn | undefined> {
  if (token === "") return undefined;
  if (settings.strategy === "jwt") {
    const claims = await openToken(token, settings).then(({ claims }) => claims, () => undefined);
    return claims?.sub ? claims : undefined;
  }
  const found = await settings.adapter!.getSessionAndUser!(token);
  if (!found || new Date(found.session.expires).valueOf() <= Date.now()) return undefined;
  const { id, name = null, email, image = null } = found.user;
  return { sub: String(id), name, email, picture: image };
}
