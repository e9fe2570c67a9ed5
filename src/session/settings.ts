/** What sessions need of a configuration, worked out once: core works it out for each request. */
import type { AuthConfig } from "@auth/core";
import type { JWTOptions } from "@auth/core/jwt";
import { LRUCache } from "lru-cache";
import { strategyOf } from "../config/adapter_problem.ts";
import { isAsync } from "../config/callbacks.ts";
import type { CookieDefinition, CoreConfig } from "../config/cookies.ts";
import { cookieNames, cookieSettings } from "../config/cookies.ts";
import type { TokenGenerator } from "../config/core_config.ts";
import type { Lifetimes, TokenLife } from "../config/lifetime.ts";
import { COOKIE_MAX_AGE, EPHEMERAL_MAX_AGE, lifetimesOf, newExpiry } from "../config/lifetime.ts";
import type { ResolvedConfig } from "../config/resolve.ts";
import type { SessionHooks } from "../features/feature.ts";
import { decode, encode, type Opened } from "../jwt/jwe.ts";
import { LONGEST_BY_DEFAULT, LONGEST_TOKEN } from "./cookie.ts";
import { type LiveSessions, REQUEST_LIMIT_MS } from "./live_sessions.ts";
import { isEphemeral, rowsForUse, type TokenUse } from "./name.ts";
import { placeOf } from "../store/sealed_value.ts";
import type { SharedStore } from "../store/shared_store.ts";
import { lazy } from "../utils/later.ts";

/** Bytes of tokens and claims that are remembered: those of some 8,000 users. */
const CACHE_SIZE = 2 ** 23;

/** How to read and renew the sessions of one configuration over one scheme (http or https). */
export interface SessionSettings extends Readonly<ReturnType<typeof ofScheme>> {
  readonly use: TokenUse;
  /** The adapter, which finds only the rows of sessions of this use. */
  readonly adapter: AuthConfig["adapter"];
  readonly forHeader?: SessionSettings;
}

interface InUse {
  readonly config: ResolvedConfig;
  readonly hooks: readonly SessionHooks[];
  readonly live: LiveSessions;
  readonly store: SharedStore | undefined;
}

/** The settings of a configuration for https (`secure`) or http: cookies have other names, and so other keys. */
export function sessionSettings(auth: InUse, secure: boolean): SessionSettings {
  const settings = ofScheme(auth, secure);
  const forUse = (use: TokenUse) => ({ ...settings, use, adapter: settings.rows && rowsForUse(settings.rows, use) });
  return { ...forUse("cookie"), forHeader: forUse("header") };
}

function codecOf(core: CoreConfig) {
  // In core's order.
  const jwt = { secret: core.secret!, ...core.jwt } as JWTOptions & { secret: string | string[] };
  return { jwt, ownTokens: jwt.encode === encode && jwt.decode === decode };
}

/** Milliseconds for which a token of a session may be valid, and a request with it under way. */
export function longestUse(core: CoreConfig): number {
  // The application's codec may give its tokens a longer life, but no browser keeps them for longer.
  const seconds = codecOf(core).ownTokens ? lifetimesOf(core).tokenMaxAge : COOKIE_MAX_AGE;
  return seconds * 1000 + REQUEST_LIMIT_MS;
}

