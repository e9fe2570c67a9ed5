/** Publishes what came of a request: `core/trail.ts` says to whom. */
import { AccessDenied } from "@auth/core/errors";
import type { FastifyRequest } from "fastify";
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { failureOf } from "../core/failure.ts";
import { Trail } from "../core/trail.ts";
import { FastifyAuthError } from "../errors.ts";
import type { AuthParams } from "../http/received.ts";
import { errorTypeOf } from "../telemetry/error_type.ts";
import type { Mount } from "./context.ts";
import { type AuthRoute, isOfSignIn } from "./table.ts";

/** Publishes what an answer says. */
export function publishAnswer(answer: Answer, context: RequestContext, trail: Trail): void {
  const { action, method, provider, fromApplication } = context;
  const { error, redirect, turnedAway = false, isShared = false } = answer;
  if (isShared) return;
  // An error of this package that leads to no page is thrown on a route, and published then.
  if (!fromApplication && error instanceof FastifyAuthError && redirect === undefined) return;
  const isSignIn = provider !== undefined &&
    (action === "callback" || (action === "signin" && method === "POST"));
  if (error === undefined) {
    if (turnedAway) trail.fail(() => ({ reason: AccessDenied.type, status: 403 }));
    trail.succeed(Boolean(answer.session));
  } else if (isSignIn) publishFailure(trail, error);
}

/** Publishes that a sign-in failed. */
export function publishFailure(trail: Trail | undefined, error: Error): void {
  trail?.fail(() => {
    const reason = errorTypeOf(error);
    const { status, code } = failureOf(error);
    return error instanceof FastifyAuthError
      ? { reason, status: error.statusCode ?? status }
      : { reason, status, ...(code !== undefined && { code }) };
  });
}

/** Publishes that a request to a route was refused with an error, where it is part of a sign-in. */
export function publishRefusal(
  error: Error,
  route: AuthRoute,
  { auth, mountPath }: Mount,
  request: FastifyRequest,
  id: string | undefined,
): void {
  const provider = id ?? (request.params as AuthParams).provider ?? "";
  if (!isOfSignIn(route, request.method)) return;
  if (auth.config.providers.has(provider)) {
    publishFailure(Trail.begin({ request, mountPath, provider }), error);
  }
}
