/** The plugin, which registers the routes. */
import type {
  DoneFuncWithErrOrRes,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from "fastify";
import fp from "fastify-plugin";
import { type AuthInstance, authInstance } from "./instance/auth_instance.ts";
import { cookieWarnings } from "./config/cookie_warnings.ts";
import type { NoticeCode } from "./config/notices.ts";
import type { ResolvedConfig } from "./config/resolve.ts";
import { assertBasePath, assertOwnPages, toMountPath } from "./config/mount_path.ts";
import { FastifyAuthError } from "./errors.ts";
import { readSession } from "./instance/read_session.ts";
import { reportBoot, reportOf } from "./instance/boot_report.ts";
import { addMount, addTenantMount } from "./instance/mount.ts";
import { AUTH_ROUTE, HIDDEN } from "./http/auth_route.ts";
import { assertPlainEncoding, BODY_LIMIT, useAuthBodyParsers } from "./http/body.ts";
import { assertNotCrossSite } from "./http/cross_site.ts";
import { type PublicOrigin, requireOrigin } from "./http/origin.ts";
import { originContradiction } from "./http/origin_check.ts";
import { type AuthParams, decorateReceived, keepRequest } from "./http/received.ts";
import { latePayload } from "./http/late_payload.ts";
import { redactingSerializers } from "./http/redact.ts";
import { redactSpans } from "./http/redact_spans.ts";
import { protectReply } from "./http/security_headers.ts";
import type { ProviderSummary } from "./provider/summary.ts";
import type { LimitedMount } from "./routes/answer_request.ts";
import { addAssets } from "./routes/assets.ts";
import type { Mount } from "./routes/context.ts";
import type { authOperation } from "./routes/openapi.ts";
import {
  AUTH_ROUTES,
  type AuthRoute,
  isCallbackOfServer,
  isLimited,
  isLimitedWhenRefused,
  methodsFor,
} from "./routes/table.ts";
import { RouteGuards } from "./guard/route_guards.ts";
import { registerSessions } from "./instance/shared_sessions.ts";
import { writeBack } from "./session/write_back.ts";
import { Tenants } from "./instance/tenants.ts";
import type { ConfigForRequest, FastifyAuthConfig } from "./types.ts";
import { later } from "./utils/later.ts";
import type { Log } from "./utils/log.ts";

// What only requests need is loaded with the first one, and not when the application starts.
const answerRequest = later(async () => (await import("./routes/answer_request.ts")).answerRequest);
const refuseRequest = later(async () => (await import("./routes/answer_request.ts")).refuseRequest);
const sendFailedPage = later(async () => (await import("./routes/failed_page.ts")).sendFailedPage);

/** Options of the registration. */
export interface FastifyAuthPluginOptions {
  /** The mount path, such as `/auth`; required unless the surrounding scope has a prefix. */
  prefix?: string;
  /**
   * Whether the document of `@fastify/swagger` describes the auth routes. Register it before this plugin.
   *
   * @default false
   */
  openapi?: boolean;
}

/**
 * Makes the plugin for configurations that a function chooses for each request, such as those of tenants.
 *
 * @param choose The function: see {@linkcode ConfigForRequest}.
 * @returns A plugin for `register`, with the mount path as its `prefix`.
 */
export function FastifyAuth(choose: ConfigForRequest): FastifyPluginAsync<FastifyAuthPluginOptions>;
/**
 * Makes the plugin that adds every route of Auth.js to an application.
 *
 * @param config The configuration; it is copied, never written to.
 * @returns A plugin for `register`, with the mount path as its `prefix`.
 * @throws {FastifyAuthError} When it is registered, where the configuration is invalid.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig } from "fastify-authjs";
 * import GitHub from "fastify-authjs/providers/github";
 *
 * const config: FastifyAuthConfig = {
 *   providers: [GitHub({ clientId: "id", clientSecret: "secret" })],
 *   secret: "a string of 32 characters or more",
 *   origin: "http://localhost:3000",
 * };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 *
 * const response = await app.inject("/auth/providers");
 * console.assert(response.json().github.callbackUrl === "http://localhost:3000/auth/callback/github");
 * ```
 */
export function FastifyAuth(config: FastifyAuthConfig): FastifyPluginAsync<FastifyAuthPluginOptions>;
export function FastifyAuth(
  config: FastifyAuthConfig | ConfigForRequest,
): FastifyPluginAsync<FastifyAuthPluginOptions> {
  // `register(FastifyAuth)` calls it in place of a plugin, whose errors are rejections.
  if (isInstance(config)) return Promise.reject(noConfiguration()) as never;
  const plugin: FastifyPluginAsync<FastifyAuthPluginOptions> = async (instance, options) => {
    if (typeof config === "function") return await registerFor(config, instance, options, mountPerRequest);
    if (typeof config !== "object" || config === null) throw noConfiguration();
    const auth = authInstance(config);
    const problem = await auth.problem();
    if (problem !== undefined) throw problem;
    for (const { message, ...details } of auth.config.warnings) instance.log.warn(details, message);
    for (const { message, ...details } of auth.config.advice) instance.log.info(details, message);
    auth.config.notices.sendTo(instance.log);
    await auth.config.otherProcesses?.lookAtStart();
    await registerFor(config, instance, options, mountAtBoot);
    reportSharing(instance, auth);
  };
  // Without encapsulation: the hook that writes session cookies is for the surrounding scope.
  return fp(plugin, { name: "fastify-authjs", fastify: "5.x" });
}

/** What is to be mounted in the scope of the routes, and how. */
interface MountSetup<Source> {
  readonly source: Source;
  readonly scope: FastifyInstance;
  readonly mountPath: string;
  readonly options: FastifyAuthPluginOptions;
}

/** Registers the routes of a configuration, or of a function that chooses one, in a scope of their own. */
async function registerFor<Source extends FastifyAuthConfig | ConfigForRequest>(
  source: Source,
  instance: FastifyInstance,
  options: FastifyAuthPluginOptions,
  mount: (setup: MountSetup<Source>) => Promise<void>,
): Promise<void> {
  if (options.openapi && !instance.hasDecorator("swagger")) {
    instance.log.warn({ code: "FST_AUTHJS_WARN_OPENAPI" satisfies NoticeCode }, NO_SWAGGER);
  }
  writeBack(instance);
  const guards = RouteGuards.of(instance);
  const routes: FastifyPluginAsync<FastifyAuthPluginOptions> = async (scope) => {
    const mountPath = toMountPath(scope.prefix);
    // Before any other hook of the scope: one of them may refuse the request.
    redactSpans(scope);
    guards.add({ scope: instance, config: source, mountPath });
    await mount({ source, scope, mountPath, options });
  };
  await instance.register(fp(routes, { name: "fastify-authjs-routes", encapsulate: true }), options);
}

async function mountAtBoot(
  { source: config, scope, mountPath, options }: MountSetup<FastifyAuthConfig>,
): Promise<void> {
  const auth = authInstance(config);
  const paths = addMount(scope, auth, mountPath);
  assertBasePath(config.basePath, mountPath, auth.config.origin?.path);
  const mount = await limitedMount({ auth, config, scope, paths });
  addRoutes(scope, () => mount, { config: auth.config, describe: await describing(options) });
  addNotFound(scope, () => mount, Boolean(options.prefix));
  const report = () => {
    const { origin } = auth.config;
    assertOwnPages(config.pages, paths().mount, origin);
    if (origin !== undefined) reportCookies(scope.log, origin, mount);
    reportBoot(scope.log, reportOf(auth, paths().mount), auth.config.doctor);
  };
  // deno-lint-ignore require-await -- only errors of an async hook reject `ready()`
  scope.addHook("onReady", async () => report());
}

/** A configuration, and where it is mounted. */
interface MountParts {
  readonly auth: AuthInstance;
  readonly config: FastifyAuthConfig;
  readonly scope: FastifyInstance;
  readonly paths: LimitedMount["paths"];
}

async function limitedMount({ auth, config, scope, paths }: MountParts): Promise<LimitedMount> {
  return {
    config: auth.config,
    paths,
    assets: () => auth.assets(),
    limits: await auth.limits(scope),
    settings: (secure) => auth.settings(secure),
    readSession: (request) => readSession(request, config),
    once: (what, tell) => auth.once(what, tell),
  };
}

/** The property of a request that keeps its mount, where a function chooses the configuration. */
const MOUNT: unique symbol = Symbol("fastify-authjs.mount");

/** Mounts the configurations that a function chooses. */
async function mountPerRequest(
  { source: choose, scope, mountPath, options }: MountSetup<ConfigForRequest>,
): Promise<void> {
  const tenants = Tenants.of(choose);
  const addTo = addTenantMount(scope, mountPath, (auth) => tenants.has(auth));
  const mounts = new WeakMap<FastifyAuthConfig, Promise<LimitedMount>>();
  const prepare = async (auth: AuthInstance, config: FastifyAuthConfig) => {
    assertBasePath(config.basePath, mountPath, auth.config.origin?.path);
    assertShortIds(scope, auth.config);
    const mount = await limitedMount({ auth, config, scope, paths: addTo(auth) });
    const { origin } = auth.config;
    assertOwnPages(config.pages, mount.paths().mount, origin);
    if (origin !== undefined) reportCookies(scope.log, origin, mount);
    reportBoot(scope.log, reportOf(auth, mount.paths().mount), auth.config.doctor);
    return mount;
  };
  tenants.addMount(scope.server, {
    async prepare(auth, config) {
      if (!mounts.has(config)) mounts.set(config, prepare(auth, config));
      await mounts.get(config);
    },
  });
  scope.decorateRequest(MOUNT);
  scope.addHook("onRequest", async (request) => {
    const config = await tenants.configOf(request);
    (request as { [MOUNT]?: LimitedMount })[MOUNT] = await mounts.get(config)!;
  });
  const bare = await bareMount(scope, mountPath);
  const mountOf: MountOf = (request) => (request as { [MOUNT]?: LimitedMount })[MOUNT] ?? bare;
  addRoutes(scope, mountOf, {
    config: bare.config,
    describe: await describing(options),
    perRequest: true,
  });
  addNotFound(scope, mountOf, Boolean(options.prefix));
  // deno-lint-ignore require-await -- as above
  scope.addHook("onReady", async () => reportBoot(scope.log, { mount: mountPath, perRequest: true }, false));
}

/** For the pages of requests that have no configuration. */
async function bareMount(scope: FastifyInstance, mountPath: string): Promise<LimitedMount> {
  const config: FastifyAuthConfig = { providers: [], secret: crypto.randomUUID(), trustHost: true };
  const paths = { mount: mountPath, removed: "" };
  return await limitedMount({ auth: authInstance(config), config, scope, paths: () => paths });
}

/** @throws {FastifyAuthError} For the id of a provider that the router cannot match. */
function assertShortIds(scope: FastifyInstance, { providers }: ResolvedConfig): void {
  const id = [...providers.keys()].find((id) => id.length > longestParameter(scope));
  if (id === undefined) return;
  throw new FastifyAuthError(
    "FST_AUTHJS_PROVIDER_INVALID",
    `The id "${id}" is longer than the router lets a parameter be: shorten it, or set \`routerOptions: { ` +
      "maxParamLength }` of Fastify.",
  );
}

const NO_SWAGGER = "FastifyAuth: `openapi: true` has no effect, since there is no document here. Register " +
  "@fastify/swagger before FastifyAuth, in its scope or around it.";

/** Whether it is an instance of Fastify. */
function isInstance(value: unknown): boolean {
  return typeof (value as { register?: unknown } | null | undefined)?.register === "function";
}

function noConfiguration(): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    "FastifyAuth() makes the plugin from a configuration. Call it with one: " +
      '`app.register(FastifyAuth(config), { prefix: "/auth" })`.',
  );
}

