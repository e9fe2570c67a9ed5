/**
 * How long a session lasts, when it is renewed, and what a read says of its end. Core renews a token with every read,
 * and a row after `updateAge`, which may be too late. Here both are renewed once a twentieth of their life has passed,
 * or `updateAge` if that is sooner: after every read 95 % are left, and most replies set no cookie.
 */
import type { AuthConfig } from "@auth/core";

const DAY = 24 * 60 * 60;
const MAX_AGE = 30 * DAY;
const UPDATE_AGE = DAY;

/** That of sessions that end with the browser. */
export const EPHEMERAL_MAX_AGE = 12 * 60 * 60;

/** What is left of a session's life after a read, at least. */
const MIN_LEFT = 0.95;

/** Browsers keep a cookie for 400 days at most, whatever it says (RFC 6265bis, section 5.5). */
export const COOKIE_MAX_AGE = 400 * DAY;

/** By how much the clocks of two machines may differ, as in core, in milliseconds. */
const CLOCK_TOLERANCE = 15_000;

export interface Lifetimes {
  /** The life of a database session and of a cookie: `session.maxAge`, or the cookie's own if that is less. */
  readonly maxAge: number;
  readonly tokenMaxAge: number;
  /** The age from which on a session is renewed: `session.updateAge`, while at least 95 % are left. */
  readonly updateAge: number;
  /** The life of a session in a browser: that of its cookie and of its token, and 400 days at most. */
  readonly life: number;
}

/** @param longest The most that each of them may be, in seconds. */
export function lifetimesOf(
  { session, jwt, cookies }: Pick<AuthConfig, "session" | "jwt" | "cookies">,
  longest = Infinity,
): Lifetimes {
  const cookieMaxAge = cookies?.sessionToken?.options?.maxAge ?? Infinity;
  const maxAge = Math.min(session?.maxAge ?? MAX_AGE, cookieMaxAge, longest);
  const tokenMaxAge = Math.min(jwt?.maxAge ?? maxAge, longest);
  const life = Math.min(maxAge, tokenMaxAge, COOKIE_MAX_AGE);
  const updateAge = Math.min(session?.updateAge ?? UPDATE_AGE, life * (1 - MIN_LEFT));
  return { maxAge, tokenMaxAge, updateAge, life };
}

/**
 * When a cookie or a row that is written now ends, in whole seconds: rounded down as in core, a session of ten seconds
 * would lose up to a tenth of its life.
 */
export function newExpiry({ maxAge }: Lifetimes): Date {
  const now = Date.now() / 1000;
  return new Date(1000 * Math.max(Math.floor(Math.floor(now) + maxAge), Math.floor(now + MIN_LEFT * maxAge) + 1));
}

/** When a session ends whose cookie, and whose token if it has one, is written now. */
export function newEnd(lifetimes: Lifetimes): Date {
  const life = Math.min(lifetimes.tokenMaxAge, COOKIE_MAX_AGE);
  const latest = 1000 * Math.floor(Math.floor(Date.now() / 1000) + life);
  return new Date(Math.min(newExpiry(lifetimes).getTime(), latest));
}

/** In milliseconds since 1970. */
export interface TokenLife {
  /** From when on a read renews it. */
  readonly renewFrom: number;
  /** When it was issued: one from the future is renewed. */
  readonly issued: number;
  /** When it or its cookie ends, whichever is first, as a session says it. */
  readonly expires: string;
}

/** @param own Whether tokens are in core's format, with an `exp` that the configuration decides. */
export function tokenLife(
  { iat, exp }: { readonly iat?: unknown; readonly exp?: unknown },
  lifetimes: Lifetimes,
  own: boolean,
): TokenLife {
  const { maxAge, tokenMaxAge, updateAge } = lifetimes;
  const issued = typeof iat === "number" ? iat : NaN;
  const expires = typeof exp === "number" ? exp : Infinity;
  const ends = Math.floor(Math.min(expires, issued + Math.min(maxAge, COOKIE_MAX_AGE)));
  const end = new Date(ends * 1000);
  // Nothing is known of the cookie of a token that does not say when it was issued: it is always renewed, as in core.
  if (Number.isNaN(end.getTime())) return { renewFrom: 0, issued: 0, expires: newEnd(lifetimes).toISOString() };
  // The application's encoder may give its tokens a shorter life than the configuration says.
  const life = own ? lifetimes.life : Math.min(lifetimes.life, expires - issued);
  // Issued when the configuration gave longer lives: it would outlive its session.
  const isOutdated = own && expires - issued > tokenMaxAge + 1;
  const renewFrom = isOutdated || updateAge === 0 ? 0 : Math.min(issued + updateAge, ends - MIN_LEFT * life);
  return { renewFrom: renewFrom * 1000, issued: issued * 1000, expires: end.toISOString() };
}

export function isDue({ renewFrom, issued }: TokenLife): boolean {
  const now = Date.now();
  return now >= renewFrom || now < issued - CLOCK_TOLERANCE;
}

/** What a session callback returned, with another end if it left the one that it was given. */
export function withEnd(session: unknown, given: string | undefined, expires: string): unknown {
  if (typeof session !== "object" || session === null || !("expires" in session)) return session;
  const returned = session.expires instanceof Date ? session.expires.toISOString() : session.expires;
  if (returned !== given || given === expires) return session;
  if (!("toJSON" in session)) return { ...session, expires };
  // A copy would say something else in JSON, such as one of an instance of a class.
  const toJSON = () => withEnd(JSON.parse(JSON.stringify(session)), given, expires);
  return Object.create(session, { expires: { value: expires, enumerable: true }, toJSON: { value: toJSON } });
}
