/**
 * Failures of the `jwt` and `session` callbacks. They say nothing about the session, so it stays: the next
 * read may succeed. Only a `jwt` callback that returns null, or throws an error with the status 401, ends it.
 */
import { FastifyAuthError } from "../errors.ts";

/** Why a session cannot be read now (503, or the `statusCode` of what was thrown). */
export class CallbackFailure extends FastifyAuthError {
  /** @param what What failed. */
  constructor(what: string, cause: unknown) {
    const statusCode = statusOf(cause);
    super("FST_AUTHJS_UNAVAILABLE", `The ${what} of the application failed. Its log says why.`, {
      cause,
      ...(statusCode !== undefined && { statusCode }),
    });
  }
}

/** The status that an error of the application says, as Fastify reads it. */
export function statusOf(error: unknown): number | undefined {
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  return Number.isInteger(statusCode) && Number(statusCode) >= 400 && Number(statusCode) <= 599
    ? Number(statusCode)
    : undefined;
}
