/** The plugin, which registers the routes. */
import type { FastifyInstance, FastifyPluginAsync } from "fastify";
import fp from "fastify-plugin";
import { type AuthInstance, authInstance } from "./instance/auth_instance.ts";
import type { NoticeCode } from "./config/notices.ts";
import type { ResolvedConfig } from "./config/resolve.ts";
import { assertBasePath, assertOwnPages, toMountPath } from "./config/mount_path.ts";
import { FastifyAuthError } from "./errors.ts";
import { readSession } from "./instance/read_session.ts";
import { bootMessage, reportOf, reportPerRequest } from "./instance/boot_report.ts";
import { addMount, addTenantMount } from "./instance/mount.ts";
import { redactSpans } from "./http/redact_spans.ts";
import { addRoutes, longestParameter } from "./routes/add_routes.ts";
import { type MountOf, reportCookies } from "./routes/admission.ts";
import type { LimitedMount } from "./routes/answer_request.ts";
import { addNotFound } from "./routes/not_found.ts";
import type { authOperation } from "./routes/openapi.ts";
import { RouteGuards } from "./guard/route_guards.ts";
import { registerSessions } from "./instance/shared_sessions.ts";
import { writeBack } from "./session/reply.ts";
import { Tenants } from "./instance/tenants.ts";
import type { ConfigForRequest, FastifyAuthConfig } from "./types.ts";

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
  // deno-lint-ignore require-await -- only errors of an async hook reject `ready()`
  scope.addHook("onReady", async () => reportMount({ auth, config, scope, paths }, mount));
}

/** A configuration, and where it is mounted. */
interface MountParts {
  readonly auth: AuthInstance;
  readonly config: FastifyAuthConfig;
  readonly scope: FastifyInstance;
  readonly paths: LimitedMount["paths"];
}

async function limitedMount({ auth, config, scope, paths }: MountParts): Promise<LimitedMount> {
  const limits = await auth.limits(scope);
  return { auth, paths, limits, readSession: (request) => readSession(request, config) };
}

/** Says how a configuration is set up, now that the paths of its mount are known. */
function reportMount({ auth, config, scope, paths }: MountParts, mount: LimitedMount): void {
  const { origin } = auth.config;
  assertOwnPages(config.pages, paths().mount, origin);
  if (origin !== undefined && auth.config.core.cookies !== undefined) reportCookies(scope.log, origin, mount);
  scope.log.info({}, bootMessage(reportOf(auth, paths().mount)));
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
    const parts = { auth, config, scope, paths: addTo(auth) };
    const mount = await limitedMount(parts);
    reportMount(parts, mount);
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
    config: bare.auth.config,
    describe: await describing(options),
    perRequest: true,
  });
  addNotFound(scope, mountOf, Boolean(options.prefix));
  // deno-lint-ignore require-await -- as above
  scope.addHook("onReady", async () => scope.log.info({}, bootMessage(reportPerRequest(mountPath))));
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

async function describing(
  { openapi }: FastifyAuthPluginOptions,
): Promise<typeof authOperation | undefined> {
  return openapi === true ? (await import("./routes/openapi.ts")).authOperation : undefined;
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
