/** The routes of a scope: the auth routes, and what answers every other path below the mount path. */
import type { DoneFuncWithErrOrRes, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FastifyServerOptions, RouteOptions } from "fastify";
import type { AuthInUse } from "../core/context.ts";
import type { ResolvedConfig } from "../config/resolve.ts";
import { FastifyAuthError } from "../errors.ts";
import { AUTH_ROUTE, decorateReceived } from "../http/auth_route.ts";
import { useAuthBodyParsers } from "../http/body.ts";
import { LATE_PAYLOAD, type LateReply, sendLate } from "../http/late_payload.ts";
import { protectReply } from "../http/reply_headers.ts";
import { redactingSerializers, redactRequestSpans } from "../http/redact.ts";
import { later } from "../utils/later.ts";
import { admission, type MountOf } from "./admission.ts";
import type { DOCUMENTS } from "../features/mod.ts";
import { type AuthRoute, handlerOf } from "./table.ts";

// What only requests need is loaded with the first one, and not when the application starts.
const answerRequest = later(async () => (await import("./answer_request.ts")).answerRequest);
const refuseRequest = later(async () => (await import("./answer_request.ts")).refuseRequest);
const sendFailedPage = later(async () => (await import("./answer_request.ts")).sendFailedPage);
const sendAsset = later(async () => (await import("./send_page.ts")).sendAsset);

interface RoutesSetup {
  readonly routes: readonly AuthRoute[];
  readonly auth: AuthInUse;
  /** Describes them for the document of the application, if that has them. */
  readonly describe: Awaited<ReturnType<typeof DOCUMENTS.ofAuthRoutes>> | undefined;
  /** Without one the mount path itself, and methods unknown to Fastify, are left to the surrounding scope. */
  readonly ownPrefix: boolean;
}

export function addRoutes(scope: FastifyInstance, mountOf: MountOf, setup: RoutesSetup): void {
  const { routes, auth, describe } = setup;
  decorateReceived(scope);
  useAuthBodyParsers(scope);
  redactLog(scope);
  for (const route of routes) {
    for (const [index, path] of pathsOf(scope, route, auth.config).entries()) {
      // A document has an operation for each method.
      const described = index === 0 ? describe : undefined;
      for (const method of described === undefined ? [[...route.methods]] : route.methods) {
        const operation = typeof method === "string" ? described?.(route, method, auth) : undefined;
        register(scope, { ...optionsOf(route, path, mountOf), method, ...(operation && documented(operation)) });
      }
    }
  }
  scope.route<{ Params: { file: string } }>({
    method: "GET",
    url: "/assets/:file",
    ...shared(),
    handler: (request, reply) => sendAsset(reply, request.params.file, mountOf(request as FastifyRequest).auth),
  });
  addOthers(scope, mountOf, setup);
}

/** The application's own `transform`, which may expect zod, is not called for it. */
function documented(operation: object) {
  const swaggerTransform = ({ url }: { url: string }) => ({ schema: operation, url });
  return { schema: {}, config: { [AUTH_ROUTE]: true, swaggerTransform } as object };
}

/** The path of a route; with `id`, one for that provider alone. */
type RoutePath = Readonly<{ url: string; id?: string | undefined }>;

/** The paths of a route. An id that is longer than the router lets a parameter be has a path of its own. */
function pathsOf(scope: FastifyInstance, { action, provider }: AuthRoute, config: ResolvedConfig): RoutePath[] {
  const longest = longestParameter(scope);
  const paths: RoutePath[] = [{ url: provider ? `/${action}/:provider` : `/${action}` }];
  for (const id of provider ? config.providers.keys() : []) {
    if (id.length > longest) paths.push({ url: `/${action}/${id}`, id });
  }
  const ignoresTrailingSlash = routerOptions(scope).some(({ ignoreTrailingSlash }) => ignoreTrailingSlash);
  // The router would take the end of "/signin/" for an empty id.
  if (action === "signin" && !provider && !ignoresTrailingSlash) paths.push({ url: "/signin/" });
  return paths;
}

export function longestParameter(scope: FastifyInstance): number {
  return Math.min(...routerOptions(scope).map(({ maxParamLength = 100 }) => maxParamLength));
}

type RouterOptions = Pick<FastifyServerOptions, "caseSensitive" | "ignoreTrailingSlash" | "maxParamLength">;

/** Versions of Fastify keep them in one place or the other. */
function routerOptions({ initialConfig }: FastifyInstance): RouterOptions[] {
  const options = initialConfig as RouterOptions & { routerOptions?: RouterOptions };
  return [options, { ...options, ...options.routerOptions }];
}