/** The mount that a request is for. */
type MountOf = (request: FastifyRequest) => LimitedMount;

/** Describes a route for the document of `@fastify/swagger`. */
type Describe = typeof authOperation;

async function describing({ openapi }: FastifyAuthPluginOptions): Promise<Describe | undefined> {
  return openapi === true ? (await import("./routes/openapi.ts")).authOperation : undefined;
}

/** Which routes there are. */
interface RoutesSetup {
  /** What they are served for. */
  readonly config: ResolvedConfig;
  /** Describes them for the document of the application, where that has them. */
  readonly describe: Describe | undefined;
  /** Whether configurations may have others. */
  readonly perRequest?: boolean;
}

function addRoutes(
  scope: FastifyInstance,
  mountOf: MountOf,
  { config, describe, perRequest = false }: RoutesSetup,
): void {
  decorateReceived(scope);
  useAuthBodyParsers(scope);
  redactLog(scope);
  for (const route of AUTH_ROUTES) {
    if (!perRequest && route.isServed?.(config) === false) continue;
    pathsOf(scope, route, config).forEach(({ url, id }, index) => {
      const operations = describe && index === 0 ? operationsOf(scope, route, config, describe) : [];
      addRoute(scope, url, route, { mountOf, id, operations });
    });
  }
  addAssets(scope, (request) => mountOf(request).assets());
}

