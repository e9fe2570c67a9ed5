/**
 * Restricts routes to signed-in users.
 *
 * @module
 */
import type { FastifyRequest } from "fastify";
import { authInstance } from "./auth_instance.ts";
import { unavailableError } from "./adapter/failure.ts";
import { FastifyAuthError } from "./errors.ts";
import { AUTH_ROUTE } from "./http/auth_route.ts";
import { logError } from "./core/logger.ts";
import { isRequestOrReply } from "./arguments.ts";
import { readSession } from "./get_session.ts";
import { isPageView, isSignInPage, signInAddress } from "./sign_in_redirect.ts";
import type { FastifyAuthConfig, Session } from "./types.ts";

/**
 * Options of {@linkcode requireSession}: which signed-in users may pass. Where both are set, both must hold.
 */
export interface RequireSessionOptions {
  /**
   * The user must have one of these roles in `session.user.role` or `session.user.roles` (each a string or an
   * array of strings), which `callbacks.session` sets.
   *
   * @default any user may pass
   */
  roles?: string | readonly string[];
  /**
   * Decides about one request, which passes where the result is truthy. Where it throws, the request is
   * refused and the error logged. In an `onRequest` hook the body is not parsed yet.
   *
   * @param session The session, with a user.
   * @param request The request.
   * @default any user may pass
   */
  authorize?: (session: Session, request: FastifyRequest) => unknown;
}

/** The part of a request that a guard reads, so that it fits instances of every type. */
export type GuardedRequest = Pick<
  FastifyRequest,
  "headers" | "host" | "log" | "method" | "originalUrl" | "protocol" | "routeOptions" | "server"
>;

/** The part of a reply that a guard uses. */
export interface GuardedReply {
  /** As Fastify's. */
  header(name: string, value: string): unknown;
  /** As Fastify's. */
  getHeader(name: string): number | string | string[] | undefined;
  /** As Fastify's. */
  redirect(url: string, statusCode?: number): unknown;
}

/** The hook that {@linkcode requireSession} makes, for `onRequest` or `preHandler`. */
export type SessionGuard = (request: GuardedRequest, reply: GuardedReply) => Promise<unknown>;

/**
 * Makes a hook that lets only signed-in users pass, for a route or for an instance and all routes in it.
 *
 * As `onRequest` it refuses a request before the body is read. Without a session, a browser that requests a
 * page is redirected to the sign-in page and returns afterwards; every other request gets a 401 in Fastify's
 * error format. A signed-in user who fails `roles` or `authorize` gets a 403. Where the adapter failed, so
 * that it is not known whether there is a session, the answer is a 503 (`FST_AUTHJS_UNAVAILABLE`).
 * `reply.session` is set where the application has declared it (`app.decorateReply("session", null)`).
 *
 * On an instance it covers routes registered before and after it, HEAD, OPTIONS and unknown paths, but
 * neither the routes of `FastifyAuth` nor the page of `pages.signIn`: its path and, where that has a query,
 * exactly these parameters, besides the `callbackUrl`, `error` and `code` that redirects add. For unknown
 * paths below a prefix Fastify runs the hooks of the root, unless that scope calls `setNotFoundHandler()`.
 *
 * @param config The same object that was given to `FastifyAuth`.
 * @param options Which signed-in users may pass.
 * @returns The hook.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` where an argument is invalid.
 *
 * @example One route, and a part of the application for some users
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
 *
 * const config: FastifyAuthConfig = { providers: [], secret: "x".repeat(32), trustHost: true };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 *
 * app.get("/me", { onRequest: requireSession(config) }, (request) => getSession(request, config));
 * await app.register(async (admin) => {
 *   admin.addHook("onRequest", requireSession(config, { roles: "admin" }));
 *   admin.get("/users", async () => []);
 * }, { prefix: "/admin" });
 *
 * const response = await app.inject("/me");
 * console.assert(response.statusCode === 401);
 * const page = await app.inject({ url: "/admin/users", headers: { accept: "text/html" } });
 * console.assert(page.headers.location === "/auth/signin?error=SessionRequired&callbackUrl=%2Fadmin%2Fusers");
 * ```
 */