function ofScheme({ config, hooks, live, store }: InUse, secure: boolean) {
  const { core, refresh } = config;
  const cookieLimit = Math.min(config.sessionCookieLimit, LONGEST_TOKEN);
  const strategy = strategyOf(core);
  const { jwt, ownTokens } = codecOf(core);
  const hiddenClaims = strategy === "jwt" ? hooks.flatMap(({ hiddenClaims = [] }) => hiddenClaims) : [];
  const cookieOf = (cookie: Parameters<typeof cookieSettings>[0]) => cookieSettings(cookie, core, secure);
  const cookie = cookieOf("sessionToken");
  const stateCookie = cookieOf("state");
  return {
    ...lifetimesOf(core),
    ephemeral: lifetimesOf(core, config.ephemeralMaxAge ?? EPHEMERAL_MAX_AGE),
    strategy,
    cookie,
    /** The most bytes of a cookie with a token, and the most characters of one that is looked at. */
    cookieLimit,
    longestToken: Math.max(LONGEST_BY_DEFAULT, cookieLimit),
    /** The cookies of what continues from one request of a browser to the next, besides the session. */
    csrfCookie: cookieOf("csrfToken"),
    callbackUrlCookie: cookieOf("callbackUrl"),
    /** By its name those of the attempts to sign in begin. */
    stateCookie,
    /** How they are sealed, and opened: with the secrets by which core seals the `state`. */
    attempts: lazy(() => [jwt.secret].flat().map((secret) => placeOf(secret, `sign-in ${stateCookie.name}.`))),
    /** A cookie of our own, and one that is sent wherever that of the session is. */
    ownCookie: cookieOf,
    besideCookie: (definition: CookieDefinition) => ({ name: cookieOf(definition).name, options: cookie.options }),
    jwt,
    /** Whether tokens are sealed and opened as core does it: their times are as configured. */
    ownTokens,
    secrets: jwt.decode === decode ? [jwt.secret].flat() : undefined,
    otherSalts: otherSalts(core),
    cache: new LRUCache<string, Opened & TokenLife & { readonly token: string }>({
      maxSize: CACHE_SIZE,
      // The claims take about as much as the token.
      sizeCalculation: ({ token }) => 2 * token.length,
    }),
    generateSessionToken: core.session!.generateSessionToken! as TokenGenerator,
    rows: core.adapter,
    /** The application's callbacks; without one, what core's default would return is made directly. */
    callbacks: core.callbacks ?? {},
    event: core.events?.session,
    hooks,
    /** Whether a read calls functions of the application that may wait, such as for the session that it reads. */
    mayWait: strategy === "database" || !ownTokens || store !== undefined || core.events?.session !== undefined ||
      [core.callbacks?.jwt, core.callbacks?.session].some(isAsync),
    /** Whether a read may refresh what the session has: then requests with its tokens take turns. */
    isShared: (strategy === "jwt" && core.callbacks?.jwt !== undefined) || hooks.some(({ refreshes }) => refreshes),
    /** Leaves out the claims that no session may have: a callback may put all of them into one. */
    leaveOut: hiddenClaims.length > 0
      ? (key: string, value: unknown) => hiddenClaims.includes(key) ? undefined : value
      : undefined,
    live,
    refresh: { ...refresh, store },
  };
}

/** The lifetimes of a session, by its name or the token of its row. */
export function lifetimesFor(name: string, settings: SessionSettings): Lifetimes {
  return isEphemeral(name) ? settings.ephemeral : settings;
}

/** Until when a browser keeps its cookie, which is written now; `undefined` for as long as it runs. */
export function cookieEnd(name: string, settings: SessionSettings, end?: Date): Date | undefined {
  return isEphemeral(name) ? undefined : end ?? newExpiry(settings);
}

/** When a row ends, or its cookie if that is sooner: both were written together. A token for a header has none. */
export function rowEnd(expires: Date, name: string, settings: SessionSettings): Date {
  const beyond = settings.use === "header" ? 0 : lifetimesFor(name, settings).maxAge - COOKIE_MAX_AGE;
  return new Date(expires.valueOf() - Math.max(0, beyond) * 1000);
}

/** The salts of what core encrypts and puts inside of a cookie. Else it is the name of the cookie. */
const WITHIN_COOKIES = ["encodedState", "encodedWebauthnChallenge"];

/** The salts of all our keys: what one sealed that is not of the session cookie is ours, but no session. */
export function otherSalts(core: CoreConfig): string[] {
  const names = [core, {}].flatMap((core) => [true, false].flatMap((secure) => cookieNames(core, secure)));
  return [...new Set([...names, ...WITHIN_COOKIES])];
}