/** The path of a route; with `id`, one for that provider alone. */
interface RoutePath {
  readonly url: string;
  readonly id?: string;
}

/**
 * The paths of a route, also with a trailing slash: a provider or a proxy may add one. An id that is longer
 * than the router lets a parameter be has a path of its own.
 */
function pathsOf(
  scope: FastifyInstance,
  { action, provider }: AuthRoute,
  config: ResolvedConfig,
): RoutePath[] {
  const { ignoreTrailingSlash, routerOptions } = scope.initialConfig as RouterConfig;
  const longest = longestParameter(scope);
  const paths: RoutePath[] = [{ url: provider ? `/${action}/:provider` : `/${action}` }];
  for (const id of provider ? config.providers.keys() : []) {
    if (id.length > longest) paths.push({ url: `/${action}/${id}`, id });
  }
  if (ignoreTrailingSlash || routerOptions?.ignoreTrailingSlash) return paths;
  return paths.flatMap((path) => [path, { ...path, url: `${path.url}/` }]);
}

/** How long the router lets a parameter be. */
function longestParameter({ initialConfig }: FastifyInstance): number {
  const { maxParamLength = 100, routerOptions } = initialConfig as RouterConfig;
  return Math.min(maxParamLength, routerOptions?.maxParamLength ?? maxParamLength);
}

