/** The redirect to the sign-in page: which requests get it, and its URL. */
import type { FastifyRequest, RouteOptions } from "fastify";
import { authInstance } from "../instance/auth_instance.ts";
import { pathsIn } from "../instance/mount.ts";
import { publicUrl } from "../config/mount_path.ts";
import { normalizeCallbackUrl, toAsciiUrl } from "../http/callback_url.ts";
import { originOf } from "../http/origin.ts";
import { acceptsHtml, parseQuery } from "../http/request.ts";
import type { FastifyAuthConfig } from "../types.ts";

/** The part of a request that is read, so that it fits instances of every type. */
type PageRequest = Pick<FastifyRequest, "headers" | "host" | "method" | "originalUrl" | "protocol" | "server" | "url">;

/** Whether a browser requests a page: a GET that accepts `text/html` by name, which `fetch()` does not. */
export function isPageView({ method, headers }: PageRequest): boolean {
  return method === "GET" && headers.upgrade === undefined && acceptsHtml(headers.accept);
}

/** The parameters that redirects to the sign-in page add, those of core and of the guard. */
const ADDED_PARAMETERS = ["callbackUrl", "code", "error"];

/** The URL of the sign-in page, with a callback URL and what else it is told; nothing if there is no such page. */
export function signInAddress(request: PageRequest, config: FastifyAuthConfig, asked: Record<string, string> = {}) {
  const page = signInPage(request, config);
  if (page === undefined) return undefined;
  const { path, query, hash } = splitUrl(page);
  const parameters = new URLSearchParams({ error: "SessionRequired" });
  const returned = returnPath(request, config);
  // On another origin the page needs the URL.
  const base = page.startsWith("/") ? "" : originOf(request, authInstance(config).config.origin)?.href;
  const callbackUrl = returned !== undefined && base !== undefined ? `${base}${returned}` : undefined;
  if (callbackUrl !== undefined) parameters.set("callbackUrl", callbackUrl);
  for (const [name, value] of Object.entries(asked)) parameters.set(name, value);
  // Not encoded anew: an application may read the query as text.
  const own = query.split("&").filter((parameter) =>
    parameter !== "" && !ADDED_PARAMETERS.some((name) => parseQuery(parameter).has(name))
  );
  return `${path}?${[...own, parameters].join("&")}${hash}`;
}

/**
 * Whether the request is for the sign-in page: guarded, it would redirect to itself. If the page has a query, other
 * pages may share its path, so the parameters have to be the same.
 */
export function isSignInPage(request: PageRequest, config: FastifyAuthConfig): boolean {
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  const page = signInPage(request, config);
  // A page on another origin is not part of this application.
  if (page === undefined || !page.startsWith("/")) return false;
  const [configured, requested] = [splitUrl(page), splitUrl(publicUrlOf(request, config))];
  if (configured.path !== requested.path) return false;
  const own = ownParameters(configured.query);
  return own === "" || own === ownParameters(requested.query);
}

/** Whether a route is no more than the sign-in page of the configuration, which guards let all users see. */
export function isSignInRoute(route: Pick<RouteOptions, "method" | "url">, config: FastifyAuthConfig): boolean {
  return route.url === authInstance(config).config.core.pages?.signIn &&
    [route.method].flat().every((method) => method === "GET" || method === "HEAD");
}

/** The page's own parameters, in a form that can be compared: order and encoding do not matter. */
function ownParameters(query: string): string {
  const parameters = parseQuery(query);
  for (const name of ADDED_PARAMETERS) parameters.delete(name);
  parameters.sort();
  return parameters.toString();
}

/** The sign-in page: a percent-encoded path if it is on this origin. */
function signInPage(request: PageRequest, config: FastifyAuthConfig): string | undefined {
  const auth = authInstance(config);
  const { core, origin } = auth.config;
  const page = core.pages?.signIn;
  if (!page) {
    const paths = pathsIn(request.server, auth);
    return paths && `${paths.mount}/signin`;
  }
  if (page.startsWith("/")) return toAsciiUrl(page);
  const url = URL.canParse(page) ? new URL(page) : undefined;
  if (url === undefined || url.origin !== originOf(request, origin)?.href) return page;
  return `${url.pathname}${url.search}${url.hash}`;
}

/** Where a user returns to the page of a request: its path, as its user sees it. */
export function returnPath(request: PageRequest, config: FastifyAuthConfig): string | undefined {
  return normalizeCallbackUrl(publicUrlOf(request, config));
}

/** Path and query of a request as its user sees them. */
function publicUrlOf(request: PageRequest, config: FastifyAuthConfig): string {
  return publicUrl(request, pathsIn(request.server, authInstance(config))?.removed ?? "");
}

/** The parts of a URL: the query without its `?`, the hash with its `#`. */
function splitUrl(url: string): { path: string; query: string; hash: string } {
  const [, path = "", query = "", hash = ""] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(url) ?? [];
  return { path, query, hash };
}
