/**
 * Detects configurations of one process that accept each other's sessions.
 *
 * A browser sends its cookies to every port of a host, and all applications of a process mostly have one
 * AUTH_SECRET: a user of the public application would be signed in at the one for staff.
 */
import type { FastifyInstance } from "fastify";
import type { AuthInstance } from "./auth_instance.ts";
import type { NoticeCode } from "../config/notices.ts";
import { warnOnce } from "../session/read.ts";
import type { SessionRequest } from "../types.ts";
import { mountedIn } from "./mount.ts";

/** The configurations in use, for the process: applications on two ports share cookies. */
const inUse = new Set<WeakRef<AuthInstance>>();

/** Registers a configuration until its application closes. Warns if another one accepts the same sessions. */
export function registerSessions(instance: FastifyInstance, auth: AuthInstance): void {
  let isShared = false;
  for (const each of inUse) {
    const other = each.deref();
    if (other === undefined) inUse.delete(each); // Its application was not closed.
    else if (other !== auth && shareSessions(other, auth)) isShared = true;
  }
  if (isShared) {
    const code: NoticeCode = "FST_AUTHJS_WARN_SHARED_SESSIONS";
    const cookie = JSON.stringify(cookieOf(auth));
    instance.log.warn(
      { code },
      `Two configurations of this process have a secret and the session cookie ${cookie} in common: a ` +
        "user who signs in through one of them is signed in with the other. Give one of them its own " +
        "`secret` or `cookies.sessionToken.name`; if both are to be one, pass FastifyAuth() the same object.",
    );
  }
  const entry = new WeakRef(auth);
  inUse.add(entry);
  instance.addHook("onClose", (_instance, done) => {
    inUse.delete(entry);
    done();
  });
}

/**
 * Says once that sessions are read with another configuration than the application has mounted. One without a
 * mount only reads the sessions of another, which is fine.
 */
export function warnOfOtherConfig(auth: AuthInstance, { server, log }: SessionRequest): void {
  const mounted = mountedIn(server);
  if (mounted.length === 0 || mounted.some(({ paths }) => paths.has(auth))) return;
  const paths = mounted.map(({ mountPath }) => `"${mountPath}"`).join(" and ");
  const isShared = auth.config.problem === undefined &&
    mounted.some(({ auth: other }) =>
      other &&
      (shareSessions(other, auth) ||
        [other, auth].every((each) => each.settings(false).strategy === "database"))
    );
  const effect = isShared
    ? "it reads the same sessions, but by its own callbacks and settings, and knows no sign-in page"
    : "with another secret, cookie or strategy, users who sign in there have no session here";
  const message = `getSession() or requireSession() was given another configuration than FastifyAuth() at ${paths}: ` +
    `${effect}. Export one object and pass it to both.`;
  warnOnce({ auth, log }, "other configuration", "FST_AUTHJS_WARN_CONFIG_OBJECT", message);
}

/** Whether two configurations accept the same sessions. Only an adapter knows those in its database. */
function shareSessions(a: AuthInstance, b: AuthInstance): boolean {
  if ([a, b].some((auth) => auth.settings(false).strategy !== "jwt")) return false;
  return cookieOf(a) === cookieOf(b) && secretsOf(a).some((secret) => secretsOf(b).includes(secret));
}

/** The name of the session cookie, without the prefix for https: both schemes may be in use. */
function cookieOf(auth: AuthInstance): string {
  return auth.settings(auth.config.origin?.secure ?? false).cookie.name.replace(/^__Secure-/, "");
}

function secretsOf(auth: AuthInstance): string[] {
  return [auth.settings(false).jwt.secret].flat().filter((secret) => secret !== undefined);
}
