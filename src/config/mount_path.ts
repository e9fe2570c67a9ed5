/** The path that the routes are mounted at, in the application and as users see it. */
import type { FastifyRequest } from "fastify";
import { FastifyAuthError, invalidConfig } from "../errors.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { FastifyAuthPages } from "../types.ts";
import { lazyPattern } from "../utils/later.ts";

/** Characters that mean the same to the router, in a URL and to core, which builds a regular expression of the path. */
const prefixInAnyScript = lazyPattern(String.raw`^(?:/[\p{L}\p{N} ._~!&',;=@-]+)+$`, "u");

/** The same of ASCII, which is the usual case. */
const ASCII_PREFIX = /^(?:\/[\w .~!&',;=@-]+)+$/;

/** Checks the full prefix of the routes' scope and makes it the mount path: percent-encoded, no slash at its end. */
export function toMountPath(prefix: string): string {
  const path = prefix.replace(/\/+$/, "");
  const problem = path === ""
    ? "the routes need a path of their own"
    : /[:*]/.test(path)
    ? "a callback URL is registered at the provider and cannot have parameters in it"
    : /(?:^|\/)\.{1,2}(?:\/|$)/.test(path) || !(ASCII_PREFIX.test(path) || prefixInAnyScript().test(path))
    ? "it may have letters, digits and any of -._~!&',;=@ between single slashes"
    : undefined;
  if (problem === undefined) return encodeURI(path);
  throw new FastifyAuthError(
    "FST_AUTHJS_PREFIX_INVALID",
    `FastifyAuth cannot be mounted at ${JSON.stringify(prefix)}: ${problem}. ` +
      'Register it as `app.register(auth.plugin, { prefix: "/auth" })`, or `FastifyAuth(config)` in its place.',
  );
}

export function assertBasePath(basePath: string | undefined, mountPath: string, publicPath: string | undefined): void {
  if (basePath === undefined) return;
  if ([mountPath, publicPath].includes(encodeURI(basePath.replace(/\/+$/, "")))) return;
  throw invalidConfig(
    `The configuration has \`basePath: ${JSON.stringify(basePath)}\`, but the routes are mounted at ` +
      `"${mountPath}". Leave \`basePath\` out: the prefix of the registration decides.`,
  );
}

/** The built-in pages that `pages` can replace, below the mount path. */
const BUILT_IN = { signIn: "signin", signOut: "signout", error: "error", verifyRequest: "verify-request" } as const;

export type BuiltInPage = keyof typeof BUILT_IN;

/** Says if a page of the application is the built-in one that it takes the place of. */
export function ownPageProblem(pages: FastifyAuthPages, name: BuiltInPage, mount: string, origin?: PublicOrigin) {
  const page = pages[name];
  if (page === undefined) return undefined;
  const base = origin?.href ?? "http://origin.invalid";
  const address = new URL(page, base);
  const path = address.pathname.replace(/\/+$/, "");
  if (address.origin !== base || path !== `${mount}/${BUILT_IN[name]}`) return undefined;
  return `\`pages.${name}\` is ${JSON.stringify(page)}, the built-in page itself, which would redirect to ` +
    "itself forever. Leave it out, or name a page of yours.";
}

export function assertOwnPages(pages: FastifyAuthPages = {}, mount: string, origin: PublicOrigin | undefined): void {
  for (const name of Object.keys(BUILT_IN) as BuiltInPage[]) {
    const problem = ownPageProblem(pages, name, mount, origin);
    if (problem !== undefined) throw invalidConfig(problem);
  }
}

/**
 * How the paths that users see and those of the application differ: a proxy or Fastify's `rewriteUrl` may change the
 * path of a request on its way, and the path of `AUTH_URL` or `origin` says what it was.
 */
export interface PublicPaths {
  /** Where users see the auth routes, percent-encoded, without a trailing slash. */
  readonly mount: string;
  /** What is removed from the path of every request on its way, such as `/api`; mostly nothing. */
  readonly removed: string;
}

/**
 * Finds out where users see a mount. If the end of the origin's path is a mount of the application, what is before it
 * is removed on the way from every request: `https://app.example/api/auth` and the mount `/auth` mean that users see
 * `/me` at `/api/me`. Any other path is that of the auth routes alone.
 */
export function publicPaths(mountPath: string, origin: PublicOrigin | undefined, isMounted: (path: string) => boolean) {
  const path = origin?.path ?? "";
  if (path === "") return { mount: mountPath, removed: "" };
  for (let start = 0; start !== -1; start = path.indexOf("/", start + 1)) {
    if (!isMounted(path.slice(start))) continue;
    const removed = path.slice(0, start);
    return { mount: `${removed}${mountPath}`, removed };
  }
  return { mount: path, removed: "" };
}

/**
 * Path and query of a request as its user sees them. `originalUrl` still has what was removed on its way if the
 * application itself removed it, with `rewriteUrl` or below a router of Express.
 */
export function publicUrl({ originalUrl, url }: Pick<FastifyRequest, "originalUrl" | "url">, removed: string): string {
  // "GET http://host/path" is a valid request line (RFC 9112 section 3.2.2), whose host is not verified.
  // "http://host?/path" is not that of the front page: find-my-way before 9.9 takes it for "/path".
  const path = originalUrl.replace(/^https?:\/\/[^/?#]*(?=\/)/i, "").replace(/^(?!\/)/, "/");
  return originalUrl !== url && path.startsWith(`${removed}/`) ? path : `${removed}${path}`;
}
