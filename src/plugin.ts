/** The plugin, which registers the routes. */
import type { FastifyInstance, FastifyPluginAsync } from "fastify";
import fp from "fastify-plugin";
import { type AuthInstance, authInstance } from "./instance/auth_instance.ts";
import { assertBasePath, assertOwnPages, toMountPath } from "./config/mount_path.ts";
import { type FastifyAuthError, invalidConfig, invalidProvider } from "./errors.ts";
import { readSession } from "./instance/read_session.ts";
import { bootMessage, reportOf } from "./instance/boot_report.ts";
import { addMount, type Mounted, publishMount, registerSessions } from "./instance/mount.ts";
import { redactSpans } from "./http/redact.ts";
import { DOCUMENTS, FEATURES } from "./features/mod.ts";
import { getSession } from "./get_session.ts";
import { isAuthRoute } from "./http/auth_route.ts";
import { addRoutes, longestParameter } from "./routes/add_routes.ts";
import { type MountOf, reportCookies } from "./routes/admission.ts";
import type { Mount } from "./routes/context.ts";
import { AUTH_ROUTES, handlerOf } from "./routes/table.ts";
import { SHOWN } from "./guard/guard.ts";
import { RouteGuards } from "./guard/route_guards.ts";
import { writeBack } from "./session/reply.ts";
import { Tenants } from "./instance/tenants.ts";
import type { ConfigForRequest, FastifyAuthConfig } from "./types.ts";

/** Options of the registration. */
export interface FastifyAuthPluginOptions {
  /** The mount path, such as `/auth`; required unless the surrounding scope has a prefix. */
  prefix?: string;
  /**
   * Whether the document of `@fastify/swagger` describes the auth routes. Register it before this plugin.
   * @default false
   */
  openapi?: boolean;
  /**
   * Whether each request of the scope has its session as `request.session`, which is `null` if there is none. It is
   * read once, before other hooks and the handler. The application declares its type:
   *
   * ```ts ignore
   * declare module "fastify" {
   *   interface FastifyRequest {
   *     session: InferSession<typeof auth> | null;
   *   }
   * }
   * ```
   * @default false: a session is read when `getSession()` or a guard asks for it
   */
  decorateRequest?: boolean;
}

/**
 * Makes the plugin for configurations that a function chooses for each request, such as those of tenants.
 * @returns A plugin for `register`, with the mount path as its `prefix`.
 */
export function FastifyAuth(choose: ConfigForRequest): FastifyPluginAsync<FastifyAuthPluginOptions>;
/**
 * Makes the plugin that adds every route of Auth.js to an application.
 * @param config The configuration; it is copied, never written to.
 * @returns A plugin for `register`, with the mount path as its `prefix`.
 * @throws {FastifyAuthError} When it is registered, if the configuration is invalid.
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
  // `register(FastifyAuth)` calls it with an instance, in place of a plugin, whose errors are rejections.
  if (typeof (config as { register?: unknown } | null | undefined)?.register === "function") {
    return Promise.reject(noConfiguration()) as never;
  }
  const plugin: FastifyPluginAsync<FastifyAuthPluginOptions> = async (instance, options) => {
    assertRegistration(instance, options);
    const auth = typeof config === "function" ? undefined : await usableInstance(config, instance);
    if (options.openapi && !instance.hasDecorator(DOCUMENTS.decorator)) {
      instance.log.warn({ code: "FST_AUTHJS_WARN_OPENAPI" }, NO_SWAGGER);
    }
    writeBack(instance);
    if (options.decorateRequest) decorateRequest(instance, config);
    RouteGuards.of(instance);
    const routes: FastifyPluginAsync<FastifyAuthPluginOptions> = async (scope) => {
      const mountPath = toMountPath(scope.prefix);
      // Before any other hook of the scope: one of them may refuse the request.
      redactSpans(scope);
      const mounted: Omit<Mounted, "config"> = { scope: instance, mountPath, paths: new WeakMap() };
      const { mountOf, served, routes } = auth === undefined
        ? await mountPerRequest(scope, { ...mounted, config: config as ConfigForRequest })
        : await mountAtBoot(scope, { ...mounted, config: config as FastifyAuthConfig, auth });
      const describe = options.openapi ? await DOCUMENTS.ofAuthRoutes() : undefined;
      addRoutes(scope, mountOf, { routes, auth: served, describe, ownPrefix: Boolean(options.prefix) });
    };
    await instance.register(fp(routes, { name: "fastify-authjs-routes", encapsulate: true }), options);
    if (auth !== undefined) registerSessions(instance, auth);
  };
  // Without encapsulation: the hook that writes session cookies is for the surrounding scope.
  return fp(plugin, { name: "fastify-authjs", fastify: "5.x || 6.x" });
}

/** What `register` of Fastify takes. */
const OF_FASTIFY = ["prefix", "logLevel", "logSerializers", "name"];

