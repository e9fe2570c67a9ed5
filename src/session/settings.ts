/** What reading a session needs of a configuration, worked out once: core works it out for each request. */
import type { AuthConfig } from "@auth/core";
import { decode as coreDecode, encode as coreEncode, type JWTOptions } from "@auth/core/jwt";
import type { ResolvedConfig } from "../config/resolve.ts";
import { type CookieSettings, cookieSettings } from "../config/cookies.ts";
import { decode, encode } from "../jwt/codec.ts";
import type { TokenGenerator } from "../config/session_token.ts";
import { COOKIE_MAX_AGE, type Lifetimes, requireLifetimes } from "../config/lifetime.ts";
import type { RefreshSettings } from "../config/refresh.ts";
import type { JwtRead } from "./jwt_read.ts";
import { SharedStore } from "./shared_store.ts";
import { type LiveSessions, REQUEST_LIMIT_MS } from "./live_sessions.ts";
import { longestToken, type SessionCookieSettings } from "./cookie.ts";
import { otherSalts } from "./salts.ts";
import { rowsForUse } from "./token_use.ts";
import type { Opened } from "../jwt/jwe.ts";
import { LRUCache } from "lru-cache";
import { SessionRecords } from "./session_records.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

/** How to read and renew the sessions of one configuration over one scheme (http or https). */
export interface SessionSettings extends Lifetimes {
  readonly strategy: "jwt" | "database";
  readonly cookie: SessionCookieSettings;
  /** The cookies of what continues from one request of a browser to the next, besides the session. */
  readonly csrfCookie: CookieSettings;
  readonly callbackUrlCookie: CookieSettings;
  /** Makes the token of a new session in a database. */
  readonly generateSessionToken: TokenGenerator;
  /**
   * The name of the cookie that says how users signed in, where that is kept beside sessions in a database.
   */
  readonly signInCookie: string | undefined;
  /** The most bytes of the cookie where it holds a token. */
  readonly cookieLimit: number;
  /** The most characters of a token that is looked at. */
  readonly longestToken: number;
  /** What core hands to `encode` and `decode`, which may be the application's. */
  readonly jwt: JWTOptions & { secret: string | string[] };
  /**
   * Whether tokens are encoded and decoded as core does it, so that their times are what the configuration
   * says.
   */
  readonly ownTokens: boolean;
  /** What keys are derived for besides session tokens over this scheme: tokens that are no sessions. */
  readonly otherSalts: readonly string[];
  /** The secrets, where tokens are in core's format. */
  readonly secrets: readonly string[] | undefined;
  /** Whether session tokens have the tokens of providers (`refreshTokens`). */
  readonly keepsTokens: boolean;
  /**
   * Whether session tokens have the sessions at OpenID Providers (`providerSignOut`, `backchannelLogout`).
   */
  readonly keepsProviderSessions: boolean;
  /** Whether session tokens have claims that no session may have. */
  readonly hidesClaims: boolean;
  /** Records of sessions in a JWT, if they are `revocable`. */
  readonly records: SessionRecords | undefined;
  /** The application's callbacks; where there is none, what core's default would return is made directly. */
  readonly callbacks: {
    readonly jwt: Callbacks["jwt"] | undefined;
    readonly session: Callbacks["session"] | undefined;
  };
  readonly event: NonNullable<AuthConfig["events"]>["session"];
  /** Whether these are for tokens in `Authorization: Bearer`: a token of the other use is refused. */
  readonly isBearer: boolean;
  /** The same for bearer tokens. */
  readonly forBearer?: SessionSettings;
  /** The adapter, for rows of any use. */
  readonly rows: AuthConfig["adapter"];
  /** The same, which finds only the rows of sessions of this use. */
  readonly adapter: AuthConfig["adapter"];
  /** What tokens opened lately held; `undefined` if none is remembered. */
  readonly cache: LRUCache<string, Opened> | undefined;
  /** The sessions that are in use. */
  readonly live: LiveSessions<JwtRead>;
  readonly refresh: Omit<RefreshSettings, "store"> & { readonly store: SharedStore | undefined };
}

/**
 * Works out the settings for requests over https (`secure`) or http, which mostly differ in the cookie's name
 * and so in the key.
 *
 * @param live The sessions of this configuration that are in use, over either.
 */
