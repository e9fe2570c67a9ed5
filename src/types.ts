/**
 * The types of the contract: the session and its records, and the plugin's configuration.
 *
 * `Session`, `DefaultSession`, `User` and `Profile` are core's own, so that an application's
 * `declare module "@auth/core/types"` reaches them.
 */
import type { AuthConfig } from "@auth/core";
import type { JWT } from "@auth/core/jwt";
import type { DefaultSession, PagesOptions, Profile, Session, User } from "@auth/core/types";
import type { FastifyRequest } from "fastify";
import type { Texts } from "./pages/texts/texts.ts";
import type { ProviderType, TokenSet } from "./provider/types.ts";

export type { DefaultSession, JWT, Profile, Session, User };

/**
 * Links a user to a provider. It may have the fields of an OAuth provider's token set: `access_token`,
 * `refresh_token`, `id_token`, `scope`, `token_type`, `expires_in`, `authorization_details`.
 *
 * An account of core is assignable to it.
 */
export interface Account extends TokenSet {
  /** Id of the provider, such as `"github"`. */
  provider: string;
  /**
   * Id of the user at the provider: what `profile()` returned as `id` for OAuth and OpenID Connect, the
   * address for e-mail, what `authorize()` returned as `id` for credentials.
   */
  providerAccountId: string;
  /** Kind of the provider. */
  type: ProviderType;
  /** Id of the user this account belongs to. */
  userId?: string;
  /** When `access_token` expires, in seconds since 1970; core calculates it from `expires_in`. */
  expires_at?: number;
}

/**
 * What the processes of an application share, such as `redisStore()` of `fastify-authjs/redis` or
 * `memoryStore()`. Keys are texts of any length; values, locks and sets are apart. `milliseconds` is how long
 * what is written counts: it is not returned after that, and can be deleted. A call that fails rejects.
 */
export interface Store {
  /** The values of keys, in their order; nothing for one that has none. */
  get(keys: readonly string[]): Promise<readonly (string | null | undefined)[]>;
  /** Sets the value of a key, in place of an earlier one. */
  set(key: string, value: string, milliseconds: number): Promise<void>;
  /**
   * Acquires a lock, unless it is held.
   *
   * @param key What is locked. It has no value: locks are apart from values.
   * @param owner The new owner: only it may release the lock.
   * @param milliseconds The time after which the lock expires, if its owner has died.
   * @returns Whether it was acquired.
   */
  lock(key: string, owner: string, milliseconds: number): Promise<boolean>;
  /** Releases a lock, if its owner still holds it. */
  unlock(key: string, owner: string): Promise<void>;
  /** The members of a set that still count, in any order. */
  members(key: string): Promise<readonly string[]>;
  /** Adds a member to a set. */
  add(key: string, member: string, milliseconds: number): Promise<void>;
  /** Removes a member of a set. */
  remove(key: string, member: string): Promise<void>;
}

