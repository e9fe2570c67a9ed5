/**
 * Which requests are a browser's, to be sent to the sign-in page, and where that is.
 *
 * @module
 */
import type { FastifyRequest } from "fastify";
import { normalizeCallbackUrl } from "../http/callback_url.ts";
import { authInstance } from "../auth_instance.ts";
import { originOf } from "../http/origin.ts";
import type { FastifyAuthConfig } from "../types.ts";

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

/**
 * The sign-in page with the way back.
 *
 * @returns `undefined` where there is none: the configuration names no page and is not mounted in this application.
 */
export function signInAddress(request: PageRequest, config: FastifyAuthConfig): string | undefined {
  const page = signInPage(request, config);
  if (page === undefined) return undefined;
  const [path = "", hash] = page.split("#", 2);
  const parameters = new URLSearchParams({ error: "SessionRequired" });
  const back = wayBack(request, config, page);
  if (back !== undefined) parameters.set("callbackUrl", back);
  return `${path}${path.includes("?") ? "&" : "?"}${parameters}${hash === undefined ? "" : `#${hash}`}`;
}

/**
 * Whether the request is for the sign-in page that the configuration names: guarded, it would redirect to itself,
 * and nobody could sign in.
 */
export function isSignInPage(request: PageRequest, config: FastifyAuthConfig): boolean {
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  const page = signInPage(request, config);
  return page !== undefined && withoutQuery(page) === withoutQuery(request.originalUrl);
}

/** The sign-in page: a path where it is on this origin. */
function signInPage(request: PageRequest, config: FastifyAuthConfig): string | undefined {
  const auth = authInstance(config);
  const { core, origin } = auth.config;
  const page = core.pages?.signIn;
  if (!page) {
    const mountPath = auth.mountPath(request.server.server);
    return mountPath === undefined ? undefined : `${mountPath}/signin`;
  }
  const own = page.startsWith("/") ? undefined : originOf(request, origin)?.href;
  return own !== undefined && page.startsWith(`${own}/`) ? page.slice(own.length) : page;
}

/** The path that was asked for, or the whole address for a sign-in page on another origin. */
function wayBack(request: PageRequest, config: FastifyAuthConfig, page: string): string | undefined {
  // "GET http://host/path" is a valid request line (RFC 9112 section 3.2.2); its host is only what a client says.
  const path = normalizeCallbackUrl(request.originalUrl.replace(/^https?:\/\/[^/?#]*/i, "") || "/");
  if (path === undefined || page.startsWith("/")) return path;
  const origin = originOf(request, authInstance(config).config.origin);
  return origin && `${origin.href}${path}`;
}

function withoutQuery(address: string): string {
  return address.replace(/[?#].*$/s, "");
}