export function sessionSettings(
  resolved: ResolvedConfig,
  secure: boolean,
  live: LiveSessions<JwtRead>,
): SessionSettings {
  return forEachUse(resolveSettings(resolved, secure, live));
}

/** The settings of any token; those of each use follow from them. */
type AnyUse = Omit<SessionSettings, "isBearer" | "adapter" | "forBearer">;

/** The settings for cookies, which have those for bearer tokens. */
function forEachUse(settings: AnyUse): SessionSettings {
  const forUse = (isBearer: boolean) => ({
    ...settings,
    isBearer,
    adapter: settings.rows && rowsForUse(settings.rows, isBearer),
  });
  return Object.freeze({ ...forUse(false), forBearer: Object.freeze(forUse(true)) });
}

/** Members are merged as core merges them. */
function resolveSettings(
  resolved: ResolvedConfig,
  secure: boolean,
  live: LiveSessions<JwtRead>,
): AnyUse {
  const { core, refresh, sessionCookieLimit, tokenCacheSize, keepsTokens, revocation } = resolved;
  const { recordsSignIns, providerSignOut, logoutTokens } = resolved;
  const keepsProviderSessions = providerSignOut !== undefined || logoutTokens !== undefined;
  const { strategy } = { strategy: core.adapter ? "database" as const : "jwt" as const, ...core.session };
  const lifetimes = requireLifetimes(core);
  // In core's order. `resolveConfig()` has set `encode` and `decode`.
  const jwt = { secret: core.secret!, maxAge: lifetimes.tokenMaxAge, ...core.jwt } as SessionSettings["jwt"];
  if (jwt.encode === coreEncode) jwt.encode = encode;
  if (jwt.decode === coreDecode) jwt.decode = decode;
  const cookie = cookieSettings("sessionToken", core, secure);
  const secrets = jwt.decode === decode ? [jwt.secret].flat() : undefined;
  const ownTokens = jwt.encode === encode && jwt.decode === decode;
  const store = refresh.store && new SharedStore(refresh.store, revocation?.timeout ?? 0);
  const records = revocation && new SessionRecords({
    store: store!,
    tenant: resolved.tenant,
    maxAge: Math.min(lifetimes.maxAge, lifetimes.tokenMaxAge),
    // The application's codec may give its tokens a longer life, but no browser keeps them for longer.
    keepFor: (ownTokens ? lifetimes.tokenMaxAge : COOKIE_MAX_AGE) * 1000 + REQUEST_LIMIT_MS,
  });
  return {
    strategy,
    ...lifetimes,
    // `resolveConfig()` has set it.
    generateSessionToken: core.session!.generateSessionToken!,
    cookie,
    csrfCookie: cookieSettings("csrfToken", core, secure),
    callbackUrlCookie: cookieSettings("callbackUrl", core, secure),
    signInCookie: recordsSignIns && strategy === "database"
      ? cookieSettings("signIn", core, secure).name
      : undefined,
    cookieLimit: sessionCookieLimit,
    longestToken: longestToken(sessionCookieLimit),
    jwt,
    ownTokens,
    otherSalts: otherSalts(core, cookie.name),
    secrets,
    keepsTokens: keepsTokens && strategy === "jwt",
    keepsProviderSessions,
    hidesClaims: strategy === "jwt" && (keepsTokens || keepsProviderSessions),
    records,
    callbacks: callbacksOf(core),
    event: core.events?.session,
    rows: core.adapter,
    cache: tokenCacheSize < 1 ? undefined : new LRUCache({
      maxSize: Math.floor(tokenCacheSize),
      sizeCalculation: ({ text }, token) => token.length + text.length,
    }),
    live,
    refresh: { ...refresh, store },
  };
}

/**
 * The callbacks of the application. As in core, one that is set to `undefined` replaces the default, and its
 * call fails.
 */
function callbacksOf({ callbacks = {} }: AuthConfig): SessionSettings["callbacks"] {
  const own = (name: "jwt" | "session") =>
    name in callbacks && {
      [name]: callbacks[name] ?? (() => {
        throw new TypeError(`callbacks.${name} is not a function`);
      }),
    };
  return { jwt: undefined, session: undefined, ...own("jwt"), ...own("session") };
}
