/**
 * What reading a session needs of a configuration, worked out once: core works it out for each request.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import { decode as coreDecode, encode as coreEncode, type JWTOptions } from "@auth/core/jwt";
import type { ResolvedConfig } from "../config/config.ts";
import { cookieSettings } from "../config/cookies.ts";
import { decode, encode, usableSecrets } from "./jwt_codec.ts";
import type { Turn } from "./jwt.ts";
import type { RefreshSettings } from "./refresh_lock.ts";
import { Renewals } from "./renewals.ts";
import type { SessionCookieSettings } from "./cookie.ts";
import { TokenCache } from "./token_cache.ts";

/** Core's default lifetime of a session, and how often it is prolonged, in seconds. */
const MAX_AGE = 30 * 24 * 60 * 60;
const UPDATE_AGE = 24 * 60 * 60;

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

/** Core's defaults. They are compared by identity, to leave out the work that serves only a callback of the application. */
export const defaultJwtCallback: NonNullable<Callbacks["jwt"]> = ({ token }) => token;
export const defaultSessionCallback: NonNullable<Callbacks["session"]> = ({ session }) => ({
  user: { name: session.user?.name, email: session.user?.email, image: session.user?.image },
  expires: session.expires?.toISOString?.() ?? session.expires,
} as never);

/** How to read and renew the sessions of one configuration over one scheme (http or https). */
export interface SessionSettings {
  readonly strategy: "jwt" | "database";
  /** Seconds a session lasts when nobody uses it. */
  readonly maxAge: number;
  /** Seconds after which a session in use is prolonged. */
  readonly updateAge: number;
  /** The same for a token, which core prolongs with every read. */
  readonly renewAfter: number;
  readonly cookie: SessionCookieSettings;
  /** What core hands to `encode` and `decode`, which may be the application's. */
  readonly jwt: JWTOptions & { secret: string | string[] };
  /** The secrets, where tokens are in core's format. */
  readonly secrets: readonly string[] | undefined;
  /** Whether callbacks of the application see the claims and may write to them. */
  readonly custom: boolean;
  readonly callbacks: {
    readonly jwt: NonNullable<Callbacks["jwt"]>;
    readonly session: NonNullable<Callbacks["session"]>;
  };
  readonly event: NonNullable<AuthConfig["events"]>["session"];
  readonly adapter: AuthConfig["adapter"];
  /** Whether a session in a token is read without calling anything of the application. */
  readonly plain: boolean;
  /** Tokens opened a moment ago. */
  readonly cache: TokenCache;
  /** Tokens being renewed, or renewed a moment ago. */
  readonly renewals: Renewals<Turn>;
  readonly refresh: RefreshSettings;
}

/**
 * Works out the settings for requests over https (`secure`) or http, which differ in the cookie's name and so in the key.
 */
export function sessionSettings(resolved: ResolvedConfig, secure: boolean): SessionSettings {
  return Object.freeze(settle(resolved, secure));
}

/** The merging is core's, quirks included: a member set to `undefined` replaces the default. */
function settle({ core, refresh }: ResolvedConfig, secure: boolean): SessionSettings {
  const strategy = core.adapter ? "database" as const : "jwt" as const;
  const session = { strategy, maxAge: MAX_AGE, updateAge: UPDATE_AGE, ...core.session };
  const jwt = { secret: core.secret!, maxAge: core.session?.maxAge ?? MAX_AGE, encode, decode, ...core.jwt };
  if (jwt.encode === coreEncode) jwt.encode = encode;
  if (jwt.decode === coreDecode) jwt.decode = decode;
  const cookie = cookieSettings("sessionToken", core, secure);
  const callbacks = { jwt: defaultJwtCallback, session: defaultSessionCallback, ...core.callbacks };
  const custom = callbacks.jwt !== defaultJwtCallback || callbacks.session !== defaultSessionCallback;
  return {
    strategy: session.strategy,
    maxAge: session.maxAge,
    updateAge: session.updateAge,
    renewAfter: worthwhile(session.updateAge, Math.min(session.maxAge, jwt.maxAge)),
    cookie,
    jwt,
    secrets: jwt.decode === decode ? usableSecrets(jwt.secret, cookie.name) : undefined,
    custom,
    callbacks,
    event: core.events?.session,
    plain: !custom && core.events?.session === undefined && Number.isFinite(session.maxAge),
    adapter: core.adapter,
    cache: new TokenCache(),
    renewals: new Renewals(refresh.grace),
    refresh,
  };
}

/**
 * Core prolongs a token with every read. Waiting for `updateAge`, a day by default, would end a session of an hour while
 * it is in use, so a session is prolonged at half its life at the latest.
 */
function worthwhile(updateAge: number, lifetime: number): number {
  return updateAge < lifetime ? updateAge : lifetime / 2;
}
