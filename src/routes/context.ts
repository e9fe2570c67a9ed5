/** The context of a request to a route of the plugin. */
import type { FastifyRequest } from "fastify";
import type { Log, NoticeCode } from "../config/notices.ts";
import type { AuthInUse, Limited, RequestContext } from "../core/context.ts";
import { type AuthBody, authBody } from "../http/body.ts";
import { namedCallbackUrl, normalizeCallbackCookie, normalizeCallbackUrl } from "../http/callback_url.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { Received } from "../http/auth_route.ts";
import { toCoreLogger } from "../core/logger.ts";
import { readSessionCookie } from "../session/cookie.ts";
import type { SessionRead } from "../session/read.ts";
import { eventsOf } from "../telemetry/events.ts";
import { authQuery } from "./query.ts";

/** What the routes of one registration share, for one configuration. */
export interface Mount {
  readonly auth: AuthInUse;
  readonly mountPath: string;
  readonly readSession: (request: FastifyRequest) => Promise<SessionRead>;
}

interface ContextRequest extends Received {
  readonly action: string;
  readonly parameters?: readonly string[] | undefined;
  readonly limited?: Limited | undefined;
  readonly fromApplication?: boolean;
}

/** Builds the context: each part of what a request, or the application, asks is normalised here and nowhere else. */
export function requestContext(
  request: FastifyRequest,
  asked: ContextRequest,
  { auth, mountPath, readSession }: Mount,
): RequestContext {
  const { action, method, origin, headers, id, parameters, limited, fromApplication = false } = asked;
  const { config } = auth;
  const { log } = request;
  const settings = auth.settings(origin.secure);
  const provider = config.providers.get(id ?? "");
  const route = { action, method, type: provider?.type, parameters };
  const { query, callbackUrl } = authQuery(asked.query, route, origin.href);
  const fields = method === "POST" ? authBody(asked.body, action) : undefined;
  // One field of the sign-in page may be for a user name and for the address of a mail.
  const isOfName = provider?.type === "email" && fields?.email === undefined && fields?.username !== undefined;
  const sent = isOfName ? { ...fields, email: fields.username } : fields;
  const address = sent?.callbackUrl ?? callbackUrl;
  if (address) warnOfRefusal(address as string, origin, auth, log);
  // That of a sign-in may be in the query, and core would send the query to the provider.
  const fallback = action === "signin" || action === "callback" ? callbackUrl : undefined;
  const choice = sent?.rememberMe as string | undefined;
  const body = sent && address !== undefined ? withCallbackUrl(sent, fallback, origin) : sent;
  const { cookie } = headers;
  const cookies = cookie ? normalizeCallbackCookie(cookie, settings.callbackUrlCookie.name, origin.href) : "";
  return {
    request,
    auth,
    config,
    settings,
    mountPath,
    origin,
    action,
    provider,
    method,
    limited,
    headers,
    cookies,
    held: readSessionCookie(cookies, settings.cookie.name),
    query,
    body,
    callbackUrl: body?.callbackUrl as string | undefined,
    rememberMe: config.ephemeralMaxAge === undefined || (choice === undefined ? undefined : choice !== "false"),
    fromApplication,
    publish: eventsOf(request, { mountPath, provider: provider?.id }),
    readSession: () => readSession(request),
    logger: toCoreLogger(log, auth),
  };
}

function withCallbackUrl({ callbackUrl, ...body }: AuthBody, fallback: string | undefined, { href }: PublicOrigin) {
  const normalized = namedCallbackUrl(callbackUrl || fallback, href);
  return normalized === undefined ? body : { ...body, callbackUrl: normalized };
}

/** A `redirect` callback decides itself. */
function warnOfRefusal(callbackUrl: string, { href }: PublicOrigin, auth: AuthInUse, log: Log): void {
  if (auth.config.core.callbacks?.redirect) return;
  const url = normalizeCallbackUrl(callbackUrl);
  const other = url?.startsWith("/") ? href : url && new URL(url).origin;
  if (other === href) return;
  const problem = other === undefined
    ? "A `callbackUrl` was refused, so the user goes elsewhere: it has to be a path that begins with " +
      '"/", or an http or https URL, of at most 2,048 characters.'
    : `A \`callbackUrl\` on ${other} was refused, since it is another origin than ${href}: the user goes ` +
      `to ${href} instead. If ${other} is yours, have \`callbacks.redirect({ url, baseUrl })\` return it.`;
  const code: NoticeCode = "FST_AUTHJS_WARN_CALLBACK_URL";
  auth.once("callback url", () => log.warn({ code }, problem));
}