/** What the plugin adds to core's configuration. */
export interface FastifyAuthOptions {
  /**
   * The public origin, such as `"https://app.example"`. Overrides `AUTH_URL`. If users see the auth routes
   * at another path than Fastify, with that path: `"https://app.example/api/auth"` behind a proxy that
   * removes `/api`.
   *
   * @default that of `AUTH_URL`, else `request.protocol` and `request.host`
   */
  origin?: string;
  /**
   * Other origins whose pages may send the POSTs that sign in, sign out or update a session, such as that of
   * a single-page application: `["https://spa.example"]`. Scheme, host and port, without a path and without
   * wildcards. Every other cross-site POST is refused, also from subdomains. To read the replies, such a page
   * needs CORS headers (`@fastify/cors` with `credentials: true`).
   *
   * @default [] only the public origin
   */
  trustedOrigins?: readonly string[];
  /**
   * The origins of the deployments whose sign-ins the stable deployment of `redirectProxyUrl` hands on to them:
   * `["https://*.preview.example"]`. Scheme, host and port, without a path. A `*` stands for letters, digits
   * and hyphens of one label, left of the last two labels: put a domain there whose names only you give out, since
   * who has one of these names gets the codes of sign-ins. On the stable deployment it is required.
   *
   * @default [] none
   */
  redirectProxyOrigins?: readonly string[];
  /**
   * Ids of providers that may be reached without TLS if `NODE_ENV` is `production`: an identity provider
   * on a private network, such as `["keycloak"]` for `http://keycloak:8080/realms/staff`. An attacker who can
   * read or change traffic between this server and the provider can then sign in as any of its users. At boot
   * a warning names them. No provider of any other id is reached without TLS.
   *
   * @default [] every provider is reached over https
   */
  insecureProviders?: readonly string[];
  /**
   * How long a request to a provider may take, in milliseconds, its body included; 0 for no limit.
   *
   * @default 10_000
   */
  providerTimeout?: number;
  /**
   * How long a call of the adapter may take, in milliseconds.
   *
   * @default 10_000
   */
  adapterTimeout?: number;
  /**
   * How large the session cookie of the "jwt" strategy may get, in bytes, with the names of its chunks; 0 for
   * no limit. A sign-in whose session is larger fails with `error=SessionTooLarge`; a read or an update that
   * would exceed the limit leaves the cookie as it is. Either is logged with the names of the largest claims.
   *
   * Browsers send the cookie with each request. Node refuses more than 16 KB of headers, nginx by default a
   * header line of more than 8 KB, and replies with more than 4 KB of headers. From 3.5 KB on there is a
   * warning.
   *
   * @default 8192
   */
  sessionCookieLimit?: number;
  /**
   * How much of the session tokens of the "jwt" strategy that come again and again is kept in memory, in
   * bytes of tokens and claims; 0 for none. It takes two and a half times as much memory. A token that is kept
   * is not decrypted again. A user takes some 700 bytes, and those with claims of their own more; those read
   * last are kept.
   *
   * @default 4194304
   */
  tokenCacheSize?: number;
  /**
   * What several processes that serve the same users share, such as `redisStore()` of
   * `fastify-authjs/redis`. One of them refreshes a session in the `jwt` callback, and the others get the
   * result and learn of a sign-out. A sign-in link that several processes are sent at once signs in at one of
   * them, also if the adapter looks it up and deletes it in two steps, and of first sign-ins of one user at
   * the same time one creates the user; one that was broken off goes on at any of them. One process needs no
   * store, unless sessions are `revocable`. While the store fails, sessions are read, and links used, without
   * it.
   *
   * A process waits for `providerTimeout` (10 seconds if that is 0) for the one that refreshes, and goes on
   * with the session as it is if that takes longer. The lock of a process that died expires after twice that
   * time.
   *
   * If sessions may be refreshed and several processes are known of, by `node:cluster` or PM2, a warning
   * recommends a store that they share. `false` silences that.
   *
   * @default none
   */
  store?: Store | false;
  /**
   * Whether each read of a session in a JWT asks the `store` whether it has ended: `listSessions()` and
   * `revokeSession()` of `createAuth()` then work without a database, and a sign-out ends copies of the
   * cookie, too. While the store fails, `getSession()` returns `null` and guards respond with 503. These calls
   * have the timeout of `adapterTimeout`.
   *
   * @default false: a JWT is valid until it expires
   */
  revocable?: boolean;
  /**
   * Whether the `jwt` callback would refresh a token with these claims. The lock of `store` is acquired only then;
   * the store is also read when a session cookie is renewed.
   *
   * @default always, so that each read acquires the lock
   */
  refreshDue?: (token: JWT) => boolean;
  /**
   * How long a replaced session cookie still gets the refreshed session, in milliseconds, for requests that
   * the browser sent before it had the new cookie: they do not refresh the session again. 0 to turn this off.
   *
   * @default 30_000
   */
  refreshGrace?: number;
  /**
   * Whether a sign-in with credentials creates a session in the database, as every other sign-in does with
   * the strategy "database". `authorize()` must then return a user of the adapter, with its `id`; with any
   * other user the sign-in fails and the log says why. The `jwt` callback is not called.
   *
   * Core makes a JWT after such a sign-in, so without this option credentials need the strategy "jwt".
   *
   * @default false
   */
  credentialsDatabaseSessions?: boolean;
  /**
   * Whether the tokens that OAuth and OpenID Connect providers issue are kept for `auth.getAccessToken()`,
   * which refreshes an access token that has expired: in the session token, which is encrypted, or with the
   * strategy "database" in the row of the account. The adapter then needs `withAccountList()` and
   * `withAccountUpdate()`.
   *
   * @default false
   */
  refreshTokens?: boolean;
  /**
   * Whether bearer tokens are accepted in `Authorization: Bearer`, for clients without cookies, such as
   * mobile and command-line programs. `POST <mount path>/token` then issues one to a signed-in user. `maxAge`
   * is how long it lives, in seconds, at most as long as a session; it is not renewed. Such a header counts
   * in place of the session cookie.
   *
   * @default false
   */
  bearer?: boolean | { maxAge?: number };
  /**
   * Limits attempts to sign in, by the address of the client and by account, through `@fastify/rate-limit`,
   * which has to be installed (11.2 or later). A request that is too many gets 429 with `Retry-After`.
   *
   * @default false, with a recommendation at boot in production
   */
  rateLimit?: boolean | RateLimitOptions;
  /**
   * Whether it is kept how and when the users of sessions signed in, by the claims `auth_time`, `acr` and
   * `amr` of the ID token, for guards with `maxAge`, `acr` or `amr`: in the session token, or with the
   * strategy "database" in a cookie that is signed together with it.
   *
   * @default false
   */
  stepUp?: boolean;
  /**
   * The name of the tenant that the configuration is for, which must stay the same: "acme". Sessions,
   * cookies, CSRF tokens and mailed links are then valid for this tenant alone, also if others have the
   * same secret, host and database, and the names of the cookies have the tenant in them. Users who were
   * signed in before it was set have to sign in again. A configuration that a function returns for a request
   * must have one.
   *
   * @default none
   */
  tenant?: string;
  /**
   * Whether a sign-out also ends the user's session at the OpenID Provider (OpenID Connect RP-Initiated
   * Logout 1.0): the browser goes there, and comes back to `<mount path>/signed-out`, which has to be
   * registered there as a post-logout redirect URI. The session here ends first, whatever the provider does.
   *
   * The ID token is kept for that in the session token, which is encrypted and gets larger by it; with
   * sessions in a database it is taken from the table of accounts.
   *
   * @default false
   */
  providerSignOut?: boolean | ProviderSignOutOptions;
  /**
   * Whether OpenID Providers may end sessions of their users with a POST to
   * `<mount path>/backchannel-logout/<provider>` (OpenID Connect Back-Channel Logout 1.0). Needs a
   * `store` and `revocable`, or sessions in a database and an adapter with `listSessionsByUserId()`
   * (`withSessionList()`).
   *
   * @default false
   */
  backchannelLogout?: boolean;
  /**
   * Whether the signature of an ID token is verified at each sign-in with an OpenID Provider (OpenID Connect
   * Core 1.0, section 3.1.3.7, numbers 6 to 8): with a key that its discovery document names, or that is at
   * the provider's `jwks_endpoint`, or with the client secret if `client.id_token_signed_response_alg` is
   * `HS256`, `HS384` or `HS512`. Without that setting the algorithm is RS256, unless the document lists only
   * others. The keys are kept for ten minutes, and fetched again for one that is not among them. A sign-in with
   * a wrong signature fails with `error=Configuration`, and the log says why; one whose keys cannot be had is a
   * 503.
   *
   * With `true` a provider that publishes no keys is refused. By default TLS to its token endpoint stands for
   * the signature then, as that section allows, and with `false` for every provider, which is warned about.
   *
   * @default verified, if the provider publishes keys
   */
  verifyIdTokens?: boolean;
  /**
   * Whether a mailed sign-in link opens a page that confirms the sign-in: at once in the browser that asked
   * for the link, with one click in any other. Programs that open links in mails, to look for viruses or to
   * show a preview, then do not use the link up. With `false` opening the link signs in.
   *
   * @default true
   */
  emailConfirm?: boolean;
  /**
   * Writes the mail with a sign-in link, in place of the built-in one. Not for a provider with a
   * `sendVerificationRequest` of its own, and not for Loops, which has templates.
   *
   * @default a mail in the language of the request
   */
  emailMessage?: (params: EmailMessageParams) => EmailMessage | Promise<EmailMessage>;
  /**
   * The name of the site, for the built-in pages and mails.
   *
   * @default the host of the public origin
   */
  siteName?: string;
  /**
   * The language of the built-in pages and mails: one for all of them, as a language tag (BCP 47), or a
   * function that chooses it for a request and may return `undefined`, or a promise.
   *
   * @default that of `?ui_locales=`, else of `Accept-Language`, else English
   */
  language?: string | ((request: LanguageRequest) => string | undefined | Promise<string | undefined>);
  /**
   * Texts that replace those of the built-in pages and mails, by language tag:
   * `{ en: { "signIn.title": "Welcome" } }`. A language that is not built in is added; texts that it lacks are
   * those of its built-in language (`pt` for `pt-BR`), else English.
   *
   * @default {} the built-in texts
   */
  texts?: Readonly<Record<string, Partial<PageTexts>>>;
}

