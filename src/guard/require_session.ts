/** Restricts routes to signed-in users. */
import { invalid, isRequestOrReply } from "../instance/arguments.ts";
import { type SessionGuard, sessionGuard } from "./guard.ts";
import { assertGuardOptions, type RequireSessionOptions } from "./guard_options.ts";
import type { ConfigForRequest, FastifyAuthConfig } from "../types.ts";

/**
 * Makes a hook that lets only signed-in users pass, by the configuration that a function chooses for each
 * request. If there is none the answer is a 404, if the function failed a 503, if the configuration
 * cannot be used a 500.
 *
 * @param choose The same function that was given to `FastifyAuth`.
 * @param options Which signed-in users may pass.
 * @returns The hook.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if an option is invalid.
 */
export function requireSession(choose: ConfigForRequest, options?: RequireSessionOptions): SessionGuard;
/**
 * Makes a hook that lets only signed-in users pass, for a route or for an instance and all routes in it. A
 * route can also declare its guard, without a hook: see {@linkcode RouteAuthConfig}.
 *
 * As `onRequest` it refuses a request before the body is read. Without a session, a browser that requests a
 * page is redirected to the sign-in page and returns afterwards; every other request gets a 401 in Fastify's
 * error format. A signed-in user who fails `roles` or `authorize` gets a 403, one who fails `maxAge`, `acr`
 * or `amr` signs in again. If the adapter failed, so that it is not known whether there is a session, the
 * answer is a 503 (`FST_AUTHJS_UNAVAILABLE`); if a callback threw a browser gets a page, on which its user
 * can sign in again. `reply.session` is set if the application has declared it
 * (`app.decorateReply("session", null)`).
 *
 * On an instance it covers routes registered before and after it, HEAD, OPTIONS and unknown paths, but
 * neither the routes of `FastifyAuth` nor the page of `pages.signIn`: its path and, if that has a query,
 * exactly these parameters, besides the `callbackUrl`, `error` and `code` that redirects add. For unknown
 * paths below a prefix Fastify runs the hooks of the root, unless that scope calls `setNotFoundHandler()`.
 *
 * @param config The same object that was given to `FastifyAuth`.
 * @param options Which signed-in users may pass.
 * @returns The hook.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if an argument is invalid.
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
 *
 * @example A page for users who signed in at most five minutes ago
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig, requireSession } from "fastify-authjs";
 * import { signedIn } from "fastify-authjs/testing";
 *
 * const config: FastifyAuthConfig = { providers: [], secret: "x".repeat(32), trustHost: true, stepUp: true };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 * app.get("/delete", { onRequest: requireSession(config, { maxAge: 5 * 60 }) }, () => "Are you sure?");
 *
 * const now = Math.floor(Date.now() / 1000);
 * const user = { id: "1", name: "Ada" };
 * const inject = await signedIn(app, config, { user, claims: { auth_time: now } });
 * console.assert((await inject("/delete")).body === "Are you sure?");
 * const late = await signedIn(app, config, { user, claims: { auth_time: now - 301 } });
 * console.assert((await late("/delete")).json().code === "FST_AUTHJS_STEP_UP_REQUIRED");
 * ```
 */
export function requireSession(config: FastifyAuthConfig, options?: RequireSessionOptions): SessionGuard;
export function requireSession(
  config: FastifyAuthConfig | ConfigForRequest,
  options: RequireSessionOptions = {},
): SessionGuard {
  assertConfig(config);
  assertGuardOptions(options, WHERE);
  return sessionGuard(config, options, WHERE);
}

const WHERE = "requireSession()";

function assertConfig(config: FastifyAuthConfig | ConfigForRequest): void {
  if (isRequestOrReply(config)) {
    throw invalid(WHERE, "it makes a hook and is none. Call it: `onRequest: requireSession(config)`.");
  }
  if (typeof config === "function") return;
  if (typeof config !== "object" || config === null) {
    throw invalid(WHERE, "give it the configuration that FastifyAuth() was given.");
  }
}