export function requireSession(config: FastifyAuthConfig, options: RequireSessionOptions = {}): SessionGuard {
  assertArguments(config, options);
  const isAllowed = authorizer(options);
  return async (request, reply) => {
    if (isAuthRoute(request)) return;
    const { session, failure } = await readSession(request, config);
    if ("session" in reply) reply.session = session;
    if (session !== null && await isAllowed(session, request as FastifyRequest)) return;
    if (isSignInPage(request, config)) return;
    reply.header("cache-control", "no-store");
    if (failure !== undefined) throw unavailableError(failure);
    if (session !== null) {
      throw new FastifyAuthError("FST_AUTHJS_FORBIDDEN", "The signed-in user may not use this route.");
    }
    return sendToSignIn(request, reply, config);
  };
}

/** Whether it is a route of the plugin, which must work without a session also under a guard at the root. */
function isAuthRoute({ routeOptions }: GuardedRequest): boolean {
  return (routeOptions.config as { [AUTH_ROUTE]?: true } | undefined)?.[AUTH_ROUTE] === true;
}

/**
 * Redirects a browser that requests a page, and refuses other requests. The hook has to return the reply:
 * otherwise Fastify would go on to the handler while an asynchronous `onSend` hook runs.
 */
function sendToSignIn(request: GuardedRequest, reply: GuardedReply, config: FastifyAuthConfig): unknown {
  if (request.method === "GET") addVary(reply, "Accept");
  if (isPageView(request)) {
    const address = signInAddress(request, config);
    if (address !== undefined) return reply.redirect(address, 302);
    warnOfMissingPage(request, config);
  }
  // A 401 requires a challenge (RFC 9110 section 15.5.2). This one opens no password dialog in browsers.
  reply.header("www-authenticate", "Cookie");
  throw new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "Sign in to use this route.");
}

function addVary(reply: GuardedReply, name: string): void {
  const names = [reply.getHeader("vary") ?? []].flat().join(", ");
  if (/(?:^|[\s,])(?:\*|accept)(?:$|[\s,])/i.test(names)) return;
  reply.header("vary", names ? `${names}, ${name}` : name);
}

function warnOfMissingPage({ log }: GuardedRequest, config: FastifyAuthConfig): void {
  authInstance(config).once("no sign-in page", () => {
    log.warn(
      "requireSession() knows no sign-in page: register FastifyAuth(config) in this application with the very " +
        "object that the guard was given, or set `pages.signIn`. Until then browsers get a 401.",
    );
  });
}

type IsAllowed = (session: Session, request: FastifyRequest) => Promise<boolean>;

function authorizer(options: RequireSessionOptions): IsAllowed {
  const wanted = listOf(options.roles);
  const { authorize } = options;
  return async (session, request) => {
    if (wanted.length > 0 && !rolesOf(session).some((role) => wanted.includes(role))) return false;
    if (authorize === undefined) return true;
    try {
      return !!await authorize(session, request);
    } catch (error) {
      logError(
        request.log,
        new Error("`authorize` of requireSession() threw: access denied.", { cause: error }),
      );
      return false;
    }
  };
}

/** A misspelled or undefined option must not make a route public. */
function assertArguments(config: FastifyAuthConfig, options: RequireSessionOptions): void {
  if (isRequestOrReply(config)) {
    throw invalid("it makes a hook and is none. Call it: `onRequest: requireSession(config)`.");
  }
  if (typeof config !== "object" || config === null) {
    throw invalid("give it the configuration that FastifyAuth() was given.");
  }
  for (const name of Object.keys(options)) {
    if (name !== "roles" && name !== "authorize") throw invalid(`there is no option \`${name}\`.`);
  }
  if ("roles" in options && listOf(options.roles).length === 0) {
    throw invalid("`roles` must name a role; leave it out to let every user pass.");
  }
  if ("authorize" in options && typeof options.authorize !== "function") {
    throw invalid("`authorize` must be a function; leave it out to let every user pass.");
  }
}

function rolesOf({ user }: Session): string[] {
  const { role, roles } = user as { role?: unknown; roles?: unknown };
  return [...listOf(role), ...listOf(roles)];
}

/** The strings of a string or an array; anything else is no role. */
function listOf(value: unknown): string[] {
  return [value].flat().filter((entry) => typeof entry === "string" && entry !== "") as string[];
}

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `requireSession(): ${message}`);
}
