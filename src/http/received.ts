/**
 * What a request to an auth route brought, kept from hooks that run between its parsing and its handler: a body that was
 * checked to be flat is not to be replaced by one that was not, nor a provider that serves POST alone by another.
 *
 * @module
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { IncomingHttpHeaders } from "node:http";
import type { PublicOrigin } from "./origin.ts";

/** A request as it came. */
export interface Received {
  readonly method: "GET" | "POST";
  /** Path and query, as they were sent. */
  readonly url: string;
  readonly origin: PublicOrigin;
  readonly headers: IncomingHttpHeaders;
  /** The parameters of the route. */
  readonly params: { readonly provider?: string };
  /** What a parser made of the body; `undefined` where there is none. */
  body?: unknown;
}

const RECEIVED: unique symbol = Symbol("fastify-authjs.received");

interface Holder {
  [RECEIVED]?: Received;
}

/** Has requests in this scope hold what they brought. */
export function holdReceived(scope: FastifyInstance): void {
  scope.decorateRequest(RECEIVED);
}

/**
 * Keeps what the request brought, all but its body, which is read later.
 *
 * @param request A request whose method its route serves.
 */
export function receive(
  request: FastifyRequest<{ Params: { provider?: string } }>,
  origin: PublicOrigin,
): void {
  const { headers, params, raw: { url = "" } } = request;
  const method = request.method as Received["method"];
  (request as Holder)[RECEIVED] = { method, url, origin, headers: { ...headers }, params: { ...params } };
}

/** Keeps the parsed body; a request that no route takes holds nothing. */
export function receiveBody(request: FastifyRequest, body: unknown): void {
  const held = (request as Holder)[RECEIVED];
  if (held !== undefined) held.body = body;
}

/** What the request brought. */
export function received(request: FastifyRequest): Received {
  return (request as Holder)[RECEIVED]!;
}
