/** Checks of arguments: mistakes in them would otherwise look like a missing session, or hang the request. */
import { FastifyAuthError } from "../errors.ts";

/** Whether a value is a request or a reply of Fastify, which have Node's as `raw`. */
export function isRequestOrReply(value: unknown): boolean {
  return typeof (value as { raw?: unknown } | null | undefined)?.raw === "object";
}

export function assertSessionArguments(request: unknown, config: unknown): void {
  // Requests of Node and of the web have headers, too, but no log.
  const { headers, log, server } = Object(request) as Record<string, unknown>;
  const isRequest = Boolean(headers && log && server);
  if (isRequest && typeof config === "object" && config !== null && !isRequestOrReply(config)) return;
  throw invalid(
    "getSession()",
    "it takes the request and then the configuration that FastifyAuth() was given: " +
      "`await getSession(request, config)`. " +
      (isRequest
        ? "The second argument is no configuration."
        : "The first argument is no Fastify request. If there is only that of Node (`request.raw`), as in " +
          "`verifyClient` of a WebSocket server, read the session in a hook of the route."),
  );
}

/** Refuses what is no object, with a 400: `what`, such as "`fields` of signIn()", may come from a body. */
export function assertObject(value: unknown, what: string): asserts value is object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw new FastifyAuthError("FST_AUTHJS_BODY_INVALID", `The ${what} must be an object.`);
}

/** An error of arguments, with a status if they may come from a request. */
export function invalid(where: string, message: string, statusCode?: 400): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `${where}: ${message}`, statusCode && { statusCode });
}
