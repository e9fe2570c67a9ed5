/**
 * The one place that decides the public origin: the scheme and host that users see, on which cookie names,
 * redirects and callback URLs depend.
 *
 * @module
 */
import { FastifyAuthError } from "../errors.ts";

/** The public origin of the application. */
export interface PublicOrigin {
  /** Scheme, host and port, as in `https://app.example`. */
  readonly href: string;
  /** Whether it is https, which decides the `__Secure-` and `__Host-` prefixes of cookies. */
  readonly secure: boolean;
}

/** What of a Fastify request the origin depends on. */
export interface OriginRequest {
  /** `http` or `https`; follows Fastify's `trustProxy`, and is then whatever the proxy sent. */
  readonly protocol: string;
  /** The `Host` header or `:authority`; follows Fastify's `trustProxy`. */
  readonly host: string;
  /** The headers as Node gives them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of Node's request that is looked at. It is not in {@linkcode OriginRequest}: it differs from server to server. */
interface Raw {
  readonly raw?: {
    readonly rawHeaders?: readonly string[];
    readonly socket?: unknown;
  };
}

/** A host name or address with an optional port (RFC 3986 section 3.2.2), without userinfo or path. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]*)|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * The origin that the configuration or `AUTH_URL` pins. A path in it is not used: the prefix decides where the
 * routes are.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_ORIGIN_INVALID` where it is not an http or https URL.
 */
export function configuredOrigin(value: string | undefined): PublicOrigin | undefined {
  if (!value) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new FastifyAuthError(
      "FST_AUTHJS_ORIGIN_INVALID",
      "AUTH_URL (or `origin`) must be the address users type, such as https://app.example.",
    );
  }
  return Object.freeze({ href: url.origin, secure: url.protocol === "https:" });
}

/**
 * The public origin of a request: the pinned one, else what Fastify says of the request. Forwarded headers are
 * never read here, so they count exactly when `trustProxy` makes Fastify honour them.
 *
 * @returns `undefined` where the request names no valid host, or more than one.
 */
export function originOf(request: OriginRequest, pinned: PublicOrigin | undefined): PublicOrigin | undefined {
  if (pinned !== undefined) return pinned;
  if (hasSeveralHosts(request)) return undefined;
  const { protocol } = request;
  const host = hostOf(request);
  // An application has one or two hosts, asked of with each read of a session.
  if (protocol !== latest.protocol || host !== latest.host) {
    latest = { protocol, host, origin: parseOrigin(protocol, host) };
  }
  return latest.origin;
}

let latest: Omit<OriginRequest, "headers"> & { readonly origin: PublicOrigin | undefined } = {
  protocol: "",
  host: "",
  origin: undefined,
};

/**
 * Whether there are several `Host` lines, of which Node shows the first, and a proxy in front may have used another
 * (RFC 9112 section 3.2).
 */
function hasSeveralHosts(request: OriginRequest & Raw): boolean {
  const lines = request.raw?.rawHeaders ?? [];
  let hosts = 0;
  for (let i = 0; i < lines.length; i += 2) {
    if (lines[i]!.length === 4 && lines[i]!.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}

/**
 * `request.host`, with `:authority` in the place of a `Host` header that differs from it (RFC 9113 section 8.3.1).
 * Fastify prefers the header, and does not tell it from a forwarded host: it is asked again about a request that has
 * `:authority` for its `Host`.
 */
function hostOf(request: OriginRequest & Raw): string {
  const { headers } = request;
  const authority = headers[":authority"];
  if (authority === undefined || headers.host === undefined || headers.host === authority) {
    return request.host;
  }
  const replaced = { ...headers, host: authority };
  const asked: OriginRequest = Object.create(request, {
    headers: { value: replaced },
    raw: { value: { headers: replaced, socket: request.raw?.socket } },
  });
  return asked.host;
}

function parseOrigin(protocol: string, host: string): PublicOrigin | undefined {
  const scheme = schemeOf(protocol);
  if (scheme === undefined || typeof host !== "string" || !HOST.test(host)) return undefined;
  const href = `${scheme}://${host}`;
  if (!URL.canParse(href)) return undefined;
  return Object.freeze({ href: new URL(href).origin, secure: scheme === "https" });
}

/** Proxies write the scheme in either case, and that of a WebSocket where one is opened. */
function schemeOf(protocol: string): "http" | "https" | undefined {
  switch (String(protocol).toLowerCase()) {
    case "http":
    case "ws":
      return "http";
    case "https":
    case "wss":
      return "https";
  }
  return undefined;
}

/**
 * As {@linkcode originOf}, for a route that cannot do without.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_HOST_INVALID` (400); for several `Host` headers also where the origin is pinned.
 */
export function requireOrigin(request: OriginRequest, pinned: PublicOrigin | undefined): PublicOrigin {
  const origin = originOf(request, pinned);
  if (origin !== undefined && !(pinned !== undefined && hasSeveralHosts(request))) return origin;
  throw new FastifyAuthError("FST_AUTHJS_HOST_INVALID", originProblem(request));
}

function originProblem(request: OriginRequest): string {
  if (hasSeveralHosts(request)) return "There is more than one Host header.";
  return schemeOf(request.protocol) === undefined
    ? "The scheme that a proxy names in X-Forwarded-Proto is neither http nor https."
    : "The Host header is missing or is not a host name.";
}
