/** Which requests to the auth routes are answered, as far as that is known before their body is parsed. */
import type { DoneFuncWithErrOrRes, FastifyReply, FastifyRequest } from "fastify";
import { cookieWarnings } from "../config/cookies.ts";
import type { Log, NoticeCode } from "../config/notices.ts";
import type { AskedRequest, AuthInUse } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";
import { assertPlainEncoding } from "../http/body.ts";
import { assertNotCrossSite } from "../http/cross_site.ts";
import { type PublicOrigin, requireOrigin } from "../http/origin.ts";
import { originContradiction } from "../http/origin_check.ts";
import { keepRequest } from "../http/auth_route.ts";
import { protectReply } from "../http/reply_headers.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import type { Mount } from "./context.ts";
import { type AuthRoute, handlerOf, isCallbackOfServer, methodsFor } from "./table.ts";

export type MountOf = (request: FastifyRequest) => Mount;

/**
 * The hook of a route that refuses what needs no body, and keeps the rest as it came.
 * @param ofPath The provider, if the path is for that one alone.
 */
export function admission(route: AuthRoute, mountOf: MountOf, ofPath: string | undefined) {
  return (request: FastifyRequest, reply: FastifyReply, done: DoneFuncWithErrOrRes): void => {
    protectReply(reply);
    const mount = mountOf(request);
    const { auth } = mount;
    const { config, hooks } = auth;
    const id = ofPath ?? (request.params as { provider?: string }).provider;
    const provider = assertServed(request, reply, id, route, auth);
    if ("content-encoding" in request.headers) assertPlainEncoding(request);
    const origin = requireOrigin(request, config.origin);
    reportOrigin(request, origin, mount);
    if (config.core.cookies !== undefined) reportCookies(request.log, origin, mount);
    const isCallback = isCallbackOfServer(route, provider);
    // What a server sends is signed.
    const isPost = request.method === "POST" && !route.fromServers;
    const { action, limited } = route;
    const isTaken = isPost && hooks.some(({ takesForms }) => takesForms?.({ action, provider, request }));
    if (!isCallback && !isTaken && (isPost || action === "webauthn-options")) {
      assertNotCrossSite(request.headers, origin.href, config.trustedOrigins);
    }
    keepRequest(request, id, origin);
    if (hooks.every(({ onAuthRequest }) => onAuthRequest === undefined)) return done();
    const { method } = request;
    const { cookie: cookies = "" } = request.headers;
    const settings = auth.settings(origin.secure);
    askHooks({ auth, request, config, settings, origin, action, method, provider, limited, cookies })
      .then(() => done(), done);
  };
}

export async function askHooks(asked: AskedRequest): Promise<void> {
  for (const { onAuthRequest } of asked.auth.hooks) await onAuthRequest?.(asked);
}

/** Says once that a request contradicts the origin in use. */
function reportOrigin(request: FastifyRequest, origin: PublicOrigin, { auth }: Mount): void {
  const found = originContradiction(request, { origin, from: auth.config.originSource.setting });
  if (found === undefined) return;
  const level = found.certain ? "warn" : "info";
  const code: NoticeCode = "FST_AUTHJS_WARN_ORIGIN";
  auth.once(`origin ${level}`, () => request.log[level]({ code }, found.message));
}

/** Says once for each scheme which cookies cannot work. */
export function reportCookies(log: Log, origin: PublicOrigin, { auth, mountPath }: Mount): void {
  auth.once(`cookies ${origin.secure}`, () => {
    for (const { message, code } of cookieWarnings(auth.config, origin, mountPath)) log.warn({ code }, message);
  });
}

/** The provider that the path names. Refuses others than are configured, and methods that are not served. */
function assertServed(
  request: FastifyRequest,
  reply: FastifyReply,
  id: string | undefined,
  route: AuthRoute,
  auth: AuthInUse,
): ProviderSummary | undefined {
  const provider = id === undefined ? undefined : auth.config.providers.get(id);
  if (route.provider && (provider === undefined || route.isServedFor?.(provider) === false)) {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such provider.");
  }
  if (handlerOf(route, auth) === undefined) {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such route.");
  }
  const methods = provider === undefined ? route.methods : methodsFor(route, provider);
  if ((methods as readonly string[]).includes(request.method)) return provider;
  reply.header("allow", methods.join(", "));
  throw new FastifyAuthError("FST_AUTHJS_METHOD_NOT_ALLOWED", `Use ${methods.join(" or ")}.`);
}
