/** What the application and the package hand each other: sessions and accounts, requests and replies, stores. */
import type { JWT } from "@auth/core/jwt";
import type { DefaultSession, Profile, Session, User } from "@auth/core/types";
import type { FastifyRequest } from "fastify";
import type { ProviderType, TokenSet } from "../provider/types.ts";

// Core's own: an application's `declare module "@auth/core/types"` reaches them.
export type { DefaultSession, JWT, Profile, Session, User };

/** Links a user to a provider, with the fields of an OAuth provider's token set. An account of core is assignable. */
export interface Account extends TokenSet {
  /** Id of the provider, such as `"github"`. */
  provider: string;
  /** Id of the user at the provider: the `id` that `profile()` or `authorize()` returned; for e-mail the address. */
  providerAccountId: string;
  /** Kind of the provider. */
  type: ProviderType;
  /** Id of the user this account belongs to. */
  userId?: string;
  /** When `access_token` expires, in seconds since 1970; core calculates it from `expires_in`. */
  expires_at?: number;
}

/** What `getSession()` returns: the session of the request, or null if there is none. */
export type GetSessionResult = Promise<Session | null>;

/** What `getSession()` needs of a Fastify request, of any server, type provider and route. */
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

/** The part of a request that its language depends on. */
export interface LanguageRequest {
  /** The headers as Node gives them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The path and query. */
  readonly url: string;
}

/**
 * What the processes of an application share, such as `redisStore()` of `fastify-authjs/redis` or `memoryStore()`. Keys
 * are texts of any length; a value, a lock and a set may have the same key. What is written counts for `milliseconds`;
 * then it is not returned, and can be deleted. A call that fails rejects.
 */
export interface Store {
  /** The values of keys, in their order; nothing for one that has none. */
  get(keys: readonly string[]): Promise<readonly (string | null | undefined)[]>;
  /** Sets the value of a key, in place of an earlier one. */
  set(key: string, value: string, milliseconds: number): Promise<void>;
  /**
   * Acquires a lock, unless it is held.
   * @param key What is locked.
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