/** Where versions of Fastify keep the options of the router. */
interface RouterConfig extends RouterOptions {
  routerOptions?: RouterOptions;
}

/** The options of the router that matter here. */
interface RouterOptions {
  caseSensitive?: boolean;
  ignoreTrailingSlash?: boolean;
  maxParamLength?: number;
}

/** Logs every request in the scope without its secrets, also those that match no route. */
function redactLog(scope: FastifyInstance): void {
  const makeLogger = scope.childLoggerFactory;
  const redacting = redactingSerializers(scope.log);
  scope.setChildLoggerFactory((logger, bindings, options, request) =>
    makeLogger.call(
      scope,
      logger,
      bindings,
      { ...options, serializers: { ...options.serializers, ...redacting } },
      request,
    )
  );
}

/** Warns once where another configuration of this process accepts the same sessions. */
function reportSharing(instance: FastifyInstance, auth: AuthInstance): void {
  const { warning, release } = registerSessions(auth);
  const code: NoticeCode = "FST_AUTHJS_WARN_SHARED_SESSIONS";
  if (warning !== undefined) instance.log.warn({ code }, warning);
  instance.addHook("onClose", (_instance, done) => {
    release();
    done();
  });
}

/** The options that all routes share. */
function routeDefaults() {
  return {
    exposeHeadRoute: false,
    // Plugins of the application may have declared what a `config` has.
    config: { [AUTH_ROUTE]: true } as object,
    schema: HIDDEN,
    onSend: protectOnSend,
  } as const;
}

