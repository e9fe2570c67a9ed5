/**
 * Notices where a request contradicts the public origin in use: a proxy whose headers are not trusted or do not
 * come, or an AUTH_URL of another host, scheme or port. Sign-ins then fail at the provider, by cookies that do not
 * come back, or as requests of another site.
 *
 * Headers are only compared, never used: a client may forge each of them.
 */
import type { OriginRequest, PublicOrigin } from "./origin.ts";

/** The origin in use. */
export interface OriginInUse {
  readonly origin: PublicOrigin;
  /** What configures it; without one it is that of the request. */
  readonly from: string | undefined;
}

/** A contradiction. */
export interface OriginContradiction {
  /** What the request says, and what to change. */
  readonly message: string;
  /** Whether something is wrong; otherwise a proxy may only have a Host header of its own. */
  readonly certain: boolean;
}

/** Where a request says something else about its origin; `undefined` where they agree. */
export function originContradiction(
  request: OriginRequest,
  used: OriginInUse,
): OriginContradiction | undefined {
  const { href } = used.origin;
  const page = pageOrigin(request);
  // A browser knows best: what it says also proves that a proxy's Host header does not matter.
  if (page !== undefined) {
    if (page === href) return undefined;
    return { message: explain(`A browser has a page of this server at ${page}`, page, used), certain: true };
  }
  const { proto, host } = forwardedBy(request);
  const scheme = proto ?? ownScheme(request, used);
  const name = host ?? ownHost(request, used);
  if (scheme === undefined && name === undefined) return undefined;
  const claimed = toOrigin(scheme ?? schemeOf(href), name ?? new URL(href).host);
  if (claimed === undefined || claimed === href) return undefined;
  const forwarded = proto !== undefined || host !== undefined;
  const by = forwarded ? "A proxy says that users see" : "A request arrived at";
  return {
    message: explain(`${by} ${claimed}`, claimed, used),
    certain: host !== undefined || schemeOf(claimed) !== schemeOf(href) && forwarded ||
      !isInternal(claimed) || isInternal(href),
  };
}

function explain(what: string, claimed: string, { origin: { href }, from }: OriginInUse): string {
  const stays = `${what}, but cookies, redirects and callback URLs are made for ${href}, `;
  return from === undefined
    ? `${stays}from \`request.protocol\` and \`request.host\`. If users type ${claimed}, set AUTH_URL=${claimed}, or, ` +
      "where only your proxy can reach this server, `Fastify({ trustProxy: true })` and have the proxy send " +
      "X-Forwarded-Proto, and Host or X-Forwarded-Host with the port."
    : `${stays}by ${from}. If users type ${claimed}, change ${from} to it. If they type ${href}, open that address; ` +
      "a proxy or a health check with a Host header of its own does no harm.";
}

/**
 * The origin of the page that sent the request, where it is one of this server: the browser says so (Fetch
 * Metadata, section 2.3), or, where it does not send that, the page has the host of the request.
 */
function pageOrigin({ headers, host }: OriginRequest): string | undefined {
  const from = [headers.origin, headers.referer].find((value) =>
    typeof value === "string" && value !== "null"
  );
  if (typeof from !== "string" || !/^https?:/i.test(from) || !URL.canParse(from)) return undefined;
  const { origin, host: pageHost } = new URL(from);
  const site = headers["sec-fetch-site"];
  return site === "same-origin" || (site === undefined && pageHost === host) ? origin : undefined;
}

/** What the first proxy says, by the older headers or by `Forwarded` (RFC 7239). */
function forwardedBy({ headers }: OriginRequest): { proto: string | undefined; host: string | undefined } {
  const forwarded = first(headers.forwarded);
  const parameter = (name: string) =>
    new RegExp(`(?:^|;)\\s*${name}="?([^";]+)`, "i").exec(forwarded ?? "")?.[1]?.trim();
  const proto = first(headers["x-forwarded-proto"]) ?? parameter("proto");
  return {
    proto: proto === undefined ? undefined : /^(?:https|wss)$/i.test(proto) ? "https" : "http",
    host: first(headers["x-forwarded-host"]) ?? parameter("host"),
  };
}

/** The first of the values of a header, which each proxy adds to. */
function first(header: string | string[] | undefined): string | undefined {
  return [header].flat()[0]?.split(",")[0]?.trim() || undefined;
}

/**
 * The scheme of the connection, where it says something: without a word of a proxy, http may be the connection of
 * a proxy that users reach by https.
 */
function ownScheme({ protocol, host }: OriginRequest, { from }: OriginInUse): string | undefined {
  if (from === undefined || host === INJECTED) return undefined;
  return protocol === "https" || LOOPBACK.test(host) ? protocol : undefined;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i;

/** The host of `app.inject()`: no client names the port that it means anyway. */
const INJECTED = "localhost:80";

/** The `Host` header. */
function ownHost({ host }: OriginRequest, { from }: OriginInUse): string | undefined {
  return from === undefined || host === INJECTED ? undefined : host;
}

/** Whether a host is an address or a name of a private network, such as that of a proxy's upstream. */
function isInternal(origin: string): boolean {
  const { hostname } = new URL(origin);
  return hostname.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(hostname) || !hostname.includes(".");
}

function schemeOf(href: string): string {
  return new URL(href).protocol.slice(0, -1);
}

function toOrigin(scheme: string, host: string): string | undefined {
  const url = `${scheme}://${host}`;
  return /^[\w.:[\]-]+$/.test(host) && URL.canParse(url) ? new URL(url).origin : undefined;
}
