/**
 * What reading a session needs of a configuration, worked out once: core works it out for each request.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import { decode as coreDecode, encode as coreEncode, type JWTOptions } from "@auth/core/jwt";
import type { ResolvedConfig } from "../config/resolve.ts";
import { cookieSettings } from "../config/cookies.ts";
import { decode, encode, usableSecrets } from "../jwt/codec.ts";
import { endWithRows } from "./ended_rows.ts";
import { type Lifetimes, requireLifetimes } from "../config/lifetime.ts";
import type { RefreshSettings } from "../config/refresh.ts";
import { FailOpenLock } from "./refresh_lock.ts";
import { Renewals, type Turn } from "./refresh.ts";
import type { SessionCookieSettings } from "./cookie.ts";
import { otherSalts } from "./salts.ts";
import { TokenCache } from "../jwt/token_cache.ts";
import { digestOf, tagOf, TokenFamilies } from "./token_families.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

/** Core's defaults. They are compared by identity, to leave out the work that serves only a callback of the application. */
export const defaultJwtCallback: NonNullable<Callbacks["jwt"]> = ({ token }) => token;
export const defaultSessionCallback: NonNullable<Callbacks["session"]> = ({ session }) => ({
  user: { name: session.user?.name, email: session.user?.email, image: session.user?.image },
  expires: session.expires?.toISOString?.() ?? session.expires,
} as never);

/** How to read and renew the sessions of one configuration over one scheme (http or https). */
export interface SessionSettings extends Lifetimes {
  readonly strategy: "jwt" | "database";
  readonly cookie: SessionCookieSettings;
  /** The most bytes of the cookie where it holds a token. */
  readonly cookieLimit: number;
  /** What core hands to `encode` and `decode`, which may be the application's. */
  readonly jwt: JWTOptions & { secret: string | string[] };
  /** Whether tokens are encoded and decoded as core does it, so that their times are what the configuration says. */
  readonly ownTokens: boolean;
  /** What keys are derived for besides session tokens over this scheme: tokens that are no sessions. */
  readonly otherSalts: readonly string[];
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
  /** Which tokens are of one session, and which sessions ended. */
  readonly families: TokenFamilies;
  readonly refresh: Omit<RefreshSettings, "lock"> & { readonly lock: FailOpenLock | undefined };
}

/**
 * Works out the settings for requests over https (`secure`) or http, which mostly differ in the cookie's name and so in the
 * key.
 *
 * @param other Those for the other scheme, where they are known: of a session with the same cookie both remember the same.
 */
export function sessionSettings(
  resolved: ResolvedConfig,
  secure: boolean,
  other?: SessionSettings,
): SessionSettings {
  const settings = settle(resolved, secure);
  if (other?.cookie.name !== settings.cookie.name) return Object.freeze(settings);
  const { adapter, cache, renewals, families } = other;
  return Object.freeze({ ...settings, adapter, cache, renewals, families });
}

/** The merging is core's, quirks included: a member set to `undefined` replaces the default. */
function settle({ core, refresh, sessionCookieLimit }: ResolvedConfig, secure: boolean): SessionSettings {
  const strategy = core.adapter ? "database" as const : "jwt" as const;
  const session = { strategy, ...core.session };
  const lifetimes = requireLifetimes(core);
  const jwt = { secret: core.secret!, maxAge: lifetimes.tokenMaxAge, encode, decode, ...core.jwt };
  if (jwt.encode === coreEncode) jwt.encode = encode;
  if (jwt.decode === coreDecode) jwt.decode = decode;
  const cookie = cookieSettings("sessionToken", core, secure);
  const callbacks = { jwt: defaultJwtCallback, session: defaultSessionCallback, ...core.callbacks };
  const custom = callbacks.jwt !== defaultJwtCallback || callbacks.session !== defaultSessionCallback;
  const secrets = jwt.decode === decode ? usableSecrets(jwt.secret, cookie.name) : undefined;
  const families = new TokenFamilies(session.strategy === "jwt" && secrets ? tagOf : digestOf);
  return {
    strategy: session.strategy,
    ...lifetimes,
    cookie,
    cookieLimit: sessionCookieLimit,
    jwt,
    ownTokens: jwt.encode === encode && jwt.decode === decode,
    otherSalts: otherSalts(core, cookie.name),
    secrets,
    custom,
    callbacks,
    event: core.events?.session,
    plain: !custom && core.events?.session === undefined,
    adapter: core.adapter && endWithRows(core.adapter, families),
    cache: new TokenCache(),
    renewals: new Renewals(refresh.grace),
    families,
    refresh: { ...refresh, lock: refresh.lock && new FailOpenLock(refresh.lock) },
  };
}
