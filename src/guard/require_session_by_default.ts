/** Restricts the routes of a scope to signed-in users. */
import type { FastifyInstance } from "fastify";
import type { SessionGuard } from "./guard.ts";
import { invalid } from "../instance/arguments.ts";
import type { RouteAuthOptions } from "./route_auth.ts";
import { RouteGuards } from "./route_guards.ts";

/** The part of an instance that is used, so that it fits those of every type. */
export interface GuardedScope {
  /** As Fastify's. */
  addHook(name: "onRequest", hook: SessionGuard): unknown;
  /** As Fastify's. */
  readonly prefix: string;
}

/**
 * Lets only signed-in users use the routes of a scope, except if a route declares otherwise in its
 * `config`: `auth: false` opens it, `auth: { roles: "admin" }` restricts it to others.
 *
 * It is an `onRequest` hook of the scope, so call it after plugins whose hooks are to run before, such as
 * `@fastify/cors`. It covers and answers what {@linkcode requireSession} does as a hook of an instance:
 * routes registered before and after it and in scopes within, HEAD, OPTIONS and unknown paths, but neither
 * the routes of `FastifyAuth` nor the page of `pages.signIn`. A scope within may have a default of its own.
 *
 * @param scope The instance of the scope.
 * @param options Which signed-in users may pass.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if an argument is invalid or the scope has a
 * default; at boot if it cannot be said which registration of `FastifyAuth` guards the scope.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig, requireSessionByDefault, type RouteAuthConfig } from "fastify-authjs";
 *
 * const config: FastifyAuthConfig = { providers: [], secret: "x".repeat(32), trustHost: true };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 *
 * const open: RouteAuthConfig = { auth: false };
 * await app.register(async (admin) => {
 *   requireSessionByDefault(admin, { roles: "admin" });
 *   admin.get("/users", () => []);
 *   admin.get("/health", { config: open }, () => "ok");
 * }, { prefix: "/admin" });
 *
 * const [users, health] = [await app.inject("/admin/users"), await app.inject("/admin/health")];
 * console.assert(users.statusCode === 401 && health.statusCode === 200);
 * ```
 */
export function requireSessionByDefault(scope: GuardedScope, options: RouteAuthOptions = {}): void {
  if (typeof (scope as { addHook?: unknown } | null | undefined)?.addHook !== "function") {
    throw invalid("requireSessionByDefault()", "give it the instance: `requireSessionByDefault(app)`.");
  }
  const instance = scope as unknown as FastifyInstance;
  RouteGuards.of(instance).setDefault(
    instance,
    options,
    `requireSessionByDefault() of "${scope.prefix || "/"}"`,
  );
}
