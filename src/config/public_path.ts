/**
 * Paths as users see them. A proxy, an API gateway or Fastify's `rewriteUrl` may change the path of a request
 * on its way; the path of `AUTH_URL` or `origin` says what it was.
 */
import type { FastifyRequest } from "fastify";
import type { PublicOrigin } from "../http/origin.ts";

/** How the paths that users see and those of the application differ. */
export interface PublicPaths {
  /** Where users see the routes that are mounted, percent-encoded, without a trailing slash. */
  readonly mount: string;
  /** What is removed from the path of every request on its way, such as `/api`; mostly nothing. */
  readonly removed: string;
}

/**
 * Finds out where users see a mount.
 *
 * Without a path the two are the same. If the end of the path is a mount of the application, what is
 * before it is removed on the way from every request: `https://app.example/api/auth` and the mount `/auth`
 * mean that users see `/me` at `/api/me`. Any other path is that of the auth routes alone.
 */
export function publicPaths(
  mountPath: string,
  origin: PublicOrigin | undefined,
  isMounted: (path: string) => boolean,
): PublicPaths {
  const path = origin?.path ?? "";
  if (path === "") return { mount: mountPath, removed: "" };
  for (let start = 0; start !== -1; start = path.indexOf("/", start + 1)) {
    if (!isMounted(path.slice(start))) continue;
    const removed = path.slice(0, start);
    return { mount: `${removed}${mountPath}`, removed };
  }
  return { mount: path, removed: "" };
}

export type AddressedRequest = Pick<FastifyRequest, "originalUrl" | "url">;

/**
 * Path and query of a request as its user sees them.
 *
 * @param removed What is removed from it on its way. `originalUrl` still has that if the application
 * itself removed it, with `rewriteUrl` or below a router of Express.
 */
export function publicUrl({ originalUrl, url }: AddressedRequest, removed: string): string {
  const path = pathOf(originalUrl);
  return originalUrl !== url && path.startsWith(`${removed}/`) ? path : `${removed}${path}`;
}

/** "GET http://host/path" is a valid request line (RFC 9112 section 3.2.2), whose host is not verified. */
function pathOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, "");
  return path.startsWith("/") ? path : `/${path}`;
}
