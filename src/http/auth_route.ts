/** How a route of the plugin is recognised. */

/**
 * Marks the routes of the plugin in their `config`, so that `requireSession()` on the root instance lets them
 * through.
 */
export const AUTH_ROUTE: unique symbol = Symbol("fastify-authjs.route");

/** Whether a route with this `config` is one of the plugin. */
export function isAuthRoute(config: unknown): boolean {
  return (config as { [AUTH_ROUTE]?: true } | undefined)?.[AUTH_ROUTE] === true;
}

/** The `schema` of a route that documents of `@fastify/swagger` leave out. */
export const HIDDEN: Readonly<Record<string, boolean>> = { hide: true };
