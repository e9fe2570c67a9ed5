/**
 * Notices if a request contradicts the public origin in use: a proxy whose headers are not trusted or do not come, or a
 * wrong AUTH_URL. Headers are only compared, never used: a client may forge each of them.
 */
import type { OriginRequest, PublicOrigin } from "./origin.ts";

type OriginInUse = Readonly<{ origin: PublicOrigin; from: string | undefined }>;

/** What a request says of its origin, if that is something else; if uncertain, a proxy may only have its own Host. */
export function originContradiction(request: OriginRequest, used: OriginInUse) {
  const { origin: { href }, from: setting } = used;
  const { headers } = request;
  // Most forms, before their addresses are parsed.
  if (headers.origin === href && headers["sec-fetch-site"] === "same-origin") return undefined;
  // A browser knows best: what it says also proves that a proxy's Host header does not matter.
  const from = headers.origin === undefined || headers.origin === "null" ? headers.referer : headers.origin;
  const page = from === undefined ? undefined : pageOrigin(from, request);
  if (page !== undefined) {
    if (page === href) return undefined;
    return { message: explain(`A browser has a page of this server at ${page}`, page, used), certain: true };
  }
  const isForwarded = "forwarded" in headers || "x-forwarded-proto" in headers || "x-forwarded-host" in headers;
  const { proto, host }: Partial<ReturnType<typeof forwardedBy>> = isForwarded ? forwardedBy(headers) : {};
  // Without a setting the request itself says what the origin is; `app.inject()` names no port that is meant.
  const isCompared = setting !== undefined && request.host !== "localhost:80";
  // Otherwise it may be that of a proxy, which users reach by https.
  const isOwnScheme = request.protocol === "https" || LOOPBACK.test(request.host);
  const scheme = proto ?? (isCompared && isOwnScheme ? request.protocol : undefined);
  const name = host ?? (isCompared ? request.host : undefined);
  if (scheme === undefined && name === undefined) return undefined;
  const [knownScheme, knownHost] = href.split("://") as [string, string];
  const claimed = toOrigin(scheme ?? knownScheme, name ?? knownHost, href);
  if (claimed === undefined || claimed === href) return undefined;
  const by = proto ?? host ? "A proxy says that users see" : "A request arrived at";
  const isCertain = setting === undefined || isInternal(href) ||
    !isByProxy(headers, new URL(claimed), new URL(href), host !== undefined);
  return { message: explain(`${by} ${claimed}`, claimed, used), certain: isCertain };
}

/**
 * Whether a proxy that works may cause the difference: by the Host header of its upstream, by what a client made up as
 * X-Forwarded-Host, or reached over http by another with TLS.
 */
function isByProxy(headers: OriginRequest["headers"], claimed: URL, configured: URL, isForwarded: boolean) {
  if (isInternal(claimed.href)) return true;
  if (claimed.host === configured.host) return claimed.protocol === "http:";
  return claimed.hostname !== configured.hostname &&
    (isForwarded || PROXY_HEADERS.some((name) => headers[name] !== undefined));
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i;
const PROXY_HEADERS = ["via", "forwarded", "x-forwarded-for", "x-forwarded-proto", "x-real-ip"];

function explain(what: string, claimed: string, { origin: { href }, from }: OriginInUse): string {
  const stays = `${what}, but cookies, redirects and callback URLs are made for ${href}, `;
  return from === undefined
    ? `${stays}from \`request.protocol\` and \`request.host\`. If users type ${claimed}, set AUTH_URL=${claimed}, or ` +
      "`trustProxy` of Fastify to the address of your proxy, and have the proxy send X-Forwarded-Proto, and Host or " +
      "X-Forwarded-Host with the port."
    : `${stays}by ${from}. If users type ${claimed}, change ${from} to it. If they type ${href}, open that address; ` +
      "a proxy or a health check with a Host header of its own does no harm.";
}

/** The origin of the page that sent the request, if it is of this server by Fetch Metadata, else by its host. */
function pageOrigin(from: string | string[], { headers, host }: OriginRequest): string | undefined {
  if (typeof from !== "string" || !/^https?:/i.test(from) || !URL.canParse(from)) return undefined;
  const { origin, host: pageHost } = new URL(from);
  const site = headers["sec-fetch-site"];
  return site === "same-origin" || (site === undefined && pageHost === host) ? origin : undefined;
}

/** What the first proxy says, by the older headers or by `Forwarded` (RFC 7239). */
function forwardedBy(headers: OriginRequest["headers"]) {
  const forwarded = first(headers.forwarded) ?? "";
  const proto = first(headers["x-forwarded-proto"]) ?? /(?:^|;)\s*proto="?([^";\s]+)/i.exec(forwarded)?.[1];
  return {
    proto: proto && (/^(?:https|wss)$/i.test(proto) ? "https" : "http"),
    host: first(headers["x-forwarded-host"]) ?? /(?:^|;)\s*host="?([^";\s]+)/i.exec(forwarded)?.[1],
  };
}

/** The first of the values of a header, which each proxy adds to. */
function first(header: string | string[] | undefined): string | undefined {
  const [value] = String(header ?? "").split(",", 1);
  return value!.trim() || undefined;
}

/** Whether a host is an address or a name of a private network, such as that of a proxy's upstream. */
export function isInternal(origin: string): boolean {
  const { hostname } = new URL(origin);
  return hostname.startsWith("[") || INTERNAL.test(hostname);
}

/** An IPv4 address, a name without a dot, or one of a domain for private networks (RFC 6762, RFC 8375). */
const INTERNAL = /^(?:\d+(?:\.\d+){3}|[^.]+|.*\.(?:local|localhost|localdomain|internal|intranet|lan|home\.arpa))$/;

/** @param expected The usual result, which saves parsing. */
function toOrigin(scheme: string, host: string, expected: string): string | undefined {
  const url = `${scheme}://${host}`;
  if (url === expected) return expected;
  return /^[\w.:[\]-]+$/.test(host) && URL.canParse(url) ? new URL(url).origin : undefined;
}
