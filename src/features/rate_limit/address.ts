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

/** An address for documentation (RFC 5737), which is no proxy. */
const ADDRESS = "203.0.113.1";

/** More than there are proxies anywhere. */
const HOPS = 50;

/**
 * Whether Fastify takes the address that a request says it comes from, whoever sends it: `trustProxy: true`. That
 * option is not in `initialConfig`, so a request shows it, as Fastify makes them.
 */
export function trustsEveryone(scope: FastifyInstance): boolean {
  const raw = {
    headers: { "x-forwarded-for": Array(HOPS).fill(ADDRESS).join() },
    socket: { remoteAddress: ADDRESS },
  };
  for (let owner: object | null = scope; owner !== null; owner = Object.getPrototypeOf(owner)) {
    const key = Object.getOwnPropertySymbols(owner).find(({ description }) => description === "fastify.Request");
    if (key === undefined) continue;
    const request: FastifyRequest = Object.create(Reflect.get(owner, key).prototype, { raw: { value: raw } });
    return (request.ips ?? []).length > HOPS;
  }
  return false;
}

export const EVERYONE_TRUSTED =
  "Auth.js: with `trustProxy: true` of Fastify a client chooses the address that `rateLimit` counts, also behind " +
  "a proxy: it adds to the X-Forwarded-For that the client made up, and the first address counts. Set `trustProxy` " +
  'to the addresses of your proxies, such as "127.0.0.1" or "10.0.0.0/8".';
