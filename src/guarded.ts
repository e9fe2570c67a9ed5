/** What guards and actions read of requests and use of replies. */
import type { FastifyRequest } from "fastify";

/** The part of a request that a guard reads, so that it fits instances of every type. */
export type GuardedRequest = Pick<
  FastifyRequest,
  "headers" | "host" | "log" | "method" | "originalUrl" | "protocol" | "routeOptions" | "server" | "url"
>;

/** The part of a reply that a guard uses. */
export interface GuardedReply {
  /** As Fastify's. */
  header(name: string, value: string): unknown;
  /** As Fastify's. */
  getHeader(name: string): number | string | string[] | undefined;
  /** As Fastify's. */
  redirect(url: string, statusCode?: number): unknown;
}
