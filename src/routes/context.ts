/** The context of a request to a route of the plugin. */
import type { FastifyRequest } from "fastify";
import { type AuthCookie, cookieSettings } from "../config/cookies.ts";
import type { NoticeCode } from "../config/notices.ts";
import type { PublicPaths } from "../config/public_path.ts";
import type { ResolvedConfig } from "../config/resolve.ts";
import type { AuthAction, RequestContext } from "../core/context.ts";
import { withKnownCsrfCookie } from "../core/csrf.ts";
import { type AuthBody, authBody } from "../http/body.ts";
import { namedCallbackUrl, normalizeCallbackCookie, normalizeCallbackUrl } from "../http/callback_url.ts";
import { parseQuery, queryOf } from "../http/query.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { Received } from "../http/received.ts";
import type { Assets } from "../pages/assets.ts";
import { toCoreLogger } from "../core/logger.ts";
import { Trail } from "../core/trail.ts";
import type { SessionRead } from "../session/read.ts";
import type { SessionSettings } from "../session/settings.ts";
import { authQuery } from "./query.ts";

/** What the routes of one registration share, for one configuration. */
export interface Mount extends ContextMount {
  /** What the built-in pages load. */
  readonly assets: () => Promise<Assets>;
}

/** What the contexts of one registration share, for one configuration. */
export interface ContextMount {
  readonly config: ResolvedConfig;
  /** The paths of the mount as users see them. */
  readonly paths: () => PublicPaths;
  /** The session settings for https (`secure`) or http. */
  readonly settings: (secure: boolean) => SessionSettings;
  /** Reads the session of a request, once however often it is called. */
  readonly readSession: (request: FastifyRequest) => Promise<SessionRead>;
  /** Runs `tell` once for each `what`. */
  readonly once: (what: string, tell: () => void) => void;
}

/** What is asked. */
export interface ContextRequest extends Received {
  readonly action: AuthAction;
  /** Whether the application asks it. */
  readonly fromApplication?: boolean;
}

/**
 * Builds the context: each part of the request is normalised here and nowhere else.
 *
 * @param request The request.
 * @param received What is asked: by the request itself, on a route of the plugin, or else by the application.
 * @throws {FastifyAuthError} 400 for a body that cannot be used, 414 for a query that is too long.
 */
export function requestContext(
  request: FastifyRequest,
  { action, method, url, origin, headers, params, body: parsed, fromApplication = false }: ContextRequest,
  { config, paths, settings, readSession, once }: ContextMount,
): RequestContext {
  const { logger, debug } = config.core;
  const provider = config.providers.get(params.provider ?? "");
  const { query, callbackUrl } = authQuery(
    queryOf(url),
    { action, method, type: provider?.type },
    origin.href,
  );
  const sent = method === "POST" ? authBody(parsed, action) : undefined;
  const body = sent && normalizeBody(sent, callbackUrl, origin.href);
  const refused = refusedCallbackUrl(sent?.callbackUrl ?? sentCallbackUrl(url), origin, config);
  if (refused !== undefined) {
    const code: NoticeCode = "FST_AUTHJS_WARN_CALLBACK_URL";
    once("callback url", () => request.log.warn({ code }, refused));
  }
  return {
    config,
    settings: settings(origin.secure),
    otherSettings: () => settings(!origin.secure),
    mountPath: paths().mount,
    origin,
    action,
    provider,
    method,
    headers,
    cookies: normalizeCookies(headers.cookie ?? "", config, origin),
    query,
    body,
    callbackUrl: body?.callbackUrl as string | undefined,
    fromApplication,
    trail: Trail.begin({ request, mountPath: paths().mount, provider: provider?.id }),
    readSession: () => readSession(request),
    logger: toCoreLogger(request.log, logger, debug),
    log: request.log,
    once,
    warnOnce: (what, message, code) => once(what, () => request.log.warn({ code }, `Auth.js: ${message}`)),
  };
}

function normalizeCookies(
  header: string,
  { core, hashSecrets }: ResolvedConfig,
  { href, secure }: PublicOrigin,
): string {
  if (header === "") return header;
  const nameOf = (cookie: AuthCookie) => cookieSettings(cookie, core, secure).name;
  const normalized = normalizeCallbackCookie(header, nameOf("callbackUrl"), href);
  return withKnownCsrfCookie(normalized, nameOf("csrfToken"), hashSecrets);
}

function normalizeBody(
  { callbackUrl, ...body }: AuthBody,
  fallback: string | undefined,
  frontPage: string,
): AuthBody {
  const normalized = namedCallbackUrl(callbackUrl, frontPage) ?? fallback;
  return normalized === undefined ? body : { ...body, callbackUrl: normalized };
}

function sentCallbackUrl(url: string): string | null {
  return url.includes("callbackUrl=") ? parseQuery(queryOf(url)).get("callbackUrl") : null;
}

/**
 * Why a `callbackUrl` is not where the user will go, with what to change. A `redirect` callback decides
 * itself.
 */
function refusedCallbackUrl(
  sent: unknown,
  origin: PublicOrigin,
  { core }: ResolvedConfig,
): string | undefined {
  if (typeof sent !== "string" || sent === "" || core.callbacks?.redirect) return undefined;
  const url = normalizeCallbackUrl(sent);
  if (url === undefined) {
    return "A `callbackUrl` was refused, so the user goes elsewhere: it has to be a path that begins with " +
      '"/", or an http or https URL, of at most 2,048 characters.';
  }
  if (url.startsWith("/") || new URL(url).origin === origin.href) return undefined;
  const other = new URL(url).origin;
  return `A \`callbackUrl\` on ${other} was refused, since it is another origin than ${origin.href}: the user goes ` +
    `to ${origin.href} instead. If ${other} is yours, have \`callbacks.redirect({ url, baseUrl })\` return it.`;
}