/** How a sign-out ends the session at the OpenID Provider. */
export interface ProviderSignOutOptions {
  /**
   * Whether every sign-out does, also the one of the built-in page. With `false` only `auth.signOut()` with
   * `providerSignOut: true`.
   *
   * @default true
   */
  byDefault?: boolean;
  /**
   * Whether the ID token is kept and sent to the provider as `id_token_hint`. Without it many providers ask
   * the user whether to sign out, and some refuse to come back.
   *
   * @default true
   */
  idTokenHint?: boolean;
}

/**
 * What every event on the channels of `node:diagnostics_channel` has. None has a token, a code or an e-mail
 * address.
 */
export interface AuthEvent {
  /** When the request came to its handler: milliseconds since 1970. */
  readonly time: number;
  /** Fastify's id of the request, which its lines in the log have as `reqId`; none without a request. */
  readonly requestId?: string;
  /** The mount path of the auth routes as users see it; none without a request. */
  readonly mountPath?: string;
  /** The address of the client: Fastify's `request.ip`. */
  readonly address?: string;
  /** The `User-Agent` header, at most 512 characters of it. */
  readonly userAgent?: string;
  /** The id of the provider; for a sign-out only if that provider asked for it (`backchannelLogout`). */
  readonly provider?: string;
}

/** `fastify-authjs:sign-in`: a user has signed in. */
export interface SignInEvent extends AuthEvent {
  /** The id of the user. Without an adapter core makes a new one for each sign-in with OAuth. */
  readonly userId?: string;
  /** The id of the account at the provider; none for e-mail, where it is the address. */
  readonly accountId?: string;
  /** Whether the adapter has created the user. */
  readonly isNewUser: boolean;
}

