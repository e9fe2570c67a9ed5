/** The guard, which restricts routes to signed-in users: lets a request pass, or refuses it. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { FastifyAuthError, type FastifyAuthErrorCode } from "../errors.ts";
import type { Guarded, GuardRefusal, GuardSecurity } from "../features/feature.ts";
import { isUsed } from "../features/load.ts";
import { isAuthRoute } from "../http/auth_route.ts";
import { assertNotCrossSite } from "../http/cross_site.ts";
import { originOf } from "../http/origin.ts";
import { headerText, keepPrivate, keepUnstored, withVary } from "../http/reply_headers.ts";
import { invalid, isConfiguration, isRequestOrReply } from "../utils/arguments.ts";
import { type AuthInstance, authInstance } from "../instance/auth_instance.ts";
import { pathsIn } from "../instance/mount.ts";
import { presentedToken, readSession } from "../instance/read_session.ts";
import { Tenants } from "../instance/tenants.ts";
import { CallbackFailure, SIGNED_OUT } from "../session/read.ts";
import { RequestReads } from "../session/request_reads.ts";
import { eventsOf } from "../telemetry/events.ts";
import type { ConfigForRequest, FastifyAuthConfig, GuardedReply, GuardedRequest, Session } from "../types.ts";
import { later } from "../utils/later.ts";
import type { RequireSessionOptions, RouteAuthConfig } from "./guard_options.ts";
import { assertGuardOptions, authorizer, featuresOf } from "./guard_options.ts";
import { isPageView, isSignInPage, returnPath, signInAddress } from "./sign_in_redirect.ts";

const sendUnreadableSession = later(async () => (await import("../actions/perform.ts")).sendUnreadableSession);

/** The hook that `requireSession()` makes, for `onRequest` or `preHandler`. */
export type SessionGuard = (request: GuardedRequest, reply: GuardedReply) => Promise<unknown>;

/** Marks a hook as a guard, and tells what it requires on a route with a `config`. */
export const GUARD: unique symbol = Symbol("fastify-authjs.guard");

/** The decorator of scopes whose requests have `request.session`: the configuration that it is of. */
export const SHOWN: unique symbol = Symbol("fastify-authjs.shown");

/** What a guard requires, for descriptions of its routes. */
export interface Guarding {
  readonly source: FastifyAuthConfig | ConfigForRequest;
  /** The codes with which it may answer a user who has to sign in again. */
  readonly codes: readonly FastifyAuthErrorCode[];
  /** How requests may pass besides with a session. */
  readonly security: readonly GuardSecurity[];
}

export type MarkedGuard = SessionGuard & { [GUARD](config: unknown): Guarding | undefined };
type Visit = Guarded & Readonly<{ reply: GuardedReply; auth: AuthInstance }>;

/**
 * Makes a hook that lets only signed-in users pass, by the configuration that a function chooses for each request. If
 * there is none the answer is a 404, if the function failed a 503 or the `statusCode` of its error, if the
 * configuration cannot be used a 500.
 * @param choose The same function that was given to `FastifyAuth`.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if an option is invalid.
 */
export function requireSession(choose: ConfigForRequest, options?: RequireSessionOptions): SessionGuard;
/**
 * Makes a hook that lets only signed-in users pass, for a route or for an instance and all routes in it. A route can
 * also declare its guard, without a hook: see {@linkcode RouteAuthConfig}.
 *
 * As `onRequest` it refuses a request before the body is read. Without a session, a browser that requests a page is
 * redirected to the sign-in page and returns afterwards; every other request gets a 401 in Fastify's error format. A
 * user who fails `roles` or `authorize` gets a 403, one who fails `maxAge`, `acr` or `amr` signs in again. If the
 * adapter failed the answer is a 503 (`FST_AUTHJS_UNAVAILABLE`). `reply.session` is set if the application has declared
 * it (`app.decorateReply("session", null)`).
 *
 * On an instance it covers all routes, HEAD, OPTIONS and unknown paths, but neither the routes of `FastifyAuth` nor the
 * page of `pages.signIn`. For unknown paths below a prefix Fastify runs the hooks of the root, unless that scope calls
 * `setNotFoundHandler()`.
 * @param config The same object that was given to `FastifyAuth`.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if an argument is invalid.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
 *
 * const config: FastifyAuthConfig = { providers: [], secret: "x".repeat(32), trustHost: true };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 * app.get("/me", { onRequest: requireSession(config) }, (request) => getSession(request, config));
 *
 * const page = await app.inject({ url: "/me", headers: { accept: "text/html" } });
 * console.assert(page.headers.location === "/auth/signin?error=SessionRequired&callbackUrl=%2Fme");
 * ```
 */
