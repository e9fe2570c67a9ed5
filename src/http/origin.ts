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
  /** `http` or `https`; follows Fastify's `trustProxy`. */
  readonly protocol: string;
  /** The `Host` header or `:authority`; follows Fastify's `trustProxy`. */
  readonly host: string;
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
 * @returns `undefined` where the request names no valid host.
 */
export function originOf(request: OriginRequest, pinned: PublicOrigin | undefined): PublicOrigin | undefined {
  if (pinned !== undefined) return pinned;
  const { protocol, host } = request;
  // An application has one or two hosts, asked of with each read of a session.
  if (protocol !== latest.protocol || host !== latest.host) {
    latest = { protocol, host, origin: parseOrigin(protocol, host) };
  }
  return latest.origin;
}

let latest: OriginRequest & { readonly origin: PublicOrigin | undefined } = {
  protocol: "",
  host: "",
  origin: undefined,
};

function parseOrigin(protocol: string, host: string): PublicOrigin | undefined {
  if ((protocol !== "https" && protocol !== "http") || !HOST.test(host)) return undefined;
  const href = `${protocol}://${host}`;
  if (!URL.canParse(href)) return undefined;
  return Object.freeze({ href: new URL(href).origin, secure: protocol === "https" });
}

/**
 * As {@linkcode originOf}, for a route that cannot do without.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_HOST_INVALID` (400).
 */
export function requireOrigin(request: OriginRequest, pinned: PublicOrigin | undefined): PublicOrigin {
  const origin = originOf(request, pinned);
  if (origin !== undefined) return origin;
  throw new FastifyAuthError("FST_AUTHJS_HOST_INVALID", "The Host header is missing or is not a host name.");
}
