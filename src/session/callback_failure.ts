/**
 * Failures of the `jwt` and `session` callbacks. They say nothing about the session, so it stays: the next
 * read may succeed. Only a `jwt` callback that returns null, or throws an error with the status 401, ends it.
 */
import type { AuthConfig } from "@auth/core";
import { FastifyAuthError } from "../errors.ts";
import { isPromiseLike } from "../utils/maybe_promise.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

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

function statusOf(error: unknown): number | undefined {
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  return Number.isInteger(statusCode) && Number(statusCode) >= 400 && Number(statusCode) <= 599
    ? Number(statusCode)
    : undefined;
}

/** The callbacks for a session that exists, which throw a {@linkcode CallbackFailure}. */
export function callbacksOfSession({ jwt, session }: Callbacks): Pick<Callbacks, "jwt" | "session"> {
  return {
    ...(jwt && { jwt: guarded(jwt, failedJwt) }),
    ...(session && { session: guarded(session, failedSession) }),
  };
}

/** A callback whose error, also one that comes later, is handed on. */
function guarded<Params, Result>(
  own: (params: Params) => Result | PromiseLike<Result>,
  failed: (error: unknown) => Result,
): (params: Params) => Result | PromiseLike<Result> {
  return (params) => {
    try {
      const result = own(params);
      return isPromiseLike(result) ? result.then(undefined, failed) : result;
    } catch (error) {
      return failed(error);
    }
  };
}

function failedJwt(error: unknown): null {
  if (statusOf(error) === 401) return null;
  throw new CallbackFailure("`jwt` callback", error);
}

function failedSession(error: unknown): never {
  throw new CallbackFailure("`session` callback", error);
}
