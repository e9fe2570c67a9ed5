/**
 * The context of a request to a route of the plugin.
 *
 * @module
 */
import type { FastifyRequest } from "fastify";
import type { AuthInstance } from "../auth_instance.ts";
import { cookieSettings } from "../config/cookies.ts";
import type { RequestContext } from "../core/context.ts";
import { type AuthBody, authBody } from "../http/body.ts";
import { normalizeCallbackCookie, normalizeCallbackUrl, normalizeQuery } from "../http/callback_url.ts";
import { requireOrigin } from "../http/origin.ts";
import { toCoreLogger } from "../logger.ts";
import { readSession } from "../session/get_session.ts";
import type { FastifyAuthConfig } from "../types.ts";
import type { AuthRoute } from "./table.ts";

/** A configuration and where it is mounted. */
export interface Mount {
  readonly config: FastifyAuthConfig;
  readonly auth: AuthInstance;
  readonly mountPath: string;
}

/**
 * Builds the context: each part of the request is normalised here and nowhere else.
 *
 * @param request A request whose method and provider the route serves.
 * @throws {FastifyAuthError} 400 for a host or a body that cannot be used.
 */
export function requestContext(
  request: FastifyRequest<{ Params: { provider?: string } }>,
  { action }: AuthRoute,
  { config, auth, mountPath }: Mount,
): RequestContext {
  const resolved = auth.config;
  const origin = requireOrigin(request, resolved.origin);
  const { logger, debug } = resolved.core;
  const body = request.method === "POST" ? normalizeBody(authBody(request, action)) : undefined;
  return {
    config: resolved,
    settings: auth.settings(origin.secure),
    mountPath,
    origin,
    action,
    provider: resolved.providers.get(request.params.provider ?? ""),
    method: request.method as "GET" | "POST",
    headers: request.headers,
    cookies: normalizeCallbackCookie(
      request.headers.cookie ?? "",
      cookieSettings("callbackUrl", resolved.core, origin.secure).name,
    ),
    query: normalizeQuery(queryOf(request)),
    body,
    callbackUrl: body?.callbackUrl as string | undefined,
    readSession: () => readSession(request, config),
    logger: toCoreLogger(request.log, logger, debug),
  };
}

function normalizeBody({ callbackUrl, ...body }: AuthBody): AuthBody {
  const normalized = normalizeCallbackUrl(callbackUrl);
  return normalized === undefined ? body : { ...body, callbackUrl: normalized };
}

function queryOf(request: FastifyRequest): string {
  const { url = "" } = request.raw;
  const start = url.indexOf("?");
  return start === -1 ? "" : url.slice(start + 1);
}
