/** The public origin: the scheme and host that users see. Cookie names, redirects and callback URLs depend on it. */
import { FastifyAuthError } from "../errors.ts";

export interface PublicOrigin {
  /** Scheme, host and port, as in `https://app.example`. */
  readonly href: string;
  readonly host: string;
  /** The path of the auth routes as users see it, if it is configured, without a trailing slash. */
  readonly path?: string;
  /** Whether it is https, which decides the `__Secure-` and `__Host-` prefixes of cookies. */
  readonly secure: boolean;
}

/** Whether only this machine reaches it: browsers treat it as secure over http, too. */
export function isLoopback({ href }: PublicOrigin): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(href).hostname);
}

/** The part of a Fastify request that the origin depends on. */
export interface OriginRequest {
  readonly protocol: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of Node's request that is read. Its type differs from server to server. */
type Raw = { readonly raw?: { readonly rawHeaders?: readonly string[]; readonly socket?: unknown } };

/** A host name or address with an optional port (RFC 3986 section 3.2.2), without userinfo or path. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]*)|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** The origin in the configuration or `AUTH_URL`, with the path of the auth routes as users see it, if it has one. */
export function configuredOrigin(value: string | undefined): PublicOrigin | undefined {
  if (!value) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.password || !HOST.test(url.host)) {
    // It may have a password.
    const shown = value.includes("@") ? "" : `is ${JSON.stringify(value)}, and `;
    throw invalidOrigin(
      `${shown}must be the address users type, with its scheme and without a password, such as https://app.example.`,
    );
  }
  const { origin: href, host, protocol, pathname } = url;
  if (/[?#]/.test(value)) {
    const problem = "has a query or a fragment (`?` or `#`), which no address of the auth routes has";
    throw invalidOrigin(`${problem}. Leave it out: ${href}${pathname}`);
  }
  const path = pathname.replace(/\/+$/, "");
  return Object.freeze({ href, host, secure: protocol === "https:", ...(path && { path }) });
}

function invalidOrigin(problem: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_ORIGIN_INVALID", `AUTH_URL (or \`origin\`) ${problem}`);
}

/** The configured origin, else that of the request; `undefined` if it names no valid host, or more than one. */
export function originOf(request: OriginRequest, pinned: PublicOrigin | undefined): PublicOrigin | undefined {
  if (pinned !== undefined) return pinned;
  if (hasSeveralHosts(request)) return undefined;
  const { protocol } = request;
  const host = ":authority" in request.headers ? hostOfHttp2(request) : request.host;
  // Most applications have one host: parsing it takes 1.2 µs, comparing 0.05, and all else of a read 1.5.
  if (protocol !== latest.protocol || host !== latest.host) {
    latest = { protocol, host, origin: parseOrigin(protocol, host) };
  }
  return latest.origin;
}

let latest = { protocol: "", host: "", origin: undefined as PublicOrigin | undefined };

/** Whether there are several `Host` headers: Node uses the first, a proxy may have used another. */
function hasSeveralHosts(request: OriginRequest & Raw): boolean {
  const lines = request.raw?.rawHeaders ?? [];
  let hosts = 0;
  for (let i = 0; i < lines.length; i += 2) {
    if (lines[i]!.length === 4 && lines[i]!.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}

/**
 * `request.host` of HTTP/2, but `:authority` wins over a `Host` header that differs (RFC 9113 section 8.3.1): Fastify's
 * getter, which handles forwarded hosts, runs on a request whose `Host` is `:authority`.
 */
function hostOfHttp2(request: OriginRequest & Raw): string {
  const { headers } = request;
  const authority = headers[":authority"];
  if (headers.host === undefined || headers.host === authority) return request.host;
  const replaced = { ...headers, host: authority };
  const asked: OriginRequest = Object.create(request, {
    headers: { value: replaced },
    raw: { value: { headers: replaced, socket: request.raw?.socket } },
  });
  return asked.host;
}

function parseOrigin(protocol: string, host: string): PublicOrigin | undefined {
  const scheme = schemeOf(protocol);
  const href = `${scheme}://${host}`;
  if (scheme === undefined || typeof host !== "string" || !HOST.test(host)) return undefined;
  if (!URL.canParse(href)) return undefined;
  const url = new URL(href);
  return Object.freeze({ href: url.origin, host: url.host, secure: scheme === "https" });
}

/** Proxies may send it in upper case, or as "ws" and "wss" for a WebSocket. */
function schemeOf(protocol: string): "http" | "https" | undefined {
  const [, secure] = /^(?:http|ws)(s?)$/i.exec(String(protocol)) ?? [];
  return secure === undefined ? undefined : secure === "" ? "http" : "https";
}

/** As {@linkcode originOf}, or a 400; for several `Host` headers also if an origin is configured. */
export function requireOrigin(request: OriginRequest, pinned: PublicOrigin | undefined): PublicOrigin {
  const origin = originOf(request, pinned);
  const isAmbiguous = (origin === undefined || pinned !== undefined) && hasSeveralHosts(request);
  if (origin !== undefined && !isAmbiguous) return origin;
  throw new FastifyAuthError(
    "FST_AUTHJS_HOST_INVALID",
    isAmbiguous
      ? "There is more than one Host header."
      : schemeOf(request.protocol) === undefined
      ? "The scheme that a proxy names in X-Forwarded-Proto is neither http nor https."
      : "The Host header is missing or is not a host name.",
  );
}