/** `fastify-authjs:sign-in-failure`: a sign-in was refused or failed. */
export interface SignInFailureEvent extends AuthEvent {
  /**
   * The type of the error of Auth.js, such as `"CredentialsSignin"` or `"InvalidCheck"`, or the code of a
   * `FastifyAuthError`, such as `"FST_AUTHJS_TOO_MANY_REQUESTS"`.
   */
  readonly reason: string;
  /**
   * The `code` of a `CredentialsSignin`, what is wrong with a CSRF token, or `"sign_in_expired"` for a
   * callback of a sign-in that is not under way any more.
   */
  readonly code?: string;
  /** The HTTP status for a client that asks for one. */
  readonly status: number;
}

/** `fastify-authjs:sign-out`: a user has signed out, or an OpenID Provider has ended the session. */
export interface SignOutEvent extends AuthEvent {
  /** The id of the user; none if the adapter's `deleteSession()` returns nothing. */
  readonly userId?: string;
}

/**
 * `fastify-authjs:link`: an account of a provider was linked to a user. A new user's first account is, too.
 */
export interface LinkEvent extends AuthEvent {
  /** The id of the user. */
  readonly userId?: string;
  /** The id of the account at the provider. */
  readonly accountId?: string;
}

/**
 * `fastify-authjs:unlink`: an account of a provider was unlinked from the signed-in user
 * (`auth.unlinkAccount()`).
 */
