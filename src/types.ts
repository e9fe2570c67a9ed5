/**
 * The types of the contract: the session and its records, and the plugin's configuration.
 *
 * `Session`, `DefaultSession`, `User` and `Profile` are core's own, so that an application's
 * `declare module "@auth/core/types"` reaches them.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import type { JWT } from "@auth/core/jwt";
import type { DefaultSession, Profile, Session, User } from "@auth/core/types";
import type { FastifyRequest } from "fastify";
import type { ProviderType, TokenSet } from "./provider/types.ts";

export type { DefaultSession, Profile, Session, User };

/**
 * Links a user to a provider. It has the fields of the token set that an OAuth provider returned, all of them optional:
 * `access_token`, `refresh_token`, `id_token`, `scope`, `token_type`, `expires_in`, `authorization_details`.
 *
 * Core's account is one; here `type` may name either WebAuthn id, as the contract has it.
 */
export interface Account extends TokenSet {
  /** Id of the provider, such as `"github"`. */
  provider: string;
  /**
   * Id of the user at the provider: what `profile()` returned as `id` for OAuth and OpenID Connect, the address for
   * e-mail, what `authorize()` returned as `id` for credentials.
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
 * A lock and a store that several processes share, such as `redisLock()` of `fastify-authjs/redis`.
 *
 * Keys and values are opaque texts of up to some ten thousand characters in the alphabet of base64url. Values are sealed:
 * who reads the store learns no session token, and what somebody else wrote to it is not believed.
 */
export interface RefreshLock {
  /**
   * Takes the lock, unless somebody holds it.
   *
   * @param key What is locked.
   * @param owner Who takes it: only they may extend or release it.
   * @param milliseconds After how long it is free again by itself, should its owner have died.
   * @returns Whether it was taken.
   */
  acquire(key: string, owner: string, milliseconds: number): Promise<boolean>;
  /**
   * Holds the lock for longer: called every few seconds while a session is refreshed. A lock that lacks it is acquired
   * for two minutes at once.
   *
   * @param key What is locked.
   * @param owner Who holds it.
   * @param milliseconds From now on, after how long it is free again by itself.
   * @returns Whether it was still its owner's.
   */
  extend?(key: string, owner: string, milliseconds: number): Promise<boolean>;
  /** Gives the lock back, unless it is no longer its owner's. */
  release(key: string, owner: string): Promise<void>;
  /** Leaves a value for the others, for so many milliseconds. It replaces the one before. */
  put(key: string, value: string, milliseconds: number): Promise<void>;
  /** The value somebody left, if there is one. */
  get(key: string): Promise<string | null | undefined>;
}

/** What the plugin adds to core's configuration. */
export interface FastifyAuthOptions {
  /**
   * The public origin, such as `"https://app.example"`, where it is not to follow the request. Overrides `AUTH_URL`.
   *
   * @default that of `AUTH_URL`, else `request.protocol` and `request.host`
   */
  origin?: string;
  /**
   * Other origins whose pages may send the POSTs that sign in, sign out or update a session, such as that of a
   * single-page application: `["https://spa.example"]`. Scheme, host and port, without a path and without wildcards.
   * Every other cross-site POST is refused, from subdomains too. Replies still need CORS headers for such a page to read
   * them (`@fastify/cors` with `credentials: true`).
   *
   * @default [] only the public origin
   */
  trustedOrigins?: readonly string[];
  /**
   * How long a request to a provider may take, in milliseconds, its body included; 0 for no limit.
   *
   * @default 10_000
   */
  providerTimeout?: number;
  /**
   * How long a call of the database adapter may take, in milliseconds.
   *
   * @default 10_000
   */
  adapterTimeout?: number;
  /**
   * How large the session cookie may get where sessions are tokens, in bytes, with the names of its parts; 0 for no limit. A
   * sign-in whose session is larger fails with `error=SessionTooLarge`; a read or an update that would make it larger
   * leaves the cookie as it is. Either is logged with the names of the largest claims.
   *
   * Browsers send the cookie with each request, and Node refuses more than 16 KB of headers, nginx by default a line of
   * more than 8 KB, and replies with more than 4 KB: from 3.5 KB on there is a warning.
   *
   * @default 8192
   */
  sessionCookieLimit?: number;
  /**
   * Where several processes serve the same users: the lock that has one of them refresh a session whose `jwt` callback
   * does so, and by whose store the others hear of a sign-out; such as `redisLock()` of `fastify-authjs/redis`. In one
   * process this needs no lock. While it fails, sessions go on without it.
   *
   * Another process is waited for while it is heard of, and no longer than `providerTimeout` where it is not.
   *
   * @default none
   */
  refreshLock?: RefreshLock;
  /**
   * Whether the `jwt` callback is going to refresh a token with these claims. Only then is `refreshLock` taken; its store
   * is also asked when a read renews the session cookie.
   *
   * @default always, which costs each read the lock's answers
   */
  refreshDue?: (token: JWT) => boolean;
  /**
   * How long a session cookie that was just replaced still leads to its successor, in milliseconds: requests that the
   * browser sent before the new cookie came get the refreshed session and do not refresh it again. 0 for not at all.
   *
   * @default 30_000
   */
  refreshGrace?: number;
}

/** Configuration of the plugin: core's own without `raw`, and what the plugin adds, all of it optional. */
export interface FastifyAuthConfig extends Omit<AuthConfig, "raw">, FastifyAuthOptions {}

/** What `getSession()` returns: the session of the request, or null where nobody is signed in. */
export type GetSessionResult = Promise<Session | null>;

/**
 * What `getSession()` needs of a Fastify request: of any server (HTTP/1.1, HTTP/2, with TLS), any type provider and
 * any route.
 */
export type SessionRequest =
  & Pick<FastifyRequest, "headers" | "host" | "log" | "protocol" | "routeOptions">
  & {
    /** The instance of the route. */
    readonly server: object;
  };
