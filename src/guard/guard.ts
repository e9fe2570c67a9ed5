/** The guard: lets a request pass, or refuses it. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { authInstance } from "../instance/auth_instance.ts";
import type { NoticeCode } from "../config/notices.ts";
import type { Guarded, GuardRefusal } from "../core/context.ts";
import { FastifyAuthError, type FastifyAuthErrorCode } from "../errors.ts";
import { isAuthRoute } from "../http/auth_route.ts";
import { assertNotCrossSite } from "../http/cross_site.ts";
import { originOf } from "../http/origin.ts";
import { keepPrivate, keepUnstored } from "../http/private_reply.ts";
import { headerText, withVary } from "../http/reply_headers.ts";
import { invalid } from "../instance/arguments.ts";
import { isUsed } from "../instance/feature.ts";
import { pathsIn } from "../instance/mount.ts";
import { presentedToken, readSession } from "../instance/read_session.ts";
import { authorizer, featuresOf, type RequireSessionOptions } from "./guard_options.ts";
import type { RouteAuthConfig } from "./route_auth.ts";
import { isPageView, isSignInPage, returnPath, signInAddress } from "./sign_in_redirect.ts";
import type { ConfigForRequest, FastifyAuthConfig, GuardedReply, GuardedRequest, Session } from "../types.ts";
import { Tenants } from "../instance/tenants.ts";
import { CallbackFailure } from "../session/read.ts";
import { eventsOf } from "../telemetry/events.ts";
import { later } from "../utils/later.ts";

const sendUnreadableSession = later(async () =>
  (await import("../actions/unreadable_session.ts")).sendUnreadableSession
);

/** The hook that `requireSession()` makes, for `onRequest` or `preHandler`. */
export type SessionGuard = (request: GuardedRequest, reply: GuardedReply) => Promise<unknown>;

/** Marks a hook as a guard: tells what it requires on a route with this `config`, if it guards that route. */
export const GUARD: unique symbol = Symbol("fastify-authjs.guard");

/** What a guard requires, for descriptions of its routes. */
export interface Guarding {
  /** Whose sessions: of a configuration, or of one that a function chooses. */
  readonly source: FastifyAuthConfig | ConfigForRequest;
  /** The codes with which it may answer a user who has to sign in again. */
  readonly codes: readonly FastifyAuthErrorCode[];
}

/** A hook, which may be a guard. */
export interface MarkedHook {
  [GUARD]?: (config: unknown) => Guarding | undefined;
}

/**
 * The guard of a configuration, or of those that a function chooses.
 *
 * @param options Which signed-in users may pass, checked before.
 * @param where What the options belong to, for the log.
 */
export function sessionGuard(
  config: FastifyAuthConfig | ConfigForRequest,
  options: RequireSessionOptions,
  where: string,
): SessionGuard {
  const guard = typeof config === "function"
    ? guardPerRequest(config, options, where)
    : guardOf(config, options, where);
  return options.respectRouteConfig ? exceptOpenRoutes(guard) : guard;
}

/** Leaves routes open that say so in their `config`. */
function exceptOpenRoutes(guard: SessionGuard & MarkedHook): SessionGuard {
  const isOpen = (config: unknown) => (config as RouteAuthConfig | undefined)?.auth === false;
  const own: SessionGuard = async (request, reply) =>
    isOpen(request.routeOptions.config) ? undefined : await guard(request, reply);
  return Object.assign(own, {
    [GUARD]: (config: unknown) => isOpen(config) ? undefined : guard[GUARD]!(config),
  });
}

function guardPerRequest(
  choose: ConfigForRequest,
  options: RequireSessionOptions,
  where: string,
): SessionGuard {
  const tenants = Tenants.of(choose);
  const guards = new WeakMap<FastifyAuthConfig, SessionGuard>();
  const guard: SessionGuard = async (request, reply) => {
    if (isAuthRoute(request.routeOptions.config)) return;
    try {
      const config = await tenants.configOf(request);
      let own = guards.get(config);
      if (own === undefined) guards.set(config, own = guardOf(config, options, where));
      return await own(request, reply);
    } catch (error) {
      keepUnstored(reply as FastifyReply);
      throw error;
    }
  };
  return Object.assign(guard, { [GUARD]: () => ({ source: choose, codes: codesOf(options) }) });
}

function guardOf(
  config: FastifyAuthConfig,
  options: RequireSessionOptions,
  where: string,
): SessionGuard {
  const once = (what: string, tell: () => void) => authInstance(config).once(what, tell);
  const isAllowed = authorizer(options, where, once);
  const features = featuresOf(options);
  const unused = features.find((feature) => !isUsed(feature, authInstance(config).config.facts));
  if (unused !== undefined) throw invalid(where, unused.guard.unused);
  const guard: SessionGuard = async (request, reply) => {
    // The routes of the plugin must work without a session, also under a guard at the root.
    if (isAuthRoute(request.routeOptions.config)) return;
    if (request.headers.upgrade !== undefined) assertOwnUpgrade(request, config);
    const { session, failure } = await readSession(request, config);
    if ("session" in reply) reply.session = session;
    const allowed = session !== null && await isAllowed(session, request as FastifyRequest);
    const refusal = allowed && features.length > 0
      ? await refusalOf({ request, config, options })
      : undefined;
    if (allowed && refusal === undefined) return keepPrivate(reply as FastifyReply);
    if (isSignInPage(request, config)) return;
    keepUnstored(reply as FastifyReply);
    if (failure !== undefined) return await sendFailure(failure, request, reply, config);
    if (session !== null && !allowed) {
      publishRefusal("FST_AUTHJS_FORBIDDEN", request, config, session);
      throw new FastifyAuthError("FST_AUTHJS_FORBIDDEN", "The signed-in user may not use this route.");
    }
    if (refusal !== undefined) publishRefusal(refusal.error.code, request, config, session);
    return await sendToSignIn(request, reply, config, refusal);
  };
  return Object.assign(guard, { [GUARD]: () => ({ source: config, codes: codesOf(options) }) });
}

