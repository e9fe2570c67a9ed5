/**
 * Which requests are a browser's, to be sent to the sign-in page, and where that is.
 *
 * @module
 */
import type { FastifyRequest } from "fastify";
import { authInstance } from "./auth_instance.ts";
import { normalizeCallbackUrl, toAsciiUrl } from "./http/callback_url.ts";
import { originOf } from "./http/origin.ts";
import { parseQuery } from "./http/query.ts";
import type { FastifyAuthConfig } from "./types.ts";

/** What is looked at of a request: the same in HTTP/1.1 and HTTP/2, and whatever types its instance has. */
export type PageRequest = Pick<
  FastifyRequest,
  "headers" | "host" | "method" | "originalUrl" | "protocol" | "server"
>;

/** Whether a person is looking at the answer: a GET that names `text/html`, which `fetch()` does not by itself. */
export function isPageView({ method, headers }: PageRequest): boolean {
  return method === "GET" && headers.upgrade === undefined && acceptsHtml(headers.accept);
}

function acceptsHtml(accept = ""): boolean {
  return accept.toLowerCase().split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    return type === "text/html" && !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter));
  });
}

/** What redirects to the sign-in page add, core's and the guard's. */
const ADDED_PARAMETERS = ["callbackUrl", "code", "error"];

/**
 * The sign-in page with the way back.
 *
 * @returns `undefined` where there is none: the configuration names no page and is not mounted in this application.
 */
export function signInAddress(request: PageRequest, config: FastifyAuthConfig): string | undefined {
  const page = signInPage(request, config);
  if (page === undefined) return undefined;
  const { path, query, hash } = split(page);
  const parameters = new URLSearchParams({ error: "SessionRequired" });
  const back = wayBack(request, config, page);
  if (back !== undefined) parameters.set("callbackUrl", back);
  // As it is written in the configuration: there are applications that read the text of the query.
  const own = query.split("&").filter((parameter) => parameter !== "" && !isAdded(parameter));
  return `${path}?${[...own, parameters].join("&")}${hash}`;
}

function isAdded(parameter: string): boolean {
  return ADDED_PARAMETERS.some((name) => parseQuery(parameter).has(name));
}

/**
 * Whether the request is for the sign-in page that the configuration names: guarded, it would redirect to itself,
 * and nobody could sign in.
 *
 * A page with a query shares its path with others, so that any other parameter may lead to another page.
 */
export function isSignInPage(request: PageRequest, config: FastifyAuthConfig): boolean {
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  const page = signInPage(request, config);
  // A page on another origin is none of this application's, whatever address a client writes into its request.
  if (page === undefined || !page.startsWith("/")) return false;
  const [named, asked] = [split(page), split(pathOf(request))];
  if (named.path !== asked.path) return false;
  const own = ownParameters(named.query);
  return own === "" || own === ownParameters(asked.query);
}

/** The parameters that name the page, in a form that can be compared: their order and encoding do not matter. */
function ownParameters(query: string): string {
  const parameters = parseQuery(query);
  for (const name of ADDED_PARAMETERS) parameters.delete(name);
  parameters.sort();
  return parameters.toString();
}

/** The sign-in page: a path, percent-encoded, where it is on this origin. */
function signInPage(request: PageRequest, config: FastifyAuthConfig): string | undefined {
  const auth = authInstance(config);
  const { core, origin } = auth.config;
  const page = core.pages?.signIn;
  if (!page) {
    const mountPath = auth.mountPath(request.server.server);
    return mountPath === undefined ? undefined : `${mountPath}/signin`;
  }
  if (page.startsWith("/")) return toAsciiUrl(page);
  const url = URL.canParse(page) ? new URL(page) : undefined;
  if (url === undefined || url.origin !== originOf(request, origin)?.href) return page;
  return `${url.pathname}${url.search}${url.hash}`;
}

/** The path that was asked for, or the whole address for a sign-in page on another origin. */
function wayBack(request: PageRequest, config: FastifyAuthConfig, page: string): string | undefined {
  const path = normalizeCallbackUrl(pathOf(request));
  if (path === undefined || page.startsWith("/")) return path;
  const origin = originOf(request, authInstance(config).config.origin);
  return origin && `${origin.href}${path}`;
}

/**
 * Path and query of a request. "GET http://host/path" is a valid request line (RFC 9112 section 3.2.2); its host is only
 * what a client says.
 */
function pathOf({ originalUrl }: PageRequest): string {
  const path = originalUrl.replace(/^https?:\/\/[^/?#]*/i, "");
  return path.startsWith("/") ? path : `/${path}`;
}

/** The parts of an address, each with what separates it from the one before, except for the query. */
function split(address: string): { path: string; query: string; hash: string } {
  const [, path = "", query = "", hash = ""] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(address) ?? [];
  return { path, query, hash };
}
