/** How much of the session tokens that were opened lately is kept. */
import { FastifyAuthError } from "../errors.ts";

/** Some thousand users. */
const DEFAULT_SIZE = 4 * 1024 * 1024;

/**
 * The size of a configuration's token cache, in bytes.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not a number of bytes.
 */
export function requireTokenCacheSize(size: number | undefined): number {
  if (size === undefined) return DEFAULT_SIZE;
  if (typeof size === "number" && size >= 0 && size <= Number.MAX_SAFE_INTEGER) return size;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `\`tokenCacheSize\` must be a number of bytes, or 0 for no cache; it is ${String(size)}.`,
  );
}
