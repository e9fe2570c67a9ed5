/**
 * What a client is told when the database failed and its answer would have decided.
 *
 * @module
 */
import { FastifyAuthError } from "../errors.ts";

/** The error; what happened is in the log. */
export function unavailableError(): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_UNAVAILABLE",
    "The database did not answer. Try again in a moment.",
  );
}