/** Refuses a call that is not that of `register`, and warns of what does nothing beside the prefix. */
function assertRegistration(
  instance: FastifyInstance | undefined,
  options: FastifyAuthPluginOptions | undefined,
): void {
  const how = '`app.register(auth.plugin, { prefix: "/auth" })`';
  if (instance === undefined || options === undefined) {
    throw invalidConfig(`Register \`auth.plugin\` without calling it: ${how}.`);
  }
  for (const [name, value] of Object.entries(options)) {
    const isOwn = name === "openapi" || name === "decorateRequest";
    if (isOwn && ![true, false, undefined].includes(value as boolean)) {
      throw invalidConfig(`The option \`${name}\` of ${how} must be true or false.`);
    }
    if (isOwn || OF_FASTIFY.includes(name)) continue;
    const problem =
      `\`${name}\` is no option of ${how}, so it has no effect: settings of Auth.js are for createAuth().`;
    instance.log.warn({ code: "FST_AUTHJS_WARN_OPTION" }, problem);
  }
}

/** The instance of a configuration, which is checked and says what is to be said of it. */
async function usableInstance(config: unknown, { log }: FastifyInstance): Promise<AuthInstance> {
  if (typeof config !== "object" || config === null) throw noConfiguration();
  const auth = authInstance(config as FastifyAuthConfig);
  await auth.requireReady();
  for (const { message, ...details } of auth.warnings) log.warn(details, message);
  for (const { message, ...details } of auth.used.advice) log.info(details, message);
  auth.config.notices.sendTo(log);
  // As far as known, any `jwt` callback could refresh a session.
  if (auth.settings(true).isShared) await auth.config.otherProcesses?.();
  return auth;
}

/** Reads the session of each request of a scope into `request.session`. The auth routes read it themselves. */
function decorateRequest(scope: FastifyInstance, config: FastifyAuthConfig | ConfigForRequest): void {
  const shownIn = (instance: object) => (instance as { readonly [SHOWN]?: unknown })[SHOWN];
  // Mounted twice.
  if (shownIn(scope) === config) return;
  // Its type is the application's to declare.
  const name: string = "session";
  // A scope within has the property already, and its own configuration counts.
  if (shownIn(scope) === undefined || Object.hasOwn(scope, SHOWN)) scope.decorateRequest(name, null);
  scope.decorate(SHOWN, config as object);
  scope.addHook("onRequest", async (request) => {
    if (isAuthRoute(request.routeOptions.config) || shownIn(request.server) !== config) return;
    Object.assign(request, { [name]: await getSession(request, config as FastifyAuthConfig) });
  });
}

