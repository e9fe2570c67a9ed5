/** Which users a guard lets pass: the options of `requireSession()`, and what a route declares in its `config`. */
import type { FastifyRequest } from "fastify";
import { truthyKind } from "../config/callbacks.ts";
import type { Rule } from "../config/rules.ts";
import type { AuthInUse } from "../core/context.ts";
import { logError } from "../core/logger.ts";
import { type FeatureGuardOptions, FEATURES } from "../features/mod.ts";
import { invalid } from "../utils/arguments.ts";
import { isObject } from "../utils/decode.ts";
import type { Session } from "../types.ts";

/** Which signed-in users may pass a guard, and which routes it leaves open. A user must meet all of these options. */
export interface RequireSessionOptions<OwnSession = Session> extends FeatureGuardOptions {
  /**
   * The user must have one of these in `session.user.role` or `session.user.roles` (each a string or an array of
   * strings), which `callbacks.session` sets.
   * @default any user may pass
   */
  roles?: string | readonly string[];
  /**
   * Decides about one request, which passes if the result is truthy. If it throws, or returns an array, an error or a
   * response, the request is refused and that is logged: the rows of a query are truthy even if there are none. In an
   * `onRequest` hook the body is not parsed yet.
   * @default any user may pass
   */
  authorize?: (session: OwnSession, request: FastifyRequest) => unknown;
  /**
   * Whether routes with exactly `auth: false` in their `config` are open. All others stay guarded, also unknown paths,
   * HEAD and OPTIONS. The log names the open routes at boot.
   * @default false: every route that has the hook is guarded
   */
  respectRouteConfig?: boolean;
}

/** The options of a guard that a route declares: those of `requireSession()`, and whose sessions count. */
export interface RouteAuthOptions extends Omit<RequireSessionOptions, "respectRouteConfig"> {
  /**
   * The mount path of the `FastifyAuth` whose sessions count, such as `"/staff/auth"`: needed only if several
   * configurations are registered in one scope.
   * @default the registration in the scope of the route, else in the next scope around it, else the only one of the
   * application
   */
  mountPath?: string;
}

/** `true` for every signed-in user, options for some of them, `false` for all users, signed in or not. */
export type RouteAuth = boolean | RouteAuthOptions;

/**
 * The `config` of a route that declares who may use it.
 *
 * Add it to Fastify's types:
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
 * import { FastifyAuth, type RouteAuthConfig } from "fastify-authjs";
 *
 * const app = Fastify();
 * await app.register(FastifyAuth({ providers: [], secret: "x".repeat(32), trustHost: true }), { prefix: "/auth" });
 * const admins: RouteAuthConfig = { auth: { roles: "admin" } };
 * app.get("/users", { config: admins }, () => []);
 *
 * const response = await app.inject("/users");
 * console.assert(response.statusCode === 401);
 * ```
 */
export interface RouteAuthConfig {
  /**
   * Who may use the route. It is guarded as with `requireSession()`, before its own `onRequest` hooks and after those
   * of its scopes. If a hook of a scope guards it, too, both must let the user pass. A hook with `respectRouteConfig`
   * leaves it open if this is `false`.
   * @default all users whom the hooks of its scopes let pass
   */
  auth?: RouteAuth;
}

/** The features that add options to guards. */
const FEATURES_WITH_OPTIONS = FEATURES.flatMap(({ guard, ...feature }) => guard ? { ...feature, guard } : []);

const RULES: Readonly<Record<string, Rule>> = {
  roles: (value) =>
    toList(value).length > 0 ? undefined : "`roles` must name a role; leave it out to let every user pass.",
  authorize: (value) =>
    typeof value === "function" ? undefined : "`authorize` must be a function; leave it out to let every user pass.",
  respectRouteConfig: (value) => typeof value === "boolean" ? undefined : "`respectRouteConfig` must be true or false.",
  ...Object.assign({}, ...FEATURES_WITH_OPTIONS.map(({ guard }) => guard.rules)),
};

/** A promise has no members, and would let every signed-in user pass. */
function isOptions(value: unknown): value is object {
  return isObject(value) && !("then" in value);
}

