/**
 * The context of a request to a route of the plugin.
 *
 * @module
 */
import type { FastifyRequest } from "fastify";
import type { AuthInstance } from "../auth_instance.ts";
import { type AuthCookie, cookieSettings } from "../config/cookies.ts";
import type { RequestContext } from "../core/context.ts";
import { withKnownCsrfCookie } from "../core/csrf.ts";
import { hashSecrets } from "../core/secrets.ts";
import { type AuthBody, authBody } from "../http/body.ts";
import { normalizeCallbackCookie, normalizeCallbackUrl } from "../http/callback_url.ts";
import { queryOf } from "../http/query.ts";
import { received } from "../http/received.ts";
import { toCoreLogger } from "../core/logger.ts";
import { withoutLookAlikes } from "../session/cookie.ts";
import { readSession } from "../get_session.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { authQuery } from "./query.ts";
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
 * @param request A request that was received: its host is valid, and the route serves its method and provider.
 * @throws {FastifyAuthError} 400 for a body that cannot be used, 414 for a query that is too long.
 */
export function requestContext(
  request: FastifyRequest,
  { action }: AuthRoute,
  { config, auth, mountPath }: Mount,
): RequestContext {
  const resolved = auth.config;
  const { method, url, origin, headers, params, body: parsed } = received(request);
  const { logger, debug } = resolved.core;
  const provider = resolved.providers.get(params.provider ?? "");
  const { query, callbackUrl } = authQuery(queryOf(url), { action, method, type: provider?.type });
  const body = method === "POST" ? normalizeBody(authBody(parsed, action), callbackUrl) : undefined;
  return {
    config: resolved,
    settings: auth.settings(origin.secure),
    mountPath,
    origin,
    action,
    provider,
    method,
    headers,
    cookies: normalizeCookies(headers.cookie ?? "", auth, origin.secure),
    query,
    body,
    callbackUrl: body?.callbackUrl as string | undefined,
    readSession: () => readSession(request, config),
    logger: toCoreLogger(request.log, logger, debug),
    warnOnce: (what, message) => auth.once(what, () => request.log.warn(`Auth.js: ${message}`)),
  };
}

function normalizeCookies(header: string, auth: AuthInstance, secure: boolean): string {
  const { core } = auth.config;
  const nameOf = (cookie: AuthCookie) => cookieSettings(cookie, core, secure).name;
  return withKnownCsrfCookie(
    withoutLookAlikes(normalizeCallbackCookie(header, nameOf("callbackUrl")), nameOf("sessionToken")),
    nameOf("csrfToken"),
    hashSecrets(core.secret),
  );
}

function normalizeBody({ callbackUrl, ...body }: AuthBody, otherwise: string | undefined): AuthBody {
  const normalized = normalizeCallbackUrl(callbackUrl) ?? otherwise;
  return normalized === undefined ? body : { ...body, callbackUrl: normalized };
}
