/** What sessions need of a configuration, worked out once: core works it out for each request. */
import type { AuthConfig } from "@auth/core";
import { decode as coreDecode, encode as coreEncode, type JWTOptions } from "@auth/core/jwt";
import { LRUCache } from "lru-cache";
import { cookieNames, cookieSettings, type CoreConfig } from "../config/cookies.ts";
import type { TokenGenerator } from "../config/core_config.ts";
import { COOKIE_MAX_AGE, lifetimesOf } from "../config/lifetime.ts";
import type { ResolvedConfig } from "../config/resolve.ts";
import { decode, encode } from "../jwt/codec.ts";
import { longestToken } from "./cookie.ts";
import type { JwtRead, KnownToken } from "./jwt_read.ts";
import { type LiveSessions, REQUEST_LIMIT_MS } from "./live_sessions.ts";
import { SessionRecords } from "./session_records.ts";
import { SharedStore } from "./shared_store.ts";
import { rowsForUse, type TokenUse } from "./token_use.ts";

/** Bytes of tokens and claims that are remembered: those of some 6,000 users, in 10 MB of memory. */
const CACHE_SIZE = 2 ** 22;

/** How to read and renew the sessions of one configuration over one scheme (http or https). */
export interface SessionSettings extends Shared, Readonly<ReturnType<typeof ofScheme>> {
  /** What the tokens that these are for come in: one of the other use is refused. */
  readonly use: TokenUse;
  /** The adapter, which finds only the rows of sessions of this use. */
  readonly adapter: AuthConfig["adapter"];
  /** The same for tokens in a header. */
  readonly forHeader?: SessionSettings;
}

type Shared = Readonly<ReturnType<typeof ofConfiguration>>;

/** The settings of a configuration for each scheme. Cookies have other names over https, and so other keys. */
export function sessionSettings(config: ResolvedConfig, live: LiveSessions<JwtRead>) {
  const shared = ofConfiguration(config, live);
  const { rows } = shared;
  const settingsOf = (secure: boolean): SessionSettings => {
    const settings = { ...shared, ...ofScheme(config, shared, secure) };
    const forUse = (use: TokenUse) => ({ ...settings, use, adapter: rows && rowsForUse(rows, use) });
    return { ...forUse("cookie"), forHeader: forUse("header") };
  };
  return { http: settingsOf(false), https: settingsOf(true) };
}

/** The cookie beside that of the session that says how its user signed in. */
const SIGN_IN = { name: "sign-in", prefix: "__Secure-" } as const;

/** Members are merged as core merges them. */
function ofConfiguration(config: ResolvedConfig, live: LiveSessions<JwtRead>) {
  const { core, refresh, sessionCookieLimit, revocation } = config;
  const { strategy } = { strategy: core.adapter ? "database" as const : "jwt" as const, ...core.session };
  const lifetimes = lifetimesOf(core);
  // In core's order. `resolveConfig()` has set `encode` and `decode`.
  const jwt = { secret: core.secret!, maxAge: lifetimes.tokenMaxAge, ...core.jwt } as JWTOptions & {
    secret: string | string[];
  };
  if (jwt.encode === coreEncode) jwt.encode = encode;
  if (jwt.decode === coreDecode) jwt.decode = decode;
  const ownTokens = jwt.encode === encode && jwt.decode === decode;
  const store = refresh.store && new SharedStore(refresh.store, revocation?.timeout ?? 0);
  const records = revocation && new SessionRecords({
    store: store!,
    tenant: config.tenant,
    maxAge: Math.min(lifetimes.maxAge, lifetimes.tokenMaxAge),
    // The application's codec may give its tokens a longer life, but no browser keeps them for longer.
    keepFor: (ownTokens ? lifetimes.tokenMaxAge : COOKIE_MAX_AGE) * 1000 + REQUEST_LIMIT_MS,
  });
  const keepsTokens = config.keepsTokens && strategy === "jwt";
  const keepsProviderSessions = config.providerSignOut !== undefined || config.logoutTokens !== undefined;
  return {
    ...lifetimes,
    strategy,
    /** The most bytes of a cookie with a token, and the most characters of one that is looked at. */
    cookieLimit: sessionCookieLimit,
    longestToken: longestToken(sessionCookieLimit),
    /** What core hands to `encode` and `decode`, which may be the application's. */
    jwt,
    /** Whether tokens are sealed and opened as core does it: their times are as configured. */
    ownTokens,
    /** The secrets, if tokens are in core's format. */
    secrets: jwt.decode === decode ? [jwt.secret].flat() : undefined,
    /** Makes the token of a new session in a database. `resolveConfig()` has set it. */
    generateSessionToken: core.session!.generateSessionToken! as TokenGenerator,
    /** The adapter, for rows of any use. */
    rows: core.adapter,
    /** Whether session tokens have the tokens of providers (`refreshTokens`). */
    keepsTokens,
    /** Whether they have the sessions at OpenID Providers (`providerSignOut`, `backchannelLogout`). */
    keepsProviderSessions,
    /** Whether they have claims that no session may have. */
    hidesClaims: strategy === "jwt" && (keepsTokens || keepsProviderSessions),
    /** Records of sessions in a JWT, if they are `revocable`. */
    records,
    /** The application's callbacks; without one, what core's default would return is made directly. */
    callbacks: core.callbacks ?? {},
    event: core.events?.session,
    /** The sessions that are in use. */
    live,
    refresh: { ...refresh, store },
  };
}

function ofScheme(
  { core, recordsSignIns }: ResolvedConfig,
  { strategy }: Shared,
  secure: boolean,
) {
  const cookie = cookieSettings("sessionToken", core, secure);
  const keepsSignIns = recordsSignIns && strategy === "database";
  return {
    cookie,
    /** The cookies of what continues from one request of a browser to the next, besides the session. */
    csrfCookie: cookieSettings("csrfToken", core, secure),
    callbackUrlCookie: cookieSettings("callbackUrl", core, secure),
    /** The name of the cookie that says how users signed in, if it is kept beside rows of sessions. */
    signInCookie: keepsSignIns ? cookieSettings(SIGN_IN, core, secure).name : undefined,
    otherSalts: otherSalts(core, cookie.name),
    /** What tokens opened lately held. */
    cache: new LRUCache<string, KnownToken>({
      maxSize: CACHE_SIZE,
      sizeCalculation: ({ text, token }) => token.length + text.length,
    }),
  };
}

/** The salts of what core encrypts and puts inside of a cookie. Else it is the name of the cookie. */
const WITHIN_COOKIES = ["encodedState", "encodedWebauthnChallenge"];

/** The salts of all keys but those of one session cookie: what such a key sealed is ours, but no session. */
export function otherSalts(core: CoreConfig, own: string): string[] {
  const names = [core, {}].flatMap((core) => [true, false].flatMap((secure) => cookieNames(core, secure)));
  return [...new Set([...names, ...WITHIN_COOKIES])].filter((salt) => salt !== own);
}