async function mountAtBoot(
  scope: FastifyInstance,
  mounted: Mounted & { readonly config: FastifyAuthConfig; readonly auth: AuthInstance },
) {
  const { auth, config, mountPath } = mounted;
  addMount(mounted);
  assertBasePath(config.basePath, mountPath, auth.config.origin?.path);
  for (const { onMount } of auth.hooks) await onMount?.(scope, auth);
  let mount: Mount;
  // deno-lint-ignore require-await -- only errors of an async hook reject `ready()`
  scope.addHook("onReady", async () => {
    mount = openMount(mounted, config);
  });
  const all = [...AUTH_ROUTES, ...auth.used.features.flatMap(({ routes = [] }) => routes)];
  const routes = all.filter((route) => handlerOf(route, auth) !== undefined);
  return { mountOf: (() => mount) as MountOf, served: auth as Mount["auth"], routes };
}

/** What serves a configuration, now that the application has all its mounts. Logs how it is set up. */
function openMount(mounted: Mounted, config: FastifyAuthConfig): Mount {
  const { log } = mounted.scope;
  const auth = authInstance(config);
  const { origin, core } = auth.config;
  const mountPath = publishMount(mounted, auth);
  assertOwnPages(config.pages, mountPath, origin);
  const mount = serve(config, mountPath);
  if (origin !== undefined && core.cookies !== undefined) reportCookies(log, origin, mount);
  log.info({}, bootMessage(reportOf(auth, mountPath)));
  return mount;
}

/** The property of a request that keeps its mount, if a function chooses the configuration. */
const MOUNT: unique symbol = Symbol("fastify-authjs.mount");

async function mountPerRequest(scope: FastifyInstance, mounted: Mounted & { readonly config: ConfigForRequest }) {
  const { mountPath } = mounted;
  const tenants = Tenants.of(mounted.config);
  const mounts = new WeakMap<FastifyAuthConfig, Promise<Mount>>();
  const open = async (config: FastifyAuthConfig) => {
    const auth = authInstance(config);
    assertBasePath(config.basePath, mountPath, auth.config.origin?.path);
    const long = [...auth.config.providers.keys()].find((id) => id.length > longestParameter(scope));
    if (long !== undefined) {
      throw invalidProvider(
        `The id "${long}" is longer than the router lets a parameter be: shorten it, or set ` +
          "`routerOptions: { maxParamLength }` of Fastify.",
      );
    }
    for (const { onMount } of auth.hooks) await onMount?.(scope, auth);
    return openMount(mounted, config);
  };
  addMount({
    ...mounted,
    async prepare(config) {
      if (!mounts.has(config)) mounts.set(config, open(config));
      await mounts.get(config);
    },
  });
  scope.decorateRequest(MOUNT);
  scope.addHook("onRequest", async (request) => {
    const config = await tenants.configOf(request);
    (request as { [MOUNT]?: Mount })[MOUNT] = await mounts.get(config)!;
  });
  // deno-lint-ignore require-await -- as above
  scope.addHook("onReady", async () => scope.log.info({}, reportOf(undefined, mountPath).line));
  // For the pages of requests that have no configuration.
  const none: FastifyAuthConfig = { providers: [], secret: crypto.randomUUID(), trustHost: true };
  const bare = serve(none, mountPath);
  const mountOf: MountOf = (request) => (request as { [MOUNT]?: Mount })[MOUNT] ?? bare;
  // Any configuration may use any feature.
  const features = await Promise.all(FEATURES.flatMap(({ load }) => load?.() ?? []));
  const routes = [...AUTH_ROUTES, ...features.flatMap(({ routes = [] }) => routes)];
  return { mountOf, served: bare.auth, routes };
}

function serve(config: FastifyAuthConfig, mountPath: string): Mount {
  const auth = authInstance(config);
  return { auth, mountPath, readSession: (request) => readSession(request, config) };
}

const NO_SWAGGER = "FastifyAuth: `openapi: true` has no effect, since there is no document here. Register " +
  "@fastify/swagger before FastifyAuth, in its scope or around it.";

function noConfiguration(): FastifyAuthError {
  return invalidConfig(
    "FastifyAuth() makes the plugin from a configuration. Call it with one: " +
      '`app.register(FastifyAuth(config), { prefix: "/auth" })`.',
  );
}
