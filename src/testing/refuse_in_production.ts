/** Keeps functions that sign in any user out of production. */
import { environment } from "../config/environment.ts";
import { FastifyAuthError } from "../errors.ts";

/**
 * Refuses under `NODE_ENV=production`.
 *
 * @param what The function that was called.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID`.
 */
export function refuseInProduction(what: string): void {
  if (environment.NODE_ENV !== "production") return;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `${what} of fastify-authjs/testing is for tests, and does not work under NODE_ENV=production.`,
  );
}
