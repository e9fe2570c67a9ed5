/** Where the routes of an application are mounted, and where users see them. */
import type { FastifyInstance } from "fastify";
import type { AuthInstance } from "./auth_instance.ts";
import { type PublicPaths, publicPaths } from "../config/mount_path.ts";
import { FastifyAuthError } from "../errors.ts";
import type { ConfigForRequest, FastifyAuthConfig } from "../types.ts";

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
