/** The most bytes that a session cookie may have. */
import { FastifyAuthError } from "../errors.ts";

/**
 * Node refuses requests with more than 16 KB of headers, nginx those with a line of more than 8 KB. Half of
 * the former leaves room for what else a browser sends.
 */
const DEFAULT_LIMIT = 8 * 1024;

/** Less would hold no session. */
const LEAST_LIMIT = 1024;

/**
 * The limit of a configuration, in bytes.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not a number of bytes.
 */
export function requireCookieLimit(limit: number | undefined): number {
  if (limit === undefined) return DEFAULT_LIMIT;
  if (limit === 0) return Infinity;
  if (typeof limit === "number" && limit >= LEAST_LIMIT) return limit;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `\`sessionCookieLimit\` must be a number of bytes, ${LEAST_LIMIT} or more, or 0 for no limit; it is ${
      String(limit)
    }.`,
  );
}
