/**
 * A request to an auth route as it was received. Hooks of the application that run between parsing and
 * handler cannot change it: what was checked is what the handler gets.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { IncomingHttpHeaders } from "node:http";
import type { PublicOrigin } from "./origin.ts";
import { queryOf } from "./query.ts";

export interface AuthParams {
  readonly provider?: string;
}

export interface Received {
  readonly method: "GET" | "POST";
  readonly query: string;
  readonly origin: PublicOrigin;
  readonly headers: IncomingHttpHeaders;
  readonly params: AuthParams;
  body?: unknown;
}

const RECEIVED: unique symbol = Symbol("fastify-authjs.received");

interface Holder {
  [RECEIVED]?: Received;
}

/** Makes room on the requests of this scope for what was received. */
export function decorateReceived(scope: FastifyInstance): void {
  scope.decorateRequest(RECEIVED);
}

/** Keeps all of the request but its body, which is not parsed yet. */
export function keepRequest(request: FastifyRequest, params: AuthParams, origin: PublicOrigin): void {
  const { headers, raw: { url = "" } } = request;
  const method = request.method as Received["method"];
  (request as Holder)[RECEIVED] = {
    method,
    query: queryOf(url),
    origin,
    headers: { ...headers },
    params: { ...params },
  };
}

/**
 * Keeps the parsed body, unless no route matched the request.
 *
 * @returns A copy, which hooks of the application may write to.
 */
export function keepBody(request: FastifyRequest, body: unknown): unknown {
  const held = (request as Holder)[RECEIVED];
  if (held !== undefined) held.body = body;
  return JSON.parse(JSON.stringify(body)); // three times as fast as a structured clone
}

export function receivedRequest(request: FastifyRequest): Received {
  return (request as Holder)[RECEIVED]!;
}
