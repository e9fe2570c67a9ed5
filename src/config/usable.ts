/**
 * A configuration that both we and core have checked.
 *
 * @module
 */
import { resolveConfig, type ResolvedConfig } from "./config.ts";
import { coreProblem } from "../core/config_problem.ts";
import type { FastifyAuthError } from "../errors.ts";
import type { Log } from "../logger.ts";
import type { FastifyAuthConfig } from "../types.ts";

/** What core says of each configuration, asked once. */
const verdicts = new WeakMap<ResolvedConfig, Promise<FastifyAuthError | undefined>>();

async function problemOf(resolved: ResolvedConfig): Promise<FastifyAuthError | undefined> {
  if (resolved.problem !== undefined) return resolved.problem;
  let verdict = verdicts.get(resolved);
  if (verdict === undefined) {
    verdict = coreProblem(resolved);
    verdicts.set(resolved, verdict);
  }
  const problem = await verdict;
  if (problem === undefined) usable.add(resolved);
  return problem;
}

/** Those that core would serve. */
const usable = new WeakSet<ResolvedConfig>();

/** The resolved configuration where it is known to be usable, without waiting. */
export function knownUsableConfig(config: FastifyAuthConfig): ResolvedConfig | undefined {
  const resolved = resolveConfig(config);
  return usable.has(resolved) ? resolved : undefined;
}

/**
 * The resolved configuration, for a plugin that cannot do without.
 *
 * @throws {FastifyAuthError} Where it cannot be used.
 */
export async function requireUsableConfig(config: FastifyAuthConfig): Promise<ResolvedConfig> {
  const resolved = resolveConfig(config);
  const problem = await problemOf(resolved);
  if (problem !== undefined) throw problem;
  return resolved;
}

/** Configurations whose problem has been logged: once is enough for a guard on every route. */
const logged = new WeakSet<ResolvedConfig>();

/**
 * The resolved configuration, for a reader that answers "nobody" without one.
 *
 * @param log Where the problem is said, once.
 */
export async function usableConfig(config: FastifyAuthConfig, log: Log): Promise<ResolvedConfig | undefined> {
  const resolved = resolveConfig(config);
  const problem = await problemOf(resolved);
  if (problem === undefined) return resolved;
  if (!logged.has(resolved)) {
    logged.add(resolved);
    log.error({ code: problem.code }, `No session is read: ${problem.message}`);
  }
}