export function requireSession(config: FastifyAuthConfig, options?: RequireSessionOptions): SessionGuard;
export function requireSession(
  config: FastifyAuthConfig | ConfigForRequest,
  options: RequireSessionOptions = {},
): SessionGuard {
  if (isRequestOrReply(config) || isRequestOrReply(options)) {
    throw invalid(WHERE, "it makes a hook and is none: call it, as in `onRequest: auth.requireSession()`.");
  }
  if (typeof config !== "function" && !isConfiguration(config)) {
    throw invalid(
      WHERE,
      "give it what FastifyAuth() was given, and then the options, or call `auth.requireSession()`.",
    );
  }
  assertGuardOptions(options, WHERE);
  return sessionGuard(config, options, WHERE);
}

const WHERE = "requireSession()";

/** The guard of a configuration, or of those that a function chooses, by checked options; `where` is for the log. */
export function sessionGuard(
  source: FastifyAuthConfig | ConfigForRequest,
  options: RequireSessionOptions,
  where: string,
): MarkedGuard {
  const isAllowed = authorizer(options, where);
  const features = featuresOf(options);
  const assertUsed = (config: FastifyAuthConfig) => {
    const { facts, problem } = authInstance(config).config;
    const unused = features.find((feature) => !isUsed(feature, facts));
    // Of a configuration with a mistake nothing is known.
    if (unused !== undefined && problem === undefined) throw invalid(where, unused.guard.unused);
  };
  if (typeof source !== "function") assertUsed(source);
  const isOpen = (config: unknown) =>
    options.respectRouteConfig === true && (config as RouteAuthConfig | undefined)?.auth === false;

  async function guard(request: GuardedRequest, reply: GuardedReply): Promise<unknown> {
    const { config: route } = request.routeOptions;
    // The routes of the plugin must work without a session, also under a guard at the root.
    if (isAuthRoute(route) || isOpen(route)) return;
    let config = source;
    if (typeof config === "function") {
      try {
        assertUsed(config = await Tenants.of(config).configOf(request));
      } catch (error) {
        keepUnstored(reply as FastifyReply);
        throw error;
      }
    }
    const visit: Visit = { request, reply, config, auth: authInstance(config), options };
    if (request.headers.upgrade !== undefined) assertOwnUpgrade(visit);
    const access = features.length > 0 ? await accessOf(visit) : undefined;
    if (access === true) {
      // A cookie beside the token may be of another user.
      RequestReads.of(request).change(config, "", SIGNED_OUT);
      const { [SHOWN]: shown } = request.server as { readonly [SHOWN]?: unknown };
      if (shown === source) Object.assign(request, { session: null });
      if ("session" in reply) reply.session = null;
      return keepPrivate(reply as FastifyReply);
    }
    const { session, failure } = await readSession(request, config);
    if ("session" in reply) reply.session = session;
    const allowed = session !== null && await isAllowed(session, request as FastifyRequest, visit.auth);
    const refusal = allowed && features.length > 0 ? await refusalOf(visit) : undefined;
    if (allowed && refusal === undefined) return keepPrivate(reply as FastifyReply);
    if (isSignInPage(request, config)) return;
    keepUnstored(reply as FastifyReply);
    if (failure !== undefined) return await sendFailure(visit, failure);
    if (session !== null && !allowed) {
      publishRefusal(visit, "FST_AUTHJS_FORBIDDEN", session);
      throw new FastifyAuthError("FST_AUTHJS_FORBIDDEN", "The signed-in user may not use this route.");
    }
    if (refusal !== undefined) publishRefusal(visit, refusal.error.code, session);
    return await sendToSignIn(visit, refusal, access);
  }

  const codes = features.flatMap(({ guard }) => guard.code ?? []);
  const security = features.flatMap(({ guard }) => guard.security?.(options) ?? []);
  return Object.assign(guard, {
    [GUARD]: (config: unknown) => isOpen(config) ? undefined : { source, codes, security },
  });
}