/** Checks options: a misspelled or undefined one must not make a route public. `where` is for the error. */
export function assertGuardOptions(options: RequireSessionOptions, where: string): void {
  if (!isOptions(options)) throw invalid(where, "its options must be an object with `roles` or `authorize`.");
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(RULES, name)) throw invalid(where, `there is no option \`${name}\`.`);
    const problem = RULES[name]!(value, name);
    if (problem !== undefined) throw invalid(where, problem);
  }
  for (const { guard } of FEATURES_WITH_OPTIONS) {
    const problem = guard.together?.(options);
    if (problem) throw invalid(where, problem);
  }
}

/** What the `config` of a route declares: `false` if all users may use it, `undefined` if it says nothing. */
export function declaredAuth(config: unknown, where: string): RouteAuthOptions | false | undefined {
  if (typeof config !== "object" || config === null || !("auth" in config)) return undefined;
  const { auth } = config;
  if (auth === false) return false;
  if (auth === true) return {};
  if (!isOptions(auth)) {
    throw invalid(where, "it must be true, false or an object with `roles` or `authorize`.");
  }
  const { mountPath, ...rest }: RouteAuthOptions = auth;
  if ("respectRouteConfig" in rest) {
    throw invalid(where, "`respectRouteConfig` is for the hook of a scope; a route is open with `auth: false`.");
  }
  if ("mountPath" in auth && (typeof mountPath !== "string" || !mountPath.startsWith("/"))) {
    throw invalid(where, '`mountPath` is the path of a FastifyAuth, such as "/auth"; leave it out if there is one.');
  }
  assertGuardOptions(rest, where);
  return auth;
}

/** The features whose options a guard has. */
export function featuresOf(options: RequireSessionOptions): typeof FEATURES_WITH_OPTIONS {
  return FEATURES_WITH_OPTIONS.filter(({ guard }) => Object.keys(guard.rules).some((name) => name in options));
}

/** Whether a signed-in user may pass, by checked options; `where` is for the log. */
export function authorizer({ roles, authorize }: RequireSessionOptions, where: string) {
  const wanted = toList(roles);
  /** The configuration whose sessions are known to carry roles or not: the first one that shows it settles that. */
  let settled: object | undefined;
  return async (session: Session, request: FastifyRequest, auth: Pick<AuthInUse, "once">) => {
    if (wanted.length > 0) {
      const { role, roles } = session.user as { readonly role?: unknown; readonly roles?: unknown };
      const held = [role, roles].flat();
      if (settled !== auth && !saysNone(role, roles)) {
        settled = auth;
        const hasRoles = toList(held).length > 0;
        const warning = { code: "FST_AUTHJS_WARN_ROLES" };
        auth.once("roles", () => hasRoles || request.log.warn(warning, `${where} ${NO_ROLE}`));
      }
      if (!wanted.some((one) => held.includes(one))) return false;
    }
    if (authorize === undefined) return true;
    try {
      const result = await authorize(session, request);
      const kind = truthyKind(result);
      if (kind !== undefined) throw new TypeError(`It returned ${kind}: return true or false.`);
      return !!result;
    } catch (error) {
      logError(request.log, new Error(`\`authorize\` of ${where} threw: access denied.`, { cause: error }));
      return false;
    }
  };
}

const NO_ROLE = "refuses a user whose session has no role: `roles` looks in `session.user.role` and " +
  "`session.user.roles`, each a string or an array of strings. Have `callbacks.session` set one of them, as in " +
  "`session({ session, token }) { session.user.role = token.role; return session; }`, from what `callbacks.jwt` puts " +
  "into the token, or from the `user` of a database. If some users are to have no role, nothing is wrong.";

/** Whether a session without a role says that its user has none: the application sets roles. */
function saysNone(...given: unknown[]): boolean {
  const said = given.filter((value) => value !== undefined);
  return said.length > 0 && said.flat().every((value) => value === null || value === "");
}

/** The strings of a string or an array; anything else is no role. */
export function toList(value: unknown): string[] {
  return [value].flat().filter((entry) => typeof entry === "string" && entry !== "") as string[];
}
