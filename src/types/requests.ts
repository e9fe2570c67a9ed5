/** The parts of requests and replies that are used, so that they fit those of every server and instance. */
import type { FastifyRequest } from "fastify";

/**
 * What `getSession()` needs of a Fastify request: of any server (HTTP/1.1, HTTP/2, with TLS), any type
 * provider and any route.
 */
export type SessionRequest =
  & Pick<FastifyRequest, "headers" | "host" | "log" | "protocol" | "routeOptions">
  & {
    /** The instance of the route. */
    readonly server: object;
  };

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

/** The part of a request that its language depends on. */
export interface LanguageRequest {
  /** The headers as Node gives them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The path and query. */
  readonly url: string;
}
