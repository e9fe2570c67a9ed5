/** The address that a request is counted for, and what Fastify's `trustProxy` has to do with it. */
import type { FastifyInstance, FastifyRequest } from "fastify";

/** The address alone: some proxies add the port, which differs with each connection, to X-Forwarded-For. */
export function withoutPort(address: string): string {
  const [, ipv4, ipv6] = /^(?:([\d.]+)|\[([^\]]+)\])(?::\d+)?$/.exec(address) ?? [];
  return ipv4 ?? ipv6 ?? address;
}

/** Whether a request names the address that it comes from, and its peer is none that Fastify trusts. */
export function isUntrusted({ headers, ips = [] }: FastifyRequest): boolean {
  return ips.length < 2 && (headers["x-forwarded-for"] ?? headers.forwarded) !== undefined;
}

export const UNTRUSTED =
  "Auth.js: a request has X-Forwarded-For, and Fastify's `trustProxy` does not name the peer that sent it. If " +
  "that is your proxy, all users behind it are limited as if they were one: set `trustProxy` to its address (a " +
  "number of hops is not enough), or have it remove the header.";

/**
 * Whether Fastify takes the address that a request says it comes from, whoever sends it: `trustProxy: true`. That
 * option is not in `initialConfig`, so a request shows it, as Fastify makes them.
 */
export function trustsEveryone(scope: FastifyInstance): boolean {
  const prototype = requestClassOf(scope)?.prototype;
  if (prototype === undefined) return false;
  const raw = { headers: { "x-forwarded-for": Array(HOPS).fill(ADDRESS).join() }, socket: PEER };
  const { ips }: Pick<FastifyRequest, "ips"> = Object.create(prototype, { raw: { value: raw } });
  return ips !== undefined && ips.length > HOPS;
}

/** More than there are proxies anywhere. */
const HOPS = 50;

/** An address for documentation (RFC 5737), which is no proxy. */
const ADDRESS = "203.0.113.1";

const PEER = { remoteAddress: ADDRESS };

function requestClassOf(scope: object | null): { readonly prototype: object } | undefined {
  if (scope === null) return undefined;
  const key = Object.getOwnPropertySymbols(scope).find(({ description }) =>
    description === "fastify.Request"
  );
  return key === undefined ? requestClassOf(Object.getPrototypeOf(scope)) : Reflect.get(scope, key);
}

export const EVERYONE_TRUSTED =
  "Auth.js: with `trustProxy: true` of Fastify a client chooses the address that `rateLimit` counts, also behind " +
  "a proxy: it adds to the X-Forwarded-For that the client made up, and the first address counts. Set `trustProxy` " +
  'to the addresses of your proxies, such as "127.0.0.1" or "10.0.0.0/8".';