export interface UnlinkEvent extends AuthEvent {
  /** The id of the user. */
  readonly userId?: string;
  /** The id of the account at the provider. */
  readonly accountId?: string;
}

/**
 * `fastify-authjs:access-refused`: a guard refused a request of a user who is signed in, or one with a bearer
 * token. A request without a session is none.
 */
export interface AccessRefusedEvent extends AuthEvent {
  /**
   * `FST_AUTHJS_FORBIDDEN` (roles, `authorize`), `FST_AUTHJS_STEP_UP_REQUIRED` (`maxAge`, `acr`, `amr`), or
   * `FST_AUTHJS_UNAUTHENTICATED` for a bearer token that is not valid.
   */
  readonly reason: string;
  /** The path of the route as it was declared, such as `/orders/:id`. */
  readonly route?: string;
  /** The id of the user, if the session has it as `user.id`. */
  readonly userId?: string;
}

/** `fastify-authjs:revoke`: a session was ended, and not by a sign-out. */
export interface RevokeEvent extends AuthEvent {
  /**
   * `replaced`: its browser has signed in again. `revoked`: by `auth.revokeSession()`, or by
   * `auth.revokeSessions()`, which is one event for all sessions of a user. They act without a request.
   */
  readonly reason: "replaced" | "revoked";
  /** The id of the user of the session that ended; none for a session in a database that was replaced. */
  readonly userId?: string;
}

/** The events of the audit trail, by the channel of `node:diagnostics_channel` that they are published on. */
export interface AuthEvents {
  /** A user has signed in. */
  "fastify-authjs:sign-in": SignInEvent;
  /** A sign-in was refused or failed. */
  "fastify-authjs:sign-in-failure": SignInFailureEvent;
  /** A user has signed out. */
  "fastify-authjs:sign-out": SignOutEvent;
  /** An account was linked to a user. */
  "fastify-authjs:link": LinkEvent;
  /** An account was unlinked from a user. */
  "fastify-authjs:unlink": UnlinkEvent;
  /** A session was ended, and not by a sign-out. */
  "fastify-authjs:revoke": RevokeEvent;
  /** A guard refused a request. */
  "fastify-authjs:access-refused": AccessRefusedEvent;
}

/**
 * What subscribers of the tracing channels get: `tracing:<name>:start` before, `tracing:<name>:asyncEnd`
 * after, and `tracing:<name>:error` if it failed, each time the same object. No operation has a token, a
 * code or an e-mail address.
 */
export interface Operation {
  /**
   * After the end: what went wrong, as one word of few: the type of an error of Auth.js, the code of a
   * `FastifyAuthError`, or the name of an error. Missing if nothing did.
   */
  errorType?: string;
  /**
   * A subscriber of `start` that keeps a context, such as that of a span, sets this to run the operation
   * within it. One that is there already has to be called, too.
   */
  run?: <Result>(work: () => Result) => Result;
}

/** `fastify-authjs.action`: a request to an auth route, or an action of `createAuth()`. */
export interface AuthActionOperation extends Operation {
  /**
   * What it does: `"signin"`, `"callback"`, `"signout"`, `"session"`, `"update"`, `"token"`,
   * `"webauthn-options"`, `"csrf"`, `"providers"`, `"error"`, `"verify-request"`, and `"signin-page"` and
   * `"signout-page"`.
   */
  readonly action: string;
  /** The id of the provider that it is about. */
  readonly provider?: string;
  /** The type of that provider: `"oauth"`, `"oidc"`, `"email"`, `"credentials"`, `"webauthn"`. */
  readonly providerType?: string;
  /** Fastify's id of the request. */
  readonly requestId: string;
  /** The mount path of the auth routes as users see it. */
  readonly mountPath: string;
  /** Whether the application's own code asked (`auth.signIn()`), and no request to an auth route. */
  readonly fromApplication: boolean;
  /** After a failure: the HTTP status for a client that asks for one. */
  readonly status?: number;
}

