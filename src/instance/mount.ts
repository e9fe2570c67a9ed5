/** Where the routes of an application are mounted, where users see them, and which configurations share sessions. */
import type { FastifyInstance } from "fastify";
import type { AuthInstance } from "./auth_instance.ts";
import { type PublicPaths, publicPaths } from "../config/mount_path.ts";
import { FastifyAuthError } from "../errors.ts";
import type { ConfigForRequest, FastifyAuthConfig, SessionRequest } from "../types.ts";

/** The decorator of the root instance that keeps its mounts, also for a doctor of another copy of us. */
const MOUNTED: unique symbol = Symbol.for("fastify-authjs.mounted");

export interface Mounted {
  /** The instance it was registered on: whose routes it is nearest to. */
  readonly scope: FastifyInstance;
  readonly mountPath: string;
  readonly config: FastifyAuthConfig | ConfigForRequest;
  readonly auth?: AuthInstance;
  /** Makes the mount ready for a configuration that the function has chosen. */
  readonly prepare?: (config: FastifyAuthConfig) => Promise<unknown>;
  /** The paths as users see them, of each configuration that is ready. */
  readonly paths: WeakMap<AuthInstance, PublicPaths>;
}

export function mountedIn(instance: object): readonly Mounted[] {
  return (instance as { [MOUNTED]?: Mounted[] })[MOUNTED] ?? [];
}

/** The paths of a configuration in an application, those of its first mount. */
export function pathsIn(instance: object, auth: AuthInstance): PublicPaths | undefined {
  return mountedIn(instance).find(({ paths }) => paths.has(auth))?.paths.get(auth);
}

export function addMount(mounted: Mounted): void {
  const { scope } = mounted;
  if (!scope.hasDecorator(MOUNTED)) rootOf(scope).decorate(MOUNTED, []);
  (mountedIn(scope) as Mounted[]).push(mounted);
}

/** The instance around all scopes: each is the prototype of those within. */
export function rootOf(instance: FastifyInstance): FastifyInstance {
  const around = Object.getPrototypeOf(instance);
  return typeof around?.addHook === "function" ? rootOf(around) : instance;
}

/** Finds out at which path users see a mount of a configuration, once the application has all its mounts. */
export function publishMount({ scope, mountPath, paths }: Mounted, auth: AuthInstance): string {
  const { origin } = auth.config;
  const mounts = mountedIn(scope);
  const found = publicPaths(mountPath, origin, (path) => mounts.some((other) => other.mountPath === path));
  const { mount } = found;
  if (mounts.some((other) => other.paths.get(auth)?.mount === mount)) {
    throw new FastifyAuthError(
      "FST_AUTHJS_ORIGIN_INVALID",
      `The path "${mount}" of AUTH_URL (or \`origin\`) is where users see the auth routes, and they are ` +
        "mounted more than once, each at another path. Leave it out, or let it end with a mount path.",
    );
  }
  paths.set(auth, found);
  if (mount !== mountPath) {
    scope.log.info(
      `Users see the auth routes at ${origin!.href}${mount}, by AUTH_URL or \`origin\`, and the application has ` +
        `them at ${mountPath}: a proxy or \`rewriteUrl\` has to turn the one into the other.`,
    );
  }
  return mount;
}

/** The configurations in use, for the process: applications on two ports share cookies. */
const inUse = new Set<WeakRef<AuthInstance>>();

/** Registers a configuration until its application closes. Warns if another one accepts the same sessions. */
export function registerSessions(instance: FastifyInstance, auth: AuthInstance): void {
  let isShared = false;
  for (const each of inUse) {
    const other = each.deref();
    // deno-coverage-ignore Its application was not closed, and was collected as garbage
    if (other === undefined) inUse.delete(each);
    else if (other !== auth && shareSessions(other, auth)) isShared = true;
  }
  if (isShared) {
    const cookie = JSON.stringify(cookieOf(auth));
    instance.log.warn(
      { code: "FST_AUTHJS_WARN_SHARED_SESSIONS" },
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

/** Says once that sessions are read with another configuration than the application has mounted. */
export function warnOfOtherConfig(auth: AuthInstance, { server, log }: SessionRequest): void {
  const mounted = mountedIn(server);
  if (mounted.length === 0 || mounted.some(({ paths }) => paths.has(auth))) return;
  const paths = mounted.map(({ mountPath }) => `"${mountPath}"`).join(" and ");
  const isInDatabase = (each: AuthInstance) => each.settings().strategy === "database";
  const sharesWith = (other: AuthInstance) => shareSessions(other, auth) || [other, auth].every(isInDatabase);
  const isShared = auth.config.problem === undefined && mounted.some(({ auth: other }) => other && sharesWith(other));
  const effect = isShared
    ? "it reads the same sessions, but by its own callbacks and settings, and knows no sign-in page"
    : "with another secret, cookie or strategy, users who sign in there have no session here";
  const message = `getSession() or requireSession() was given another configuration than FastifyAuth() at ${paths}: ` +
    `${effect}. Export one object and pass it to both.`;
  auth.once("other configuration", () => log.warn({ code: "FST_AUTHJS_WARN_CONFIG_OBJECT" }, `Auth.js: ${message}`));
}

/** Whether two configurations accept the same sessions. Only an adapter knows those in its database. */
function shareSessions(a: AuthInstance, b: AuthInstance): boolean {
  if ([a, b].some((auth) => auth.settings().strategy !== "jwt")) return false;
  const [secrets, others] = [a, b].map((auth) => [auth.settings().jwt.secret].flat());
  return cookieOf(a) === cookieOf(b) && secrets!.some((secret) => secret !== undefined && others!.includes(secret));
}

/** The name of the session cookie, without the prefix for https: both schemes may be in use. */
function cookieOf(auth: AuthInstance): string {
  return auth.settings().cookie.name.replace(/^__Secure-/, "");
}
