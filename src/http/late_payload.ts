/**
 * A payload that takes the place of a reply's own if the hooks of the application have set certain headers: it
 * is made after them.
 */
export interface LateReply {
  /** Makes the payload; `undefined` if the reply stays as it is. */
  [LATE_PAYLOAD]?: () => Promise<string> | undefined;
}

export const LATE_PAYLOAD: unique symbol = Symbol("fastify-authjs.late-payload");
