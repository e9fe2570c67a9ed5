/** Checks of arguments: mistakes in them would otherwise look like a missing session, or hang the request. */
import { FastifyAuthError } from "../errors.ts";

/** Whether a value is a request or a reply of Fastify, which have Node's as `raw`. */
export function isRequestOrReply(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof (value as { raw?: unknown }).raw === "object";
}

/**
 * Refuses arguments of `getSession()` that are not a request and a configuration.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID`.
 */
export function assertSessionArguments(request: unknown, config: unknown): void {
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

/** An error of arguments or of a guard's declaration. */
export function invalid(where: string, message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `${where}: ${message}`);
}
