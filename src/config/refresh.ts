/** How the refreshing of sessions is shared, as the configuration says. */
import type { JWT } from "@auth/core/jwt";
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthOptions, RefreshLock } from "../types.ts";
import { requireTimeout } from "../utils/deadline.ts";

/** How refreshing is shared, as the configuration says. */
export interface RefreshSettings {
  /** The lock, where there are several processes. */
  readonly lock: RefreshLock | undefined;
  /** Whether several processes without a lock are a mistake, where they refresh sessions. */
  readonly needsLock: boolean;
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
 * How long another process is waited for where requests to providers have no limit of their own, in
 * milliseconds.
 */
const DEFAULT_WAIT_MS = 10_000;

/**
 * The settings of a configuration.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a lock that lacks a method, or an invalid time.
 */
export function refreshSettings(config: FastifyAuthOptions): RefreshSettings {
  const { refreshLock, refreshDue, refreshGrace, providerTimeout } = config;
  return {
    lock: refreshLock ? requireLock(refreshLock) : undefined,
    needsLock: refreshLock === undefined,
    due: refreshDue,
    grace: requireTimeout("refreshGrace", refreshGrace) ?? DEFAULT_GRACE_MS,
    waitLimit: requireTimeout("providerTimeout", providerTimeout) || DEFAULT_WAIT_MS,
  };
}

const METHODS = ["acquire", "release", "put", "get"] as const;

function requireLock(lock: RefreshLock): RefreshLock {
  const missing = METHODS.filter((name) => typeof lock[name] !== "function");
  if (missing.length === 0) return lock;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `\`refreshLock\` lacks ${
      missing.map((name) => `${name}()`).join(", ")
    }: use redisLock() of "fastify-authjs/redis", or an object with these methods.`,
  );
}
