/** What has no auth route, below the mount path. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AuthInUse } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";
import type { AuthParams } from "../http/auth_route.ts";
import { later } from "../utils/later.ts";
import { protectOnSend, refuseRequest, register, routeDefaults, type RouterConfig } from "./add_routes.ts";
import { assertServed, type MountOf } from "./admission.ts";
import { type AuthRoute, handlerOf } from "./table.ts";

const sendFailedPage = later(async () => (await import("./answer_request.ts")).sendFailedPage);

/**
 * Answers every other path below the mount path: a misspelled callback URL contains a code as well, which the
 * application's own handler would log and send. The routes have only the methods that they are served for,
 * since Fastify takes its time to register each: others come here.
 *
 * @param routes Those that there are.
 * @param own Whether this scope has a prefix of its own. Otherwise the mount path itself, and methods that
 * Fastify does not know, are left to the handler of the surrounding scope.
 */
export function addNotFound(
  scope: FastifyInstance,
  mountOf: MountOf,
  routes: readonly AuthRoute[],
  own: boolean,
): void {
  const noRoute = () => new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such route.");
  const routeOf = routesByPath(scope, routes);
  const refuse = (request: FastifyRequest, reply: FastifyReply) => {
    const { auth } = mountOf(request);
    const asked = routeOf(request, auth);
    if (asked !== undefined) assertServed(request, reply, asked.params, asked.route, auth);
    throw noRoute();
  };
  // A route, since the application may have one for all paths.
  register(scope, {
    ...routeDefaults(),
    url: "/*",
    method: scope.supportedMethods as string[],
    onRequest: refuse,
    handler: refuse,
    errorHandler: (error, request, reply) => {
      const mount = mountOf(request);
      const asked = routeOf(request, mount.auth);
      return asked === undefined
        ? sendFailedPage(mount, error, request, reply)
        : refuseRequest({ route: asked.route, mount, request, reply }, error, asked.params.provider);
    },
  });
  // Fastify accepts every hook here; its types have only two.
  if (!own) return;
  const notFoundPage = (request: FastifyRequest, reply: FastifyReply) =>
    sendFailedPage(mountOf(request), noRoute(), request, reply);
  scope.setNotFoundHandler({ onSend: protectOnSend } as object, notFoundPage);
}

/** Finds the route whose path a request has; the method is another one. */
function routesByPath({ initialConfig }: FastifyInstance, routes: readonly AuthRoute[]) {
  const { caseSensitive, routerOptions } = initialConfig as RouterConfig;
  const ignoresCase = caseSensitive === false || routerOptions?.caseSensitive === false;
  return (
    { params }: FastifyRequest,
    auth: AuthInUse,
  ): { route: AuthRoute; params: AuthParams } | undefined => {
    const [first = "", provider, ...rest] = (params as { "*": string })["*"].replace(/\/$/, "").split("/");
    const action = ignoresCase ? first.toLowerCase() : first;
    const route = routes.find((route) => route.action === action && route.provider === Boolean(provider));
    if (route === undefined || rest.length > 0 || handlerOf(route, auth) === undefined) return undefined;
    return { route, params: provider === undefined ? {} : { provider } };
  };
}
