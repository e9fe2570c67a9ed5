/** The path that the routes are mounted at. */
import { FastifyAuthError, invalidConfig } from "../errors.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { FastifyAuthPages } from "../types.ts";
import { lazyPattern } from "../utils/later.ts";

/**
 * Characters that mean the same to the router, in a URL and to core, which builds a regular expression from
 * the path.
 */
const prefixInAnyScript = lazyPattern(String.raw`^(?:/[\p{L}\p{N} ._~!&',;=@-]+)+$`, "u");

/** The same of ASCII, which is the usual case. */
const ASCII_PREFIX = /^(?:\/[\w .~!&',;=@-]+)+$/;

/** Checks the full prefix of the routes' scope and makes it the mount path: percent-encoded, no slash at its end. */
export function toMountPath(prefix: string): string {
  const path = prefix.replace(/\/+$/, "");
  if (path === "") throw invalid(prefix, "the routes need a path of their own");
  if (path.includes(":") || path.includes("*")) {
    throw invalid(prefix, "a callback URL is registered at the provider and cannot have parameters in it");
  }
  if (/(?:^|\/)\.{1,2}(?:\/|$)/.test(path) || !isPrefix(path)) {
    throw invalid(prefix, "it may have letters, digits and any of -._~!&',;=@ between single slashes");
  }
  return encodeURI(path);
}

function isPrefix(path: string): boolean {
  return ASCII_PREFIX.test(path) || prefixInAnyScript().test(path);
}

function invalid(prefix: string, why: string): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_PREFIX_INVALID",
    `FastifyAuth cannot be mounted at ${JSON.stringify(prefix)}: ${why}. ` +
      'Register it as `app.register(FastifyAuth(config), { prefix: "/auth" })`.',
  );
}

/** Checks that a configured `basePath` is the mount path, which the prefix decides, or the public path. */
export function assertBasePath(
  basePath: string | undefined,
  mountPath: string,
  publicPath: string | undefined,
): void {
  if (basePath === undefined) return;
  if ([mountPath, publicPath].includes(encodeURI(basePath.replace(/\/+$/, "")))) return;
  throw invalidConfig(
    `The configuration has \`basePath: ${JSON.stringify(basePath)}\`, but the routes are mounted at ` +
      `"${mountPath}". Leave \`basePath\` out: the prefix of the registration decides.`,
  );
}

/** The built-in pages that `pages` can replace, below the mount path. */
const BUILT_IN = {
  signIn: "signin",
  signOut: "signout",
  error: "error",
  verifyRequest: "verify-request",
} as const;

export type BuiltInPage = keyof typeof BUILT_IN;

/**
 * Says if a page of the application is the built-in page that it takes the place of, at a mount path as users see it.
 * Without an origin, URLs are not looked at.
 */
export function ownPageProblem(
  pages: FastifyAuthPages,
  name: BuiltInPage,
  mount: string,
  origin: PublicOrigin | undefined,
): string | undefined {
  const page = pages[name];
  if (page === undefined) return undefined;
  const base = origin?.href ?? "http://origin.invalid";
  const address = new URL(page, base);
  const path = address.pathname.replace(/\/+$/, "");
  if (address.origin !== base || path !== `${mount}/${BUILT_IN[name]}`) return undefined;
  return `\`pages.${name}\` is ${JSON.stringify(page)}, the built-in page itself, which would redirect to ` +
    "itself forever. Leave it out, or name a page of yours.";
}

/** Checks that no page of the application is the built-in page that it takes the place of. */
export function assertOwnPages(
  pages: FastifyAuthPages = {},
  mount: string,
  origin: PublicOrigin | undefined,
): void {
  for (const name of Object.keys(BUILT_IN) as BuiltInPage[]) {
    const problem = ownPageProblem(pages, name, mount, origin);
    if (problem !== undefined) throw invalidConfig(problem);
  }
}
