/**
 * The plugin: it registers the routes, and it is the only module that registers anything.
 *
 * @module
 */
import type {
  DoneFuncWithErrOrRes,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
} from "fastify";
import fp from "fastify-plugin";
import { AUTH_ROUTE, AUTH_ROUTES, type AuthRoute, methodsFor } from "./actions.ts";
import { assertPlainEncoding, type AuthBody, authBody, BODY_LIMIT, useAuthBodyParsers } from "./http/body.ts";
import {
  callbackCookieName,
  keepCallbackUrl,
  normalizeCallbackCookie,
  normalizeCallbackUrl,
  normalizeQuery,
} from "./http/callback_url.ts";
import type { ResolvedConfig } from "./config/config.ts";
import { callCore, type CoreCall } from "./core.ts";
import { unavailableError } from "./database/request.ts";
import { withToken } from "./email/outcome.ts";
import { FastifyAuthError } from "./errors.ts";
import { toCoreLogger } from "./logger.ts";
import { assertBasePath, rememberMount, toMountPath } from "./config/mount_path.ts";
import { answerForOAuth } from "./oauth/callback.ts";
import { type PublicOrigin, requireOrigin } from "./http/origin.ts";
import type { ProviderRequest } from "./provider/request.ts";
import { redactingSerializers } from "./http/redact.ts";
import { sendWebResponse } from "./http/reply.ts";
import { toWebRequest } from "./http/request.ts";
import { protectReply } from "./http/security_headers.ts";
import { sendSession } from "./session/route.ts";
import { answerUpdate } from "./session/update.ts";
import type { FastifyAuthConfig } from "./types.ts";
import { requireUsableConfig } from "./config/usable.ts";
import { answerForWebAuthn } from "./webauthn/request.ts";
import { writeBack } from "./session/write_back.ts";

/** Options of the registration. */
export interface FastifyAuthPluginOptions {
  /** The mount path, such as `/auth`; needed unless the surrounding scope has a prefix already. */
  prefix?: string;
}

/**
 * Makes the plugin that adds every route of Auth.js to an application.
 *
 * @param config The configuration; it is copied, never written to.
 * @returns A plugin for `register`, with the mount path as its `prefix`.
 * @throws {FastifyAuthError} When registered: with a `code` that says which setting cannot be used.
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
export function FastifyAuth(config: FastifyAuthConfig): FastifyPluginAsync<FastifyAuthPluginOptions> {
  const plugin: FastifyPluginAsync<FastifyAuthPluginOptions> = async (instance, options) => {
    const resolved = await requireUsableConfig(config);
    for (const warning of resolved.warnings) instance.log.warn(warning);
    writeBack(instance);
    // deno-lint-ignore require-await -- Fastify hands an error to who registered only if the plugin is async
    await instance.register(async (scope) => {
      const mountPath = toMountPath(scope.prefix);
      assertBasePath(config.basePath, mountPath);
      rememberMount(scope.server, config, mountPath);
      addRoutes(scope, { config, resolved, mountPath });
    }, options);
  };
  // Hooks for refreshed cookies belong to the surrounding scope; the routes get an inner one.
  return fp(plugin, { name: "fastify-authjs", fastify: "5.x" });
}

/** A configuration and where it is mounted. */
interface Mount {
  readonly config: FastifyAuthConfig;
  readonly resolved: ResolvedConfig;
  readonly mountPath: string;
}

function addRoutes(scope: FastifyInstance, mount: Mount): void {
  useAuthBodyParsers(scope);
  for (const route of AUTH_ROUTES) addRoute(scope, route, mount);
  addNotFound(scope);
}

/** What the routes have in common. */
function routeDefaults(scope: FastifyInstance) {
  return {
    method: scope.supportedMethods as string[],
    exposeHeadRoute: false,
    logSerializers: redactingSerializers(scope.log),
    config: { [AUTH_ROUTE]: true },
    // A hook of the route runs after those of every instance: what they set is set over.
    onSend: (_request: unknown, reply: FastifyReply, payload: unknown, done: DoneFuncWithErrOrRes) => {
      protectReply(reply);
      done(null, payload);
    },
  } as const;
}

/**
 * Takes what is below the mount path and no route: a callback address with a mistake in it carries the same code,
 * which the application's own "not found" would log and send.
 */
function addNotFound(scope: FastifyInstance): void {
  const notFound = () => {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such route.");
  };
  scope.route({ ...routeDefaults(scope), url: "/*", onRequest: notFound, handler: notFound });
}

