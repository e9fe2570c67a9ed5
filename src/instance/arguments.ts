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
  // Requests of Node and of the web have headers, too, but no log.
  const { headers, log, server } = (request ?? {}) as { headers?: unknown; log?: unknown; server?: unknown };
  const isRequest = typeof headers === "object" && headers !== null && Boolean(log) && Boolean(server);
  const isConfig = typeof config === "object" && config !== null && !isRequestOrReply(config);
  if (isConfig && isRequest) return;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    "getSession() takes the request and then the configuration that FastifyAuth() was given: " +
      "`await getSession(request, config)`. " +
      (isRequest ? "The second argument is no configuration." : NO_REQUEST),
  );
}

const NO_REQUEST =
  "The first argument is no Fastify request. Where there is only that of Node (`request.raw`), such as in " +
  "`verifyClient` of a WebSocket server, read the session in a hook of the route.";

/**
 * Refuses what is no object: a value that may come from the body of a request.
 *
 * @param what The function and its argument, such as "`fields` of signIn()".
 * @throws {FastifyAuthError} `FST_AUTHJS_BODY_INVALID` (400).
 */
export function assertObject(value: unknown, what: string): asserts value is object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw new FastifyAuthError("FST_AUTHJS_BODY_INVALID", `The ${what} must be an object.`);
}

/**
 * An error of arguments or of a guard's declaration.
 *
 * @param statusCode 400 for an argument that may come from a request.
 */
export function invalid(where: string, message: string, statusCode?: 400): FastifyAuthError {
  const options = statusCode === undefined ? {} : { statusCode };
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `${where}: ${message}`, options);
}