/** What a request to a provider is for. */
export type ProviderEndpoint = "discovery" | "jwks" | "other" | "revocation" | "token" | "userinfo";

/**
 * `fastify-authjs.provider-request`: a request to a provider of OAuth or OpenID Connect, its body included.
 */
export interface ProviderRequestOperation extends Operation {
  /** The id of the provider. */
  readonly provider: string;
  /** What it is for. */
  readonly endpoint: ProviderEndpoint;
  /** The HTTP method. */
  readonly method: string;
  /** The address, with `[redacted]` in place of the values of its parameters. */
  readonly url: string;
  /**
   * After the end: the HTTP status; missing if there was no response. `errorType` is the status from 400
   * on, else `"timeout"`, `"unreachable"`, or what is wrong with the request.
   */
  readonly status?: number;
}

/** `fastify-authjs.adapter-call`: a call of the database adapter. */
export interface AdapterCallOperation extends Operation {
  /**
   * The method, such as `"getUserByEmail"`. `errorType` is `"unanswered"` for a database that cannot be
   * reached or takes too long, `"conflict"` if there is a row with the same unique key, `"refused"` if
   * it refused the query for another reason, else `"failed"`.
   */
  readonly method: string;
}

/**
 * `fastify-authjs:session-read`: the session of a request was read, once however often the request asked for
 * it.
 */
export interface SessionReadEvent {
  /** How sessions are kept. */
  readonly strategy: "jwt" | "database";
  /** `"session"`, `"none"`, or `"unknown"` if the adapter or a store failed. */
  readonly result: "session" | "none" | "unknown";
  /** How long it took, in seconds. */
  readonly duration: number;
}