/** Why a signed-in user has to sign in again, for the first feature that says so. */
async function refusalOf(guarded: Guarded): Promise<GuardRefusal | undefined> {
  for (const { onGuard } of authInstance(guarded.config).hooks) {
    const refusal = await onGuard?.(guarded);
    if (refusal !== undefined) return refusal;
  }
}

/** The codes with which features refuse users of a guard. */
export function codesOf(options: RequireSessionOptions): readonly FastifyAuthErrorCode[] {
  return featuresOf(options).map(({ guard }) => guard.code);
}

/**
 * Refuses a WebSocket that a page of another origin opens: the browser sends the session cookie with it, and
 * no CORS check follows. A request without `Origin` does not come from a browser.
 */
function assertOwnUpgrade(request: GuardedRequest, config: FastifyAuthConfig): void {
  const { origin: configured, trustedOrigins } = authInstance(config).config;
  const origin = originOf(request, configured);
  if (origin !== undefined) assertNotCrossSite(request.headers, origin.href, trustedOrigins);
}

/**
 * Redirects a browser that requests a page, and refuses other requests. The hook has to return the reply:
 * otherwise Fastify would go on to the handler while an asynchronous `onSend` hook runs.
 *
 * @param refusal Why a user who is signed in has to sign in again.
 */
async function sendToSignIn(
  request: GuardedRequest,
  reply: GuardedReply,
  config: FastifyAuthConfig,
  refusal: GuardRefusal | undefined,
): Promise<unknown> {
  if (request.method === "GET") reply.header("vary", withVary(headerText(reply, "vary"), "Accept"));
  const { scheme, isInHeader } = schemeOf(request, config);
  if (isInHeader && !refusal) publishRefusal("FST_AUTHJS_UNAUTHENTICATED", request, config, null);
  if (isPageView(request) && !isInHeader) {
    if (await refusal?.signIn(reply)) return reply;
    const address = signInAddress(request, config);
    if (address !== undefined) return reply.redirect(address, 302);
    warnOfMissingPage(request, config);
  }
  // A 401 requires a challenge (RFC 9110 section 15.5.2). This one opens no password dialog in browsers.
  const challenge = refusal?.challenge ?? (isInHeader ? 'error="invalid_token"' : undefined);
  reply.header("www-authenticate", challenge === undefined ? scheme : `${scheme} ${challenge}`);
  throw refusal?.error ?? new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "Sign in to use this route.");
}

/**
 * Shows a browser that requests a page why it cannot: its session is kept, and a callback that fails for this
 * session must not keep its user out.
 */
async function sendFailure(
  failure: FastifyAuthError,
  request: GuardedRequest,
  reply: GuardedReply,
  config: FastifyAuthConfig,
): Promise<unknown> {
  if (request.method === "GET") reply.header("vary", withVary(headerText(reply, "vary"), "Accept"));
  const signInUrl = failure instanceof CallbackFailure && isPageView(request)
    ? signInAddress(request, config)
    : undefined;
  if (signInUrl === undefined || schemeOf(request, config).isInHeader) throw failure;
  const page = { statusCode: failure.statusCode!, signInUrl, callbackUrl: returnPath(request, config) };
  if (await sendUnreadableSession({ instance: authInstance(config) }, request, reply, page)) return reply;
  throw failure;
}

/** Publishes a refusal that belongs into an audit trail: the client has signed in, or holds a token. */
function publishRefusal(
  reason: FastifyAuthErrorCode,
  request: GuardedRequest,
  config: FastifyAuthConfig,
  session: Session | null,
): void {
  const { server, routeOptions } = request as FastifyRequest;
  const paths = pathsIn(server, authInstance(config));
  const { id: userId } = session?.user ?? {};
  eventsOf(request as FastifyRequest, { mountPath: paths?.mount })?.("fastify-authjs:access-refused", {
    reason,
    route: routeOptions?.url,
    userId: userId === undefined ? undefined : String(userId),
  });
}

/** The scheme of the challenge, and whether the request has a token in a header. */
function schemeOf(
  request: GuardedRequest,
  config: FastifyAuthConfig,
): { readonly scheme: string; readonly isInHeader: boolean } {
  const scheme = authInstance(config).hooks.find(({ scheme }) => scheme)?.scheme ?? "Cookie";
  return { scheme, isInHeader: presentedToken(request, config)?.settings.use === "header" };
}

function warnOfMissingPage({ log }: GuardedRequest, config: FastifyAuthConfig): void {
  authInstance(config).once("no sign-in page", () => {
    const code: NoticeCode = "FST_AUTHJS_WARN_SIGN_IN_PAGE";
    log.warn(
      { code },
      "requireSession() knows no sign-in page: register FastifyAuth(config) in this application with the very " +
        "object that the guard was given, or set `pages.signIn`. Until then browsers get a 401.",
    );
  });
}
