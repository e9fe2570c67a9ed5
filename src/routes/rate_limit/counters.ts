/**
 * Counters of `@fastify/rate-limit`.
 *
 * It is an optional peer, so nothing here imports it by name: bundlers and Deno would want it for every
 * application.
 */
import type { FastifyInstance } from "fastify";
import { FastifyAuthError } from "../../errors.ts";
import type { RateLimit, RateLimitOptions } from "../../types.ts";
import type { RedisCommands } from "./redis_commands.ts";

/** The package, as far as it is used. */
export interface RateLimitPackage {
  /** The plugin, without `fastify-plugin`. */
  readonly fastifyRateLimit: (instance: FastifyInstance, options: object) => unknown;
  /** An address, or the network of an IPv6 address. From 11.2 on. */
  readonly normalizeIP: (address: string, ipv6Subnet?: number) => string;
}

/** Counts one kind of event, by key. */
export interface Counter {
  /** Counts one more. */
  readonly count: (key: string) => Promise<Count>;
  /** Looks, without counting. */
  readonly look: (key: string) => Promise<Count>;
}

/** Where a counter stands. */
export interface Count {
  /** Whether there were more than allowed. */
  readonly isExceeded: boolean;
  /** How many more are allowed. */
  readonly remaining: number;
  /** Seconds until it starts anew. */
  readonly ttlInSeconds: number;
}

/**
 * Loads the package.
 *
 * @param plugin The plugin of the application's own import.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` where it is not installed, or too old.
 */
export async function loadRateLimit(
  plugin: RateLimitOptions["plugin"],
  load: (name: string) => Promise<{ default: unknown }> = async (name) =>
    await import(/* webpackIgnore: true */ name),
): Promise<RateLimitPackage> {
  const loaded = plugin ?? (await loadByName(load)).default;
  const { fastifyRateLimit, normalizeIP } = loaded as Partial<RateLimitPackage>;
  if (fastifyRateLimit !== undefined && normalizeIP !== undefined) return { fastifyRateLimit, normalizeIP };
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `\`rateLimit\` needs @fastify/rate-limit 11.2 or later, and this one is older. ${INSTALL}`,
  );
}

const INSTALL = "Run `npm install @fastify/rate-limit@^11.2.0` (`pnpm add`, `yarn add`, `bun add`, or " +
  "`deno add npm:@fastify/rate-limit@^11.2.0`).";

async function loadByName(load: (name: string) => Promise<{ default: unknown }>) {
  try {
    return await load("@fastify/rate-limit");
  } catch (cause) {
    throw new FastifyAuthError(
      "FST_AUTHJS_CONFIG_INVALID",
      `\`rateLimit\` needs the package @fastify/rate-limit, which cannot be loaded. ${INSTALL} In a bundle, set ` +
        "`rateLimit: { plugin: rateLimit }` with your own import of it.",
      { cause },
    );
  }
}

/** Where counters are kept. */
export interface CounterStore {
  /** Those of Redis; without them, the memory of the process. */
  readonly commands: RedisCommands | undefined;
  /** The prefix of all keys. */
  readonly prefix: string;
}

/**
 * Events that are counted at most in the memory of a process, of each kind: with more, the oldest are
 * forgotten.
 */
const MOST_IN_MEMORY = 50_000;

/**
 * Makes a counter.
 *
 * @param name A part of its keys in Redis.
 */
export async function openCounter(
  scope: FastifyInstance,
  { fastifyRateLimit }: RateLimitPackage,
  name: string,
  limit: RateLimit,
  { commands, prefix }: CounterStore,
): Promise<Counter> {
  const made: { createRateLimit?: () => (request: KeyedRequest, options?: object) => Promise<Count> } = {};
  // The application may have registered the plugin, which decorates an instance once: its counters stay
  // apart. Its hooks and decorators are not needed, and a configuration may be read after the application has
  // started.
  const instance = Object.assign(Object.create(scope), {
    hasDecorator: () => false,
    addHook: () => {},
    decorateRequest: () => {},
    decorate: (name: keyof typeof made, value: never) => void (made[name] = value),
  });
  await fastifyRateLimit(instance, {
    ...limit,
    global: false,
    cache: MOST_IN_MEMORY,
    keyGenerator: ({ key }: KeyedRequest) => key,
    ...(commands && { redis: commands, nameSpace: `${prefix}${name}:` }),
  });
  const counter = made.createRateLimit!();
  return {
    count: (key) => counter({ key, routeOptions: {} }),
    look: (key) => counter({ key, routeOptions: {} }, { increment: false }),
  };
}

/** What the package reads of a request. */
interface KeyedRequest {
  readonly key: string;
  readonly routeOptions: object;
}
