/** What a route declares in its `config` in place of a hook: who may use it. */
import { assertGuardOptions, type RequireSessionOptions } from "./guard_options.ts";
import { invalid } from "../instance/arguments.ts";

/**
 * The options of a guard that a route declares: those of `requireSession()`, and whose sessions count.
 */
export interface RouteAuthOptions extends Omit<RequireSessionOptions, "respectRouteConfig"> {
  /**
   * The mount path of the `FastifyAuth` whose sessions count, such as `"/staff/auth"`: needed only if
   * several configurations are registered in one scope.
   *
   * @default the registration in the scope of the route, else in the next scope around it, else the only one of
   * the application
   */
  mountPath?: string;
}

/** `true` for every signed-in user, options for some of them, `false` for all users, signed in or not. */
export type RouteAuth = boolean | RouteAuthOptions;

/**
 * The `config` of a route that declares who may use it. An application adds it to Fastify's types in two
 * lines:
 *
 * ```ts ignore
 * declare module "fastify" {
 *   interface FastifyContextConfig extends RouteAuthConfig {}
 * }
 * ```
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig, type RouteAuthConfig } from "fastify-authjs";
 *
 * const config: FastifyAuthConfig = { providers: [], secret: "x".repeat(32), trustHost: true };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 *
 * const signedIn: RouteAuthConfig = { auth: true };
 * const admins: RouteAuthConfig = { auth: { roles: "admin" } };
 * app.get("/me", { config: signedIn }, () => "you are signed in");
 * app.get("/users", { config: admins }, () => []);
 *
 * const response = await app.inject("/me");
 * console.assert(response.statusCode === 401);
 * ```
 */
export interface RouteAuthConfig {
  /**
   * Who may use the route. It is guarded as with `requireSession()`, before its own `onRequest` hooks and
   * after those of its scopes. If a hook of a scope guards it, too, both must let a user pass; with
   * `false` one that has `respectRouteConfig` leaves the route open.
   *
   * @default all users whom the hooks of its scopes let pass
   */
  auth?: RouteAuth;
}

/**
 * What the `config` of a route declares.
 *
 * @param where The route, for the error.
 * @returns `undefined` if it declares nothing, `false` if all users may use it.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for anything that cannot be meant.
 */
export function declaredAuth(config: unknown, where: string): RouteAuthOptions | false | undefined {
  if (typeof config !== "object" || config === null || !("auth" in config)) return undefined;
  const { auth } = config;
  if (auth === false) return false;
  if (auth === true) return {};
  if (typeof auth !== "object" || auth === null || Array.isArray(auth)) {
    throw invalid(where, "it must be true, false or an object with `roles` or `authorize`.");
  }
  const { mountPath, ...rest }: RouteAuthOptions = auth;
  if ("respectRouteConfig" in rest) {
    throw invalid(
      where,
      "`respectRouteConfig` is for the hook of a scope; a route is open with `auth: false`.",
    );
  }
  assertGuardOptions(rest, where);
  if ("mountPath" in auth && (typeof mountPath !== "string" || !mountPath.startsWith("/"))) {
    throw invalid(
      where,
      '`mountPath` is the path of a FastifyAuth, such as "/auth"; leave it out where there is one.',
    );
  }
  return auth;
}
