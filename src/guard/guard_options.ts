/** Which signed-in users a guard lets pass. */
import type { FastifyRequest } from "fastify";
import type { NoticeCode } from "../config/notices.ts";
import type { AuthInUse } from "../core/context.ts";
import { logError } from "../core/logger.ts";
import { FEATURES } from "../features/mod.ts";
import type { FeatureGuardOptions } from "../features/mod.ts";
import { invalid } from "../instance/arguments.ts";
import type { Session } from "../types.ts";

/** Which signed-in users may pass a guard, and which routes it leaves open. All that is set must hold. */
export interface RequireSessionOptions<OwnSession = Session> extends FeatureGuardOptions {
  /**
   * The user must have one of these roles in `session.user.role` or `session.user.roles` (each a string or an
   * array of strings), which `callbacks.session` sets.
   *
   * @default any user may pass
   */
  roles?: string | readonly string[];
  /**
   * Decides about one request, which passes if the result is truthy. If it throws, the request is
   * refused and the error logged. In an `onRequest` hook the body is not parsed yet.
   *
   * @param session The session, with a user.
   * @param request The request.
   * @default any user may pass
   */
  authorize?: (session: OwnSession, request: FastifyRequest) => unknown;
  /**
   * Whether routes with exactly `auth: false` in their `config` are open. All others stay guarded, also
   * unknown paths, HEAD and OPTIONS, and those whose `config.auth` requires more. The log names the open
   * routes at boot.
   *
   * @default false: every route that has the hook is guarded
   */
  respectRouteConfig?: boolean;
}

/** The features that add options to guards. */
const FEATURES_WITH_OPTIONS = FEATURES.flatMap(({ guard, ...feature }) => guard ? { ...feature, guard } : []);

const OPTIONS = [
  "roles",
  "authorize",
  "respectRouteConfig",
  ...FEATURES_WITH_OPTIONS.flatMap(({ guard }) => Object.keys(guard.rules)),
];

/**
 * Checks options: a misspelled or undefined one must not make a route public.
 *
 * @param where What they belong to, for the error.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID`.
 */
export function assertGuardOptions(options: RequireSessionOptions, where: string): void {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.includes(name)) throw invalid(where, `there is no option \`${name}\`.`);
  }
  if ("roles" in options && toList(options.roles).length === 0) {
    throw invalid(where, "`roles` must name a role; leave it out to let every user pass.");
  }
  if ("authorize" in options && typeof options.authorize !== "function") {
    throw invalid(where, "`authorize` must be a function; leave it out to let every user pass.");
  }
  if ("respectRouteConfig" in options && typeof options.respectRouteConfig !== "boolean") {
    throw invalid(where, "`respectRouteConfig` must be true or false.");
  }
  for (const { guard: { rules } } of FEATURES_WITH_OPTIONS) {
    for (const [name, value] of Object.entries(options)) {
      const problem = rules[name]?.(value, name);
      if (problem !== undefined) throw invalid(where, problem);
    }
  }
  for (const { guard: { together } } of FEATURES_WITH_OPTIONS) {
    const problem = together?.(options);
    if (problem) throw invalid(where, problem);
  }
}

/** The features whose options a guard has. */
export function featuresOf(options: RequireSessionOptions): typeof FEATURES_WITH_OPTIONS {
  return FEATURES_WITH_OPTIONS.filter(({ guard }) =>
    Object.keys(guard.rules).some((name) => name in options)
  );
}

/** Whether a signed-in user may pass. */
type IsAllowed = (
  session: Session,
  request: FastifyRequest,
  auth: Pick<AuthInUse, "once">,
) => Promise<boolean>;

/**
 * Decides by checked options.
 *
 * @param where What they belong to, for the log.
 */
export function authorizer({ roles, authorize }: RequireSessionOptions, where: string): IsAllowed {
  const wanted = toList(roles);
  /** Of which configuration it is known whether sessions carry roles: the first session that shows it settles that. */
  let settled: object | undefined;
  return async (session, request, auth) => {
    if (wanted.length > 0) {
      const { role, roles } = session.user as { readonly role?: unknown; readonly roles?: unknown };
      const held = [role, roles].flat();
      if (settled !== auth && !saysNone(role, roles)) {
        settled = auth;
        const hasRoles = toList(held).length > 0;
        auth.once("roles", () => hasRoles || request.log.warn({ code: CODE }, `${where} ${NO_ROLE}`));
      }
      if (!wanted.some((one) => held.includes(one))) return false;
    }
    if (authorize === undefined) return true;
    try {
      return !!await authorize(session, request);
    } catch (error) {
      logError(request.log, new Error(`\`authorize\` of ${where} threw: access denied.`, { cause: error }));
      return false;
    }
  };
}

const CODE: NoticeCode = "FST_AUTHJS_WARN_ROLES";

const NO_ROLE = "refuses a user whose session has no role: `roles` looks in `session.user.role` and " +
  "`session.user.roles`, each a string or an array of strings. Have `callbacks.session` set one of them, as in " +
  "`session({ session, token }) { session.user.role = token.role; return session; }`; with sessions in a token, " +
  "`callbacks.jwt` has to put it there at sign-in, and with sessions in a database the role is `user.role`. " +
  "If some users are to have no role, nothing is wrong.";

/** Whether a session without a role says that its user has none: the application sets roles. */
function saysNone(...given: unknown[]): boolean {
  const said = given.filter((value) => value !== undefined);
  return said.length > 0 && said.flat().every((value) => value === null || value === "");
}

/** The strings of a string or an array; anything else is no role. */
export function toList(value: unknown): string[] {
  return [value].flat().filter((entry) => typeof entry === "string" && entry !== "") as string[];
}
