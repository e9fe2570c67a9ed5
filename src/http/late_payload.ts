/** Payloads that are made while a reply is sent: an `onSend` hook waits for them. */
import type { DoneFuncWithErrOrRes, FastifyReply } from "fastify";

/** Makes the payload of a reply once hooks of the application have set its headers; `undefined` for its own. */
export const LATE_PAYLOAD: unique symbol = Symbol("fastify-authjs.late-payload");

export type LateReply = { [LATE_PAYLOAD]?: (() => Promise<string> | undefined) | undefined };

/** Goes on with the payload. What `done` throws, such as for a header, would otherwise end the process. */
export async function sendLate(
  reply: FastifyReply,
  payload: Promise<unknown>,
  done: DoneFuncWithErrOrRes,
): Promise<void> {
  try {
    done(null, await payload);
  } catch (error) {
    try {
      done(error as Error);
    } catch (unanswerable) {
      // deno-coverage-ignore-start Only if a hook of another plugin sends while this one fails
      reply.log.error(unanswerable, "The reply could not be sent.");
      reply.raw.destroy();
    }
    // deno-coverage-ignore-stop
  }
}