function addRoute(
  scope: FastifyInstance,
  route: AuthRoute,
  { config, resolved, mountPath }: Mount,
): void {
  const { action } = route;
  scope.route<{ Params: { provider?: string } }>({
    ...routeDefaults(scope),
    url: route.provider ? `/${action}/:provider` : `/${action}`,
    bodyLimit: BODY_LIMIT,
    // Before the body is read: what is refused here need not be parsed.
    onRequest: (request, reply, done) => {
      assertServed(request, reply, route, resolved);
      assertPlainEncoding(request);
      requireOrigin(request, resolved.origin);
      done();
    },
    handler: (request, reply) => {
      const { provider } = request.params;
      if (action === "session" && request.method === "GET") return sendSession(request, reply, config);
      const kind = provider && resolved.providers.get(provider)?.type;
      const asked = normalizeQuery(queryOf(request));
      const query = action === "callback" && kind === "email" ? withToken(asked) : asked;
      // Core serves no page for one provider; the sign-in page is where this was meant to lead.
      if (action === "signin" && provider !== undefined && request.method === "GET") {
        return reply.redirect(`${mountPath}/signin${query && `?${query}`}`);
      }
      return answer(request, reply, { action, provider, query, resolved, mountPath });
    },
  });
}

/** Refuses providers that are not configured and methods that are not served. */
function assertServed(
  request: FastifyRequest<{ Params: { provider?: string } }>,
  reply: FastifyReply,
  route: AuthRoute,
  resolved: ResolvedConfig,
): void {
  const id = request.params.provider;
  const provider = id === undefined ? undefined : resolved.providers.get(id);
  if (route.provider && provider === undefined) {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such provider.");
  }
  const methods = provider === undefined ? route.methods : methodsFor(route, provider);
  if ((methods as readonly string[]).includes(request.method)) return;
  reply.header("allow", methods.join(", "));
  throw new FastifyAuthError("FST_AUTHJS_METHOD_NOT_ALLOWED", `Use ${methods.join(" or ")}.`);
}

interface Call {
  readonly action: string;
  readonly provider: string | undefined;
  readonly query: string;
  readonly resolved: ResolvedConfig;
  readonly mountPath: string;
}

async function answer(request: FastifyRequest, reply: FastifyReply, call: Call): Promise<FastifyReply> {
  const { resolved, mountPath } = call;
  const origin = requireOrigin(request, resolved.origin);
  const { logger, debug } = resolved.core;
  const web = toCoreRequest(request, origin, call);
  const core = { basePath: mountPath, logger: toCoreLogger(request.log, logger, debug) };
  const provider = resolved.providers.get(call.provider ?? "");
  const response = provider === undefined
    ? await answerAction(resolved, call.action, web, core)
    : await answerForProvider({ request: web, action: call.action, provider, resolved, call: core });
  // Thrown, so that the application's error handler has its say; only our own answer has this status.
  if (response.status === 503) {
    for (const cookie of response.headers.getSetCookie()) reply.header("set-cookie", cookie);
    throw unavailableError();
  }
  const named = provider && normalizeCallbackUrl((request.body as AuthBody | undefined)?.callbackUrl);
  return await sendWebResponse(
    reply,
    named ? keepCallbackUrl(response, named, origin.secure, resolved.core) : response,
  );
}

/** What concerns no provider: pages, sign-out, and the update of a session. */
async function answerAction(resolved: ResolvedConfig, action: string, request: Request, call: CoreCall) {
  if (action === "session") return await answerUpdate(resolved, request, call);
  const response = await callCore(resolved, request, call);
  // Anybody can open the page that tells of a server error; to show it is none.
  const failed = action === "error" && response.status >= 500;
  return failed ? new Response(response.body, { headers: response.headers }) : response;
}

function answerForProvider(step: ProviderRequest): Promise<Response> {
  const { type } = step.provider;
  if (type === "oauth" || type === "oidc") return answerForOAuth(step);
  return type === "webauthn" ? answerForWebAuthn(step) : callCore(step.resolved, step.request, step.call);
}

/** The request as core sees it: the path from the route's own parameters, so that the two cannot differ. */
function toCoreRequest(request: FastifyRequest, origin: PublicOrigin, call: Call): Request {
  const { action, provider, query, resolved, mountPath } = call;
  const path = provider === undefined ? action : `${action}/${provider}`;
  return toWebRequest({
    url: `${origin.href}${mountPath}/${path}${query && `?${query}`}`,
    method: request.method,
    headers: request.headers,
    override: {
      host: new URL(origin.href).host,
      cookie: normalizeCallbackCookie(
        request.headers.cookie ?? "",
        callbackCookieName(origin.secure, resolved.core),
      ),
    },
    body: request.method === "POST" ? withNormalCallbackUrl(authBody(request, action)) : undefined,
  });
}

function withNormalCallbackUrl({ callbackUrl, ...body }: Record<string, unknown>): Record<string, unknown> {
  const normalized = normalizeCallbackUrl(callbackUrl);
  return normalized === undefined ? body : { ...body, callbackUrl: normalized };
}

function queryOf(request: FastifyRequest): string {
  const { url = "" } = request.raw;
  const start = url.indexOf("?");
  return start === -1 ? "" : url.slice(start + 1);
}
