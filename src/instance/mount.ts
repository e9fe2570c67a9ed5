/** Where the routes are mounted, and where users see them. */
import type { FastifyInstance } from "fastify";
import type { AuthInstance } from "./auth_instance.ts";
import { type Report, reportOf, reportPerRequest } from "./boot_report.ts";
import { type PublicPaths, publicPaths } from "../config/public_path.ts";
import { FastifyAuthError } from "../errors.ts";

/**
 * The decorator of the root instance that keeps the configurations mounted in it. Scopes inherit it. The
 * command reads it, which may be of another copy of this package than the application's.
 */
const MOUNTED: unique symbol = Symbol.for("fastify-authjs.mounted");

/** A configuration, and where it is mounted. */
export interface Mounted {
  readonly mountPath: string;
  /** Whether it is the mount of this configuration, or of a function that has returned it. */
  readonly isOf: (auth: AuthInstance) => boolean;
  /** The configuration, unless a function chooses it. */
  readonly auth: AuthInstance | undefined;
  /** How it is set up, once the application is ready. */
  readonly report: () => Report;
}

/** The configurations that are mounted in an application, in the order they were registered. */
export function mountedIn(instance: object): readonly Mounted[] {
  return (instance as { [MOUNTED]?: Mounted[] })[MOUNTED] ?? [];
}

function rememberMount(scope: FastifyInstance, mounted: Mounted): void {
  if (!scope.hasDecorator(MOUNTED)) rootOf(scope).decorate(MOUNTED, []);
  (mountedIn(scope) as Mounted[]).push(mounted);
}

/** The instance around all scopes: each is the prototype of those within. */
function rootOf(instance: FastifyInstance): FastifyInstance {
  const around = Object.getPrototypeOf(instance);
  return typeof around?.addHook === "function" ? rootOf(around) : instance;
}

/**
 * Adds a mount to its configuration.
 *
 * @returns Its paths as users see them, which are known once the application has all its routes.
 */
export function addMount(scope: FastifyInstance, auth: AuthInstance, mountPath: string): () => PublicPaths {
  const { origin } = auth.config;
  const paths = pathsOf(scope, auth, mountPath);
  auth.addMount(scope.server, paths);
  rememberMount(scope, {
    auth,
    mountPath,
    isOf: (other) => other === auth,
    report: () => reportOf(auth, paths().mount),
  });
  // deno-lint-ignore require-await -- only errors of an async hook reject `ready()`
  scope.addHook("onReady", async () => {
    const { mount } = paths();
    if (auth.mountsIn(scope.server).some((other) => other !== paths && other().mount === mount)) {
      throw samePublicPath(mount);
    }
    if (mount === mountPath) return;
    scope.log.info(
      `Users see the auth routes at ${
        origin!.href
      }${mount}, by AUTH_URL or \`origin\`, and the application has ` +
        `them at ${mountPath}: a proxy or \`rewriteUrl\` has to turn the one into the other.`,
    );
  });
  return paths;
}

/**
 * Adds a mount of configurations that a function chooses.
 *
 * @param isOf Whether the function has returned a configuration.
 * @returns Adds the mount to a configuration, once the application has all its routes.
 * @throws {FastifyAuthError} What is returned does, where another mount has the same public path.
 */
export function addTenantMount(
  scope: FastifyInstance,
  mountPath: string,
  isOf: Mounted["isOf"],
): (auth: AuthInstance) => () => PublicPaths {
  rememberMount(scope, {
    auth: undefined,
    mountPath,
    isOf,
    report: () => reportPerRequest(mountPath),
  });
  return (auth) => {
    const paths = pathsOf(scope, auth, mountPath);
    const { mount } = paths();
    if (auth.mountsIn(scope.server).some((other) => other().mount === mount)) throw samePublicPath(mount);
    auth.addMount(scope.server, paths);
    return paths;
  };
}

/**
 * The paths of a mount as users see them, found out when they are needed: then the application has all its
 * routes.
 */
function pathsOf(
  scope: FastifyInstance,
  { config: { origin } }: AuthInstance,
  mountPath: string,
): () => PublicPaths {
  const isMounted = (path: string) =>
    path === mountPath || scope.hasRoute({ method: "GET", url: `${decodePath(path)}/csrf` });
  let known: PublicPaths | undefined;
  return () => known ??= publicPaths(mountPath, origin, isMounted);
}

function decodePath(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function samePublicPath(path: string): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_ORIGIN_INVALID",
    `The path "${path}" of AUTH_URL (or \`origin\`) is where users see the auth routes, and they are mounted more ` +
      "than once, each at another path. Leave the path out, or let it end with one of the mount paths.",
  );
}