/** The part of a client of the package `ioredis` that is used. */
export interface IoRedisClient {
  /** Sends a command. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** The part of a connected client of the package `redis` that is used. */
export interface NodeRedisClient {
  /** Sends a command. */
  sendCommand(args: string[]): Promise<unknown>;
}

/** So many in a time. */
export interface RateLimit {
  /** How many there may be: 1 or more. */
  max: number;
  /** The time in milliseconds. It starts with the first one, and with the first one after it. */
  timeWindow: number;
}

/** How attempts to sign in are limited. `false` turns a limit off. */
export interface RateLimitOptions {
  /**
   * Requests from one address: sign-ins, callbacks, mails, options of passkeys and bearer tokens. The address
   * is `request.ip`, which follows Fastify's `trustProxy`; IPv6 addresses of one /64 network count as one.
   *
   * @default 60 in a minute
   */
  address?: RateLimit | false;
  /**
   * Failed attempts to sign in to one account from one address, with a password, a mailed link or a passkey.
   *
   * @default 10 in an hour
   */
  accountFromAddress?: RateLimit | false;
  /**
   * Failed attempts to sign in to one account from all addresses.
   *
   * @default 100 in a day
   */
  account?: RateLimit | false;
  /**
   * Mails with a sign-in link to one recipient.
   *
   * @default 5 in an hour
   */
  mail?: RateLimit | false;
  /**
   * Bearer tokens for one user (`POST <mount path>/token`), in whichever session and from whichever address.
   *
   * @default 60 in an hour
   */
  token?: RateLimit | false;
  /**
   * Attempts on one account that a process lets run at the same time. It bounds what `authorize()` computes
   * (scrypt), and how many guesses can start before the first of them has failed.
   *
   * @default 2
   */
  concurrentPerAccount?: number;
  /**
   * Attempts from one address that a process lets run at the same time.
   *
   * @default 8
   */
  concurrentPerAddress?: number;
  /**
   * The account that a password is for, by the fields of the form.
   *
   * @default the value of the first field in `credentials` of the provider that is no password
   */
  accountName?: (fields: Readonly<Record<string, unknown>>, provider: string) => string | undefined;
  /**
   * Counts in Redis, for several processes: a client of `ioredis`, or a connected one of `redis`. While Redis
   * fails, requests are not counted, and the log says so.
   *
   * @default each process counts in its memory
   */
  redis?: IoRedisClient | NodeRedisClient;
  /**
   * The prefix of all keys in Redis.
   *
   * @default "fastify-authjs:limit:"
   */
  prefix?: string;
  /**
   * The plugin itself, for a bundle, in which it cannot be found by its name:
   * `import rateLimit from "@fastify/rate-limit"`.
   *
   * @default the installed package `@fastify/rate-limit`
   */
  plugin?: (...parameters: never[]) => unknown;
}

/** Every text of the built-in pages and mails, in one language. */
export type PageTexts = Texts;

/** The part of a request that its language depends on. */
export interface LanguageRequest {
  /** The headers as Node gives them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The path and query. */
  readonly url: string;
}

/** A mail, without its sender and recipient. */
export interface EmailMessage {
  /** The subject. */
  subject: string;
  /** For programs that show no HTML. */
  text: string;
  /** The HTML document. */
  html: string;
}

/** What a mail with a sign-in link is written from. */
export interface EmailMessageParams {
  /** The address that the mail goes to. */
  readonly identifier: string;
  /** The sign-in link. */
  readonly url: string;
  /** When the link ends. */
  readonly expires: Date;
  /** The name of the site: `siteName`, else the host of the link. */
  readonly site: string;
  /** The language of the user, as a language tag (BCP 47). */
  readonly language: string;
  /** The built-in mail, to change only a part of it. */
  readonly message: EmailMessage;
}

/** The pages of an application. */
export interface FastifyAuthPages extends Partial<PagesOptions> {
  /**
   * The page that a mailed sign-in link opens, if `emailConfirm` is on. Its query has the `provider`,
   * `token`, `email` and `callbackUrl` of the link. Its form posts `token`, `email` and `callbackUrl` with a
   * `csrfToken` to `<mount path>/callback/<provider>`.
   *
   * @default a page that is built in
   */
  confirmEmail?: string;
  /**
   * A stylesheet for the built-in pages, which is loaded after their own: a path such as `"/auth.css"`, or a
   * URL.
   *
   * @default none
   */
  style?: string;
}

/** The configuration of the plugin: core's without `raw`, and the options of the plugin. */
export interface FastifyAuthConfig extends Omit<AuthConfig, "pages" | "raw">, FastifyAuthOptions {
  /**
   * The application's own pages, each a path that begins with `/` or a URL. Every page that is not named is
   * built in.
   *
   * @default {} all of them are built in
   */
  pages?: FastifyAuthPages;
}

/**
 * Chooses the configuration for a request, in place of one that does not change:
 * `(request) => tenants.get(request.host)`. It is called once for each request, before its body is read. Each
 * configuration needs a `tenant`, and is copied and checked with its first request: return the same object
 * for as long as nothing in it changes. If there is none, auth routes and guards answer with 404, and
 * `getSession()` returns `null`; if the function throws, they answer with 503, or the `statusCode` of the
 * error.
 */
export type ConfigForRequest<Config = FastifyAuthConfig> = (
  request: FastifyRequest,
) => Config | null | undefined | PromiseLike<Config | null | undefined>;

/** What `getSession()` returns: the session of the request, or null if there is none. */
export type GetSessionResult = Promise<Session | null>;

/**
 * What `getSession()` needs of a Fastify request: of any server (HTTP/1.1, HTTP/2, with TLS), any type
 * provider and any route.
 */
export type SessionRequest =
  & Pick<FastifyRequest, "headers" | "host" | "log" | "protocol" | "routeOptions">
  & {
    /** The instance of the route. */
    readonly server: object;
  };

/** The part of a request that a guard reads, so that it fits instances of every type. */
export type GuardedRequest = Pick<
  FastifyRequest,
  "headers" | "host" | "log" | "method" | "originalUrl" | "protocol" | "routeOptions" | "server" | "url"
>;

/** The part of a reply that a guard uses. */
export interface GuardedReply {
  /** As Fastify's. */
  header(name: string, value: string): unknown;
  /** As Fastify's. */
  getHeader(name: string): number | string | string[] | undefined;
  /** As Fastify's. */
  redirect(url: string, statusCode?: number): unknown;
}
