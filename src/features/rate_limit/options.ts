import type { IoRedisClient, NodeRedisClient } from "../../types/records.ts";

/** The option of limits on attempts to sign in. */
export interface RateLimitConfig {
  /**
   * Limits attempts to sign in, by the address of the client and by account, through `@fastify/rate-limit`, which has
   * to be installed (11.2 or later). A request that is too many gets 429 with `Retry-After`.
   * @default false, with a recommendation at boot in production
   */
  rateLimit?: boolean | RateLimitOptions;
}

/** How attempts to sign in are limited. `false` turns a limit off. */
export interface RateLimitOptions {
  /**
   * Requests from one address: sign-ins, callbacks, mails, options of passkeys and bearer tokens. The address is
   * `request.ip`, which follows Fastify's `trustProxy`; IPv6 addresses of one /64 network count as one.
   * @default 60 in a minute
   */
  address?: RateLimit | false;
  /**
   * Failed attempts to sign in to one account from one address, with a password, a sign-in link or a passkey.
   * @default 10 in an hour
   */
  accountFromAddress?: RateLimit | false;
  /**
   * Failed attempts to sign in to one account from all addresses.
   * @default 100 in a day
   */
  account?: RateLimit | false;
  /**
   * Mails with a sign-in link to one recipient.
   * @default 5 in an hour
   */
  mail?: RateLimit | false;
  /**
   * Bearer tokens for one user (`POST <mount path>/token`), in whichever session and from whichever address.
   * @default 60 in an hour
   */
  token?: RateLimit | false;
  /**
   * Attempts on one account that a process lets run at the same time. It bounds what `authorize()` computes (scrypt),
   * and how many guesses can start before the first of them has failed.
   * @default 2
   */
  concurrentPerAccount?: number;
  /**
   * Attempts from one address that a process lets run at the same time.
   * @default 8
   */
  concurrentPerAddress?: number;
  /**
   * The account that a password is for, by the fields of the form.
   * @default the value of the first field in `credentials` of the provider whose type is not `password`, `hidden`,
   * `checkbox`, `radio` or `submit`
   */
  accountName?: (fields: Readonly<Record<string, unknown>>, provider: string) => string | undefined;
  /**
   * Counts in Redis, for several processes: a client of `ioredis`, or a connected one of `redis`. While Redis fails,
   * requests are not counted, and the log says so.
   * @default each process counts in its memory
   */
  redis?: IoRedisClient | NodeRedisClient;
  /**
   * The prefix of all keys in Redis.
   * @default "fastify-authjs:limit:"
   */
  prefix?: string;
  /**
   * The plugin itself, for a bundle, in which it cannot be found by its name:
   * `import rateLimit from "@fastify/rate-limit"`.
   * @default the installed package `@fastify/rate-limit`
   */
  plugin?: (...parameters: never[]) => unknown;
}

/** A limit: `max` attempts in `timeWindow`. */
export interface RateLimit {
  /** The most attempts: 1 or more. */
  max: number;
  /** In milliseconds, from the first attempt. The first one after its end begins a new one. */
  timeWindow: number;
}

/** The limits, each with counters of its own. */
export const LIMITS = ["address", "accountFromAddress", "account", "mail", "token"] as const;
export type LimitName = typeof LIMITS[number];

/** The options with their defaults. */
export type RateLimitSettings =
  & Readonly<Required<Omit<RateLimitOptions, "redis" | "plugin">>>
  & Readonly<Pick<RateLimitOptions, "redis" | "plugin">>;
