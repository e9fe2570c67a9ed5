/** Marks routes of the plugin, and keeps requests to them as they came, which no hook of the application changes. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { IncomingHttpHeaders } from "node:http";
import { isObject } from "../utils/decode.ts";
import type { PublicOrigin } from "./origin.ts";
import { queryOf } from "./request.ts";

/** Marks the routes of the plugin in their `config`, so that guards let them through. */
export const AUTH_ROUTE: unique symbol = Symbol("fastify-authjs.route");

export function isAuthRoute(config: unknown): boolean {
  return (config as { [AUTH_ROUTE]?: true } | undefined)?.[AUTH_ROUTE] === true;
}

export interface Received {
  readonly method: "GET" | "POST";
  readonly query: string;
  readonly origin: PublicOrigin;
  readonly headers: IncomingHttpHeaders;
  /** The id of the provider, if the path names one. */
  readonly id: string | undefined;
  body?: unknown;
}

const RECEIVED: unique symbol = Symbol("fastify-authjs.received");

type Holder = FastifyRequest & { [RECEIVED]?: Received };

export function decorateReceived(scope: FastifyInstance): void {
  scope.decorateRequest(RECEIVED);
}

export function keepRequest(request: Holder, id: string | undefined, origin: PublicOrigin): void {
  request[RECEIVED] = {
    method: request.method as Received["method"],
    query: queryOf(request.raw.url ?? ""),
    origin,
    headers: { ...request.headers },
    id,
  };
}

/** @returns A copy, which hooks of the application may write to. */
export function keepBody({ [RECEIVED]: held }: Holder, body: unknown): unknown {
  if (held !== undefined) held.body = body; // a route matched
  let copy = isObject(body) ? { ...body } : undefined;
  for (const name in copy) if (typeof copy?.[name] === "object") copy = undefined;
  return copy ?? JSON.parse(JSON.stringify(body)); // three times as fast as a structured clone
}

export function receivedRequest(request: Holder): Received {
  return request[RECEIVED]!;
}