/** A hook of a route runs after those of instances, so it can override the headers that they set. */
function protectOnSend(
  _request: unknown,
  reply: FastifyReply,
  payload: unknown,
  done: DoneFuncWithErrOrRes,
): void {
  protectReply(reply);
  const late = latePayload(reply);
  if (late === undefined) done(null, payload);
  else late.then((page) => done(null, page), done);
}

/**
 * Answers every other path below the mount path: a misspelled callback URL contains a code as well, which the
 * application's own handler would log and send. The routes have only the methods that they are served for,
 * since Fastify takes its time to register each: others come here.
 *
 * @param own Whether this scope has a prefix of its own. Otherwise the mount path itself, and methods that
 * Fastify does not know, are left to the handler of the surrounding scope.
 */
function addNotFound(scope: FastifyInstance, mountOf: MountOf, own: boolean): void {
  const noRoute = () => new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such route.");
  const routeOf = routesByPath(scope);
  const refuse = (request: FastifyRequest, reply: FastifyReply) => {
    const { config } = mountOf(request);
    const asked = routeOf(request, config);
    if (asked !== undefined) assertServed(request, reply, asked.params, asked.route, config);
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
      const asked = routeOf(request, mount.config);
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
function routesByPath({ initialConfig }: FastifyInstance) {
  const { caseSensitive, routerOptions } = initialConfig as RouterConfig;
  const ignoresCase = caseSensitive === false || routerOptions?.caseSensitive === false;
  return (
    { params }: FastifyRequest,
    config: ResolvedConfig,
  ): { route: AuthRoute; params: AuthParams } | undefined => {
    const [first = "", provider, ...rest] = (params as { "*": string })["*"].replace(/\/$/, "").split("/");
    const action = ignoresCase ? first.toLowerCase() : first;
    const route = AUTH_ROUTES.find((route) =>
      route.action === action && route.provider === Boolean(provider)
    );
    if (route === undefined || rest.length > 0 || route.isServed?.(config) === false) return undefined;
    return { route, params: provider === undefined ? {} : { provider } };
  };
}

/** What a route is made with. */
interface RouteSetup {
  readonly mountOf: MountOf;
  /** The provider, where the path is for that one alone. */
  readonly id: string | undefined;
  /** The methods that the document of the application describes. */
  readonly operations: ReturnType<typeof operationsOf>;
}

function addRoute(
  scope: FastifyInstance,
  url: string,
  route: AuthRoute,
  { mountOf, id, operations }: RouteSetup,
): void {
  const options: Omit<RouteOptions, "method"> = {
    ...routeDefaults(),
    url,
    errorHandler: (error, request, reply) => {
      return refuseRequest({ route, mount: mountOf(request), request, reply }, error, id);
    },
    bodyLimit: BODY_LIMIT,
    // Before the body is parsed.
    onRequest: (request, reply, done) => {
      protectReply(reply);
      const mount = mountOf(request);
      const { config, limits } = mount;
      const params = id === undefined ? request.params as AuthParams : { provider: id };
      const provider = assertServed(request, reply, params, route, config);
      assertPlainEncoding(request);
      const origin = requireOrigin(request, config.origin);
      reportOrigin(request, origin, mount);
      reportCookies(request.log, origin, mount);
      const isCallback = isCallbackOfServer(route, provider);
      // A logout token is signed, whoever sends it.
      const isPost = request.method === "POST" && route.action !== "backchannel-logout";
      if (!isCallback && (isPost || route.action === "webauthn-options")) {
        assertNotCrossSite(request.headers, origin.href, config.trustedOrigins);
      }
      keepRequest(request, params, origin);
      if (limits === undefined || !isLimited(route, request.method)) return done();
      const { cookie: cookies = "" } = request.headers;
      const counted = isLimitedWhenRefused(route) ? limits.lookAtRefusals(request) : limits.countRequest(
        request,
        isCallback ? { provider: provider!, config, origin, cookies } : undefined,
      );
      counted.then(() => done(), done);
    },
    handler: (request, reply) => answerRequest({ route, mount: mountOf(request), request, reply }),
  };
  for (const { method, config } of operations) {
    const { schema: _, ...shown } = options;
    register(scope, { ...shown, method, config });
  }
  const described = operations.map(({ method }) => method);
  const method = route.methods.filter((method) => !described.includes(method));
  if (method.length > 0) register(scope, { ...options, method });
}

/**
 * The methods of a route that `@fastify/swagger` describes, each with the `config` that it reads the
 * operation from. The application's own `transform`, which may expect zod, is not called for it.
 */
function operationsOf(
  scope: FastifyInstance,
  route: AuthRoute,
  config: ResolvedConfig,
  describe: Describe,
) {
  return scope.supportedMethods.flatMap((method) => {
    const operation = describe(route, method, config);
    if (operation === undefined) return [];
    const swaggerTransform = ({ url }: { url: string }) => ({ schema: operation, url });
    return [{ method, config: { [AUTH_ROUTE]: true, swaggerTransform } as object }];
  });
}

/** Registers a route, and says where the application has it already. */
function register(scope: FastifyInstance, options: RouteOptions): void {
  try {
    scope.route(options);
  } catch (error) {
    if (!/already declared for route/.test(String(error))) throw error;
    throw new FastifyAuthError(
      "FST_AUTHJS_PREFIX_INVALID",
      `FastifyAuth cannot be mounted at "${scope.prefix}": the application has a route ` +
        `"${scope.prefix}${options.url}" already. Where FastifyAuth() is registered there twice, remove one ` +
        "registration; else give it another `prefix`.",
      { cause: error },
    );
  }
}

/** Says once that a request contradicts the origin in use. */
function reportOrigin(request: FastifyRequest, origin: PublicOrigin, { config, once }: Mount): void {
  const found = originContradiction(request, { origin, from: config.originSource.setting });
  if (found === undefined) return;
  const level = found.certain ? "warn" : "info";
  const code: NoticeCode = "FST_AUTHJS_WARN_ORIGIN";
  once(`origin ${level}`, () => request.log[level]({ code }, found.message));
}

/** Says once for each scheme which cookies cannot work. */
function reportCookies(log: Log, origin: PublicOrigin, { config, once, paths }: Mount): void {
  if (config.core.cookies === undefined) return;
  once(`cookies ${origin.secure}`, () => {
    for (const { message, code } of cookieWarnings(config, origin, paths().mount)) {
      log.warn({ code }, message);
    }
  });
}

/**
 * Refuses providers that are not configured and methods that are not served.
 *
 * @returns The provider that the path names.
 */
function assertServed(
  request: FastifyRequest,
  reply: FastifyReply,
  { provider: id }: AuthParams,
  route: AuthRoute,
  config: ResolvedConfig,
): ProviderSummary | undefined {
  const provider = id === undefined ? undefined : config.providers.get(id);
  if (route.provider && (provider === undefined || route.isServedFor?.(provider) === false)) {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such provider.");
  }
  if (route.isServed?.(config) === false) {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such route.");
  }
  const methods = provider === undefined ? route.methods : methodsFor(route, provider);
  if ((methods as readonly string[]).includes(request.method)) return provider;
  reply.header("allow", methods.join(", "));
  throw new FastifyAuthError("FST_AUTHJS_METHOD_NOT_ALLOWED", `Use ${methods.join(" or ")}.`);
}
