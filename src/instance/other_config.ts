/** Says once that sessions are read with another configuration than the application has mounted. */
import { warnOnce } from "../session/read.ts";
import type { SessionRequest } from "../types.ts";
import type { AuthInstance } from "./auth_instance.ts";
import { mountedIn } from "./mount.ts";
import { shareSessions } from "./shared_sessions.ts";

/** An application that mounts no configuration only reads the sessions of another, which is fine. */
export function warnOfOtherConfig(auth: AuthInstance, { server, log }: SessionRequest): void {
  const mounted = mountedIn(server);
  if (mounted.length === 0 || mounted.some(({ paths }) => paths.has(auth))) return;
  const paths = mounted.map(({ mountPath }) => `"${mountPath}"`).join(" and ");
  const isShared = auth.config.problem === undefined &&
    mounted.some(({ auth: other }) => other && (shareSessions(other, auth) || areRows(other, auth)));
  const effect = isShared
    ? "it reads the same sessions, but by its own callbacks and settings, and knows no sign-in page"
    : "with another secret, cookie or strategy, users who sign in there have no session here";
  const message =
    `getSession() or requireSession() was given another configuration than FastifyAuth() at ${paths}: ` +
    `${effect}. Export one object and pass it to both.`;
  warnOnce({ auth, log }, "other configuration", "FST_AUTHJS_WARN_CONFIG_OBJECT", message);
}

/** Whether both keep sessions in a database, which may be the same one. */
function areRows(...auths: AuthInstance[]): boolean {
  return auths.every((auth) => auth.settings(false).strategy === "database");
}
