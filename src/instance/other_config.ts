/** Says once that sessions are read with another configuration than the application has mounted. */
import type { AuthInstance } from "./auth_instance.ts";
import type { NoticeCode } from "../config/notices.ts";
import { mountedIn } from "./mount.ts";
import { shareSessions } from "./shared_sessions.ts";
import type { SessionRequest } from "../types.ts";

/**
 * Warns where a configuration is not the one that the application has mounted. An application that mounts
 * none only reads the sessions of another, which is fine.
 */
export function warnOfOtherConfig(auth: AuthInstance, { server, log }: SessionRequest): void {
  const mounted = mountedIn(server);
  if (mounted.length === 0 || mounted.some(({ paths }) => paths.has(auth))) return;
  auth.once("other configuration", () => {
    const paths = mounted.map(({ mountPath }) => `"${mountPath}"`).join(" and ");
    const shared = auth.config.problem === undefined &&
      mounted.some(({ auth: other }) =>
        other !== undefined && (shareSessions(other, auth) || areRows(other, auth))
      );
    const code: NoticeCode = "FST_AUTHJS_WARN_CONFIG_OBJECT";
    log.warn(
      { code },
      "getSession() or requireSession() was given another configuration than FastifyAuth() at " +
        `${paths}: ${
          shared
            ? "it reads the same sessions, but by its own callbacks and settings, and knows no sign-in page"
            : "with another secret, cookie or strategy, users who sign in there have no session here"
        }. Export one object and pass it to both.`,
    );
  });
}

/** Whether both keep sessions in a database, which may be the same one. */
function areRows(...auths: AuthInstance[]): boolean {
  return auths.every((auth) => auth.settings(false).strategy === "database");
}
