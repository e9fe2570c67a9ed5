/**
 * Keeping routes for those who are signed in.
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

/** Options of {@linkcode requireSession}: who of the signed-in users may pass. What is given must all hold. */
export interface RequireSessionOptions {
  /**
   * The role or roles of which the user must have one, in `session.user.role` or `session.user.roles` (a string or
   * an array of strings each). Put it there in `callbacks.session`.
   *
   * @default any user may pass
   */
  roles?: string | readonly string[];
  /**
   * Decides about one request: what is truthy lets it pass. It runs before the body is parsed where the hook is
   * `onRequest`. Throwing means no, and is logged.
   *
   * @param session The session, with a user.
   * @param request The request.
   * @default any user may pass
   */
  authorize?: (session: Session, request: FastifyRequest) => unknown;
}

/** The part of a request that a guard looks at, so that it fits instances of every type. */
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
 * As `onRequest` it refuses before the body is read. A browser that asks for a page is sent to the sign-in page
 * and comes back afterwards; everything else gets a 401 in Fastify's error shape, a 403 where a signed-in user fails
 * `roles` or `authorize`, or a 503 (`FST_AUTHJS_UNAVAILABLE`) where the database of the sessions failed, since then nobody
 * knows who is signed in. Where the application has declared `reply.session` (`app.decorateReply("session", null)`), it
 * is set.
 *
 * On an instance it covers routes registered before and after it, HEAD, OPTIONS and unknown paths, but not the
 * routes of `FastifyAuth` and not the page that `pages.signIn` names: its path, and where it has a query, exactly these
 * parameters, besides the `callbackUrl`, `error` and `code` that redirects add. Fastify answers unknown paths below a
 * prefix by the hooks of the root, unless that scope calls `setNotFoundHandler()`.
 *
 * @param config The same object that was given to `FastifyAuth`.
 * @param options Who of the signed-in users may pass.
 * @returns The hook.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` where the arguments cannot be meant.
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
  assertMeant(config, options);
  const isAllowed = compile(options);
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

/** Routes that must work for who is not signed in, or nobody could sign in under a guard at the root. */
function isAuthRoute({ routeOptions }: GuardedRequest): boolean {
  return (routeOptions.config as { [AUTH_ROUTE]?: true } | undefined)?.[AUTH_ROUTE] === true;
}

/**
 * Redirects a browser, refuses everybody else. The reply is returned because Fastify waits for what a hook
 * returns: with an asynchronous `onSend` hook it would otherwise go on to the handler.
 */
function sendToSignIn(request: GuardedRequest, reply: GuardedReply, config: FastifyAuthConfig): unknown {
  if (request.method === "GET") addVary(reply, "Accept");
  if (isPageView(request)) {
    const address = signInAddress(request, config);
    if (address !== undefined) return reply.redirect(address, 302);
    warnOfMissingPage(request, config);
  }
  // RFC 9110 section 15.5.2 demands a challenge, and one that opens no password dialog in browsers.
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

type Allow = (session: Session, request: FastifyRequest) => Promise<boolean>;

function compile(options: RequireSessionOptions): Allow {
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

/** A mistyped or an undefined option must not open a route that it was meant to close. */
function assertMeant(config: FastifyAuthConfig, options: RequireSessionOptions): void {
  if (isRequestOrReply(config)) {
    throw unusable("it makes a hook and is none. Call it: `onRequest: requireSession(config)`.");
  }
  if (typeof config !== "object" || config === null) {
    throw unusable("give it the configuration that FastifyAuth() was given.");
  }
  for (const name of Object.keys(options)) {
    if (name !== "roles" && name !== "authorize") throw unusable(`there is no option \`${name}\`.`);
  }
  if ("roles" in options && listOf(options.roles).length === 0) {
    throw unusable("`roles` must name a role; leave it out to let every user pass.");
  }
  if ("authorize" in options && typeof options.authorize !== "function") {
    throw unusable("`authorize` must be a function; leave it out to let every user pass.");
  }
}

function rolesOf({ user }: Session): string[] {
  const { role, roles } = user as { role?: unknown; roles?: unknown };
  return [...listOf(role), ...listOf(roles)];
}

/** A string or an array of strings; anything else names no role. */
function listOf(value: unknown): string[] {
  return [value].flat().filter((entry) => typeof entry === "string" && entry !== "") as string[];
}

function unusable(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `requireSession(): ${message}`);
}
