/**
 * A payload that takes the place of a reply's own where the hooks of the application have set certain
 * headers.
 */
import type { FastifyReply } from "fastify";

/** Makes the payload; `undefined` where the reply stays as it is. */
type Make = () => Promise<string> | undefined;

const LATE_PAYLOAD: unique symbol = Symbol("fastify-authjs.late-payload");

interface Holder {
  [LATE_PAYLOAD]?: Make;
}

/** Has {@linkcode latePayload} call `make`. */
export function holdPayload(reply: FastifyReply, make: Make): void {
  (reply as Holder)[LATE_PAYLOAD] = make;
}

/**
 * The payload that takes the place of the reply's own, if there is one. To be called after hooks of the
 * application.
 */
export function latePayload(reply: FastifyReply): Promise<string> | undefined {
  return (reply as Holder)[LATE_PAYLOAD]?.();
}
