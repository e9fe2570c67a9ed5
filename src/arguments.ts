/**
 * Arguments in the wrong place, which would otherwise look like nobody being signed in, or like a request that hangs.
 *
 * @module
 */
import { FastifyAuthError } from "./errors.ts";

/** Whether it is a request or a reply of Fastify. Both have Node's own as `raw`, which a configuration has not. */
export function isRequestOrReply(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof (value as { raw?: unknown }).raw === "object";
}

/**
 * Refuses arguments of `getSession()` that cannot be meant.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID`.
 */
export function assertReadArguments(request: unknown, config: unknown): void {
  const isConfig = typeof config === "object" && config !== null && !isRequestOrReply(config);
  const isRequest = typeof (request as { headers?: unknown } | null | undefined)?.headers === "object";
  if (isConfig && isRequest) return;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    "getSession() takes the request and then the configuration that FastifyAuth() was given: " +
      "`await getSession(request, config)`. " +
      (isRequest ? "The second argument is no configuration." : "The first argument is no Fastify request."),
  );
}
