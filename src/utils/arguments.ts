/** Checks of arguments: mistakes in them would otherwise look like a missing session, or hang the request. */
import { FastifyAuthError } from "../errors.ts";

/** Whether a value is a request or a reply of Fastify, which have Node's as `raw`. */
export function isRequestOrReply(value: unknown): boolean {
  return typeof (value as { raw?: unknown } | null | undefined)?.raw === "object";
}

/** Whether a value is meant as a configuration: no request, no options, no object of createAuth(). */
export function isConfiguration(value: unknown): boolean {
  return typeof value === "object" && value !== null && "providers" in value;
}

/** Refuses a first argument of `where` that is no request. */
export function assertRequest(request: unknown, where: string): void {
  // Requests of Node and of the web have headers, too, but no log. The `headers` of a reply are a function.
  const { headers, log, server } = Object(request) as Record<string, unknown>;
  if (typeof headers === "object" && log && server) return;
  throw invalid(
    where,
    "its first argument is the request of Fastify. If there is only that of Node (`request.raw`), as in " +
      "`verifyClient` of a WebSocket server, call it in a hook of the route.",
  );
}

export function assertSessionArguments(request: unknown, config: unknown): void {
  assertRequest(request, "getSession()");
  if (typeof config === "function" || isConfiguration(config)) return;
  throw invalid(
    "getSession()",
    "its second argument is the configuration that FastifyAuth() was given, an object with `providers`: `await " +
      "getSession(request, config)`. The object of createAuth() has its own: `await auth.getSession(request)`.",
  );
}

/**
 * Refuses what is no object, or has a member that is not among the `names`: what the user has entered must not be left
 * out in silence. A 400: `what`, such as "`fields` of signIn()", may come from a body.
 */
export function assertObject(value: unknown, what: string, names?: readonly string[]): asserts value is object {
  let problem = "must be an object";
  // What can be iterated, such as URLSearchParams, has its members elsewhere.
  if (typeof value === "object" && value !== null && !(Symbol.iterator in value)) {
    let unknown: string | undefined;
    for (const name of names ? Object.keys(value) : []) if (!names!.includes(name)) unknown ??= name;
    if (unknown === undefined) return;
    const fields = names!.includes("fields") ? "; what the user has entered goes under `fields`" : "";
    const advice = unknown === "redirectTo" ? "write `callbackUrl`" : `the options are ${names!.join(", ")}${fields}`;
    problem = `have no \`${unknown}\`: ${advice}`;
  }
  throw new FastifyAuthError("FST_AUTHJS_BODY_INVALID", `The ${what} ${problem}.`);
}

/** An error of arguments, with a status if they may come from a request. */
export function invalid(where: string, message: string, statusCode?: 400): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `${where}: ${message}`, statusCode && { statusCode });
}