/**
 * Logs every request in the scope without its secrets, also those that match no route: Fastify gives these to its
 * not-found handler, for which the `logSerializers` of `register()` do not count.
 */
function redactLog(scope: FastifyInstance): void {
  // Its own factory may be set later.
  const around: FastifyInstance = Object.getPrototypeOf(scope);
  const redacting = redactingSerializers(scope.log);
  scope.setChildLoggerFactory((logger, bindings, options, request) => {
    const { serializers: given } = options;
    const serializers = given ? redactingSerializers(scope.log, given) : redacting;
    return around.childLoggerFactory.call(scope, logger, bindings, { ...options, serializers }, request);
  });
}

/** The options that all routes share. Documents of `@fastify/swagger` leave them out. */
function shared() {
  // Plugins of the application may have declared what a `config` has.
  return { config: { [AUTH_ROUTE]: true } as object, schema: { hide: true } as object };
}

/** A hook of a route runs after those of instances, so it can override the headers that they set. */
function protectOnSend(request: FastifyRequest, reply: FastifyReply, payload: unknown, done: DoneFuncWithErrOrRes) {
  redactRequestSpans(request);
  protectReply(reply);
  const late = (reply as LateReply)[LATE_PAYLOAD]?.();
  if (late === undefined) done(null, payload);
  else void sendLate(reply, late, done);
}

function optionsOf(route: AuthRoute, { url, id }: RoutePath, mountOf: MountOf) {
  return {
    url,
    errorHandler: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      refuseRequest({ route, mount: mountOf(request), request, reply }, error, id),
    onRequest: admission(route, mountOf, id),
    handler: (request: FastifyRequest, reply: FastifyReply) =>
      answerRequest({ route, mount: mountOf(request), request, reply }),
  };
}

/** Registers a route whose replies are protected. Says so if the application has it already. */
function register(scope: FastifyInstance, options: RouteOptions): void {
  try {
    scope.route({ ...shared(), exposeHeadRoute: false, onSend: protectOnSend, ...options });
  } catch (error) {
    if (!/already declared for route/.test(String(error))) throw error;
    throw new FastifyAuthError(
      "FST_AUTHJS_PREFIX_INVALID",
      `FastifyAuth cannot be mounted at "${scope.prefix}": the application has a route ` +
        `"${scope.prefix}${options.url}" already. If FastifyAuth() is registered there twice, remove one ` +
        "registration; else give it another `prefix`.",
      { cause: error },
    );
  }
}

/**
 * Answers every other path below the mount path: a misspelled callback URL contains a code as well, which the
 * application's own handler would log and send. Fastify takes its time to register a route, so each has one path and
 * the methods that it is served for. A path with a trailing slash, which a provider or a proxy may add, comes here, and
 * so does each other method.
 */
function addOthers(scope: FastifyInstance, mountOf: MountOf, { routes, ownPrefix }: RoutesSetup): void {
  const ignoresCase = routerOptions(scope).some(({ caseSensitive }) => caseSensitive === false);
  const askedRoute = ({ params, url }: FastifyRequest, auth: AuthInUse) => {
    const [first = "", id, ...rest] = (params as { "*": string })["*"].replace(/\/$/, "").split("/");
    const action = ignoresCase ? first.toLowerCase() : first;
    const route = routes.find((route) => route.action === action && route.provider === (id !== undefined));
    // The parameter is decoded: an encoded slash divides nothing.
    const isPath = rest.length === 0 && !/^[^?]*%2f/i.test(url);
    return route && isPath && handlerOf(route, auth) !== undefined ? { route, id } : undefined;
  };
  const noRoute = () => new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such route.");
  // A route, since the application may have one for all paths.
  register(scope, {
    url: "/*",
    method: scope.supportedMethods,
    onRequest(request, reply, done) {
      const asked = askedRoute(request, mountOf(request).auth);
      if (asked === undefined) throw noRoute();
      admission(asked.route, mountOf, asked.id)(request, reply, done);
    },
    handler(request, reply) {
      const mount = mountOf(request);
      return answerRequest({ route: askedRoute(request, mount.auth)!.route, mount, request, reply });
    },
    errorHandler(error, request, reply) {
      const mount = mountOf(request);
      const asked = askedRoute(request, mount.auth);
      return asked === undefined
        ? sendFailedPage(mount, error, request, reply)
        : refuseRequest({ route: asked.route, mount, request, reply }, error, asked.id);
    },
  });
  if (!ownPrefix) return;
  const notFoundPage = (request: FastifyRequest, reply: FastifyReply) =>
    sendFailedPage(mountOf(request), noRoute(), request, reply);
  // Fastify accepts every hook here; its types have only two.
  scope.setNotFoundHandler({ onSend: protectOnSend } as object, notFoundPage);
}