/** Whether a request passes without a session, as a feature says; what it throws is published. */
async function accessOf(visit: Visit): Promise<true | string | undefined> {
  const { request, reply, auth } = visit;
  try {
    // Without the plugin the features are loaded by the first request. With a mistake there are none, and no session.
    await auth.problem();
    for (const { onAccess } of auth.hooks) {
      const access = await onAccess?.(visit, reply);
      if (access !== undefined) return access;
    }
  } catch (error) {
    keepUnstored(reply as FastifyReply);
    const { statusCode, code } = error as FastifyAuthError;
    if (statusCode !== 503 && request.headers.authorization) publishRefusal(visit, code, null);
    throw error;
  }
}

/** Why a signed-in user has to sign in again, for the first feature that says so. */
async function refusalOf(visit: Visit) {
  for (const { onGuard } of visit.auth.hooks) {
    const refusal = await onGuard?.(visit);
    if (refusal !== undefined) return refusal;
  }
}

/**
 * Refuses a WebSocket that a page of another origin opens: the browser sends the session cookie with it, and no CORS
 * check follows. A request without `Origin` does not come from a browser.
 */
function assertOwnUpgrade({ request, auth: { config } }: Visit): void {
  const origin = originOf(request, config.origin);
  if (origin !== undefined) assertNotCrossSite(request.headers, origin.href, config.trustedOrigins);
}

/**
 * Redirects a browser that requests a page, and refuses other requests. The hook has to return the reply: otherwise
 * Fastify would go on to the handler while an asynchronous `onSend` hook runs.
 */
async function sendToSignIn(visit: Visit, refusal: GuardRefusal | undefined, alternative: string | undefined) {
  const { request, reply, config, auth } = visit;
  const isBearer = hasBearer(visit);
  if (isBearer && !refusal) publishRefusal(visit, "FST_AUTHJS_UNAUTHENTICATED", null);
  if (isForPage(visit) && !isBearer) {
    if (await refusal?.signIn(reply)) return reply;
    const address = signInAddress(request, config);
    if (address !== undefined) return reply.redirect(address, 302);
    auth.once("no sign-in page", () => request.log.warn({ code: "FST_AUTHJS_WARN_SIGN_IN_PAGE" }, NO_PAGE));
  }
  // A 401 requires a challenge (RFC 9110 section 15.5.2). This one opens no password dialog in browsers.
  const scheme = auth.hooks.some(({ findToken }) => findToken) ? "Bearer" : "Cookie";
  const challenge = refusal?.challenge ?? (isBearer ? 'error="invalid_token"' : undefined);
  const own = challenge === undefined ? scheme : `${scheme} ${challenge}`;
  reply.header("www-authenticate", alternative === undefined ? own : `${own}, ${alternative}`);
  throw refusal?.error ?? new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "Sign in to use this route.");
}

/** Shows a browser why a page cannot be: a callback that fails for this session must not keep its user out. */
async function sendFailure(visit: Visit, failure: FastifyAuthError): Promise<unknown> {
  const { request, reply, config, auth } = visit;
  const isShown = isForPage(visit) && failure instanceof CallbackFailure && !hasBearer(visit);
  const signInUrl = isShown ? signInAddress(request, config) : undefined;
  if (signInUrl === undefined) throw failure;
  const page = { statusCode: failure.statusCode!, signInUrl, callbackUrl: returnPath(request, config) };
  if (await sendUnreadableSession(auth, request, reply, page)) return reply;
  throw failure;
}

/** Whether a browser requests a page, on which the reply then depends. */
function isForPage({ request, reply }: Visit): boolean {
  if (request.method === "GET") reply.header("vary", withVary(headerText(reply, "vary"), "Accept"));
  return isPageView(request);
}

/** Whether a token in a header counts, in place of the cookie. */
function hasBearer({ request, config }: Visit): boolean {
  return presentedToken(request, config)?.settings.use === "header";
}

/** Publishes a refusal that belongs into an audit trail: the client has signed in, or holds a token. */
function publishRefusal(visit: Visit, reason: FastifyAuthErrorCode, session: Session | null): void {
  const request = visit.request as FastifyRequest;
  const { id } = session?.user ?? {};
  const event = { reason, route: request.routeOptions?.url, userId: id === undefined ? undefined : String(id) };
  const mountPath = pathsIn(request.server, visit.auth)?.mount;
  eventsOf(request, { mountPath })?.("fastify-authjs:access-refused", event);
}

const NO_PAGE =
  "requireSession() knows no sign-in page: register `auth.plugin`, or FastifyAuth(config) with the very object that " +
  "the guard was given, in this application, or set `pages.signIn`. Until then browsers get a 401.";
