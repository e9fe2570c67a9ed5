/** How the refreshing of sessions is shared, as the configuration says. */
import type { JWT } from "@auth/core/jwt";
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthOptions, Store } from "../types.ts";
import { requireTimeout } from "../utils/deadline.ts";
import { isInProcess } from "../utils/in_process.ts";

/** How refreshing is shared, as the configuration says. */
export interface RefreshSettings {
  /** The store, if there are several processes. */
  readonly store: Store | undefined;
  /** Whether several processes without a store are a mistake, if they refresh sessions. */
  readonly needsStore: boolean;
  /** Whether the `jwt` callback is going to refresh a token with these claims. */
  readonly due: ((token: JWT) => boolean) | undefined;
  /** Milliseconds for which a token that was refreshed still leads to the one that took its place. */
  readonly grace: number;
  /** Milliseconds for which a process waits for another one of which nothing is heard. */
  readonly waitLimit: number;
}

/** Long enough for what a page requested together to arrive over a slow connection, in milliseconds. */
const DEFAULT_GRACE_MS = 30_000;

/**
 * How long another process is waited for if requests to providers have no limit of their own, in
 * milliseconds.
 */
const DEFAULT_WAIT_MS = 10_000;

/**
 * The settings of a configuration.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a store that lacks a method, or an invalid time.
 */
export function refreshSettings(config: FastifyAuthOptions): RefreshSettings {
  const { store, refreshDue, refreshGrace, providerTimeout } = config;
  return {
    store: store ? requireStore(store) : undefined,
    needsStore: store === undefined || (store !== false && isInProcess(store)),
    due: refreshDue,
    grace: requireTimeout("refreshGrace", refreshGrace) ?? DEFAULT_GRACE_MS,
    waitLimit: requireTimeout("providerTimeout", providerTimeout) || DEFAULT_WAIT_MS,
  };
}

const METHODS = [
  "get",
  "set",
  "lock",
  "unlock",
  "members",
  "add",
  "remove",
] as const satisfies readonly (keyof Store)[];

function requireStore(store: Store): Store {
  const missing = METHODS.filter((name) => typeof store[name] !== "function");
  if (missing.length === 0) return store;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `\`store\` lacks ${
      missing.map((name) => `${name}()`).join(", ")
    }: use redisStore() of "fastify-authjs/redis", ` +
      "memoryStore(), or an object with these methods.",
  );
}
