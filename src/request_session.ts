/** The session as a property of each request, for applications that want it there. */
import type { FastifyInstance } from "fastify";
import { getSession } from "./get_session.ts";
import { isAuthRoute } from "./http/auth_route.ts";
import type { ConfigForRequest, FastifyAuthConfig } from "./types.ts";

/**
 * Reads the session of each request of a scope into `request.session`, in an `onRequest` hook. The auth routes
 * read it themselves.
 *
 * @throws If another plugin has `request.session`, such as `@fastify/session`.
 */
export function decorateRequest(scope: FastifyInstance, config: FastifyAuthConfig | ConfigForRequest): void {
  // Its type is the application's to declare.
  const name: string = "session";
  scope.decorateRequest(name, null);
  scope.addHook("onRequest", async (request) => {
    if (isAuthRoute(request.routeOptions.config)) return;
    Object.assign(request, { [name]: await getSession(request, config as FastifyAuthConfig) });
  });
}
