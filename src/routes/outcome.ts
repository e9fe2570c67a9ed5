/** What an auth route and an action of the application have in common: what came of it is logged and published. */
import type { FastifyRequest } from "fastify";
import type { Answer } from "../core/answer.ts";
import type { Handler, RequestContext } from "../core/context.ts";
import { failureOf } from "../core/failure.ts";
import { FastifyAuthError } from "../errors.ts";
import type { AuthParams } from "../http/received.ts";
import { errorTypeOf } from "../telemetry/error_type.ts";
import { eventsOf, type Publish } from "../telemetry/events.ts";
import { authActions } from "../telemetry/operations.ts";
import { askHooks } from "./admission.ts";
import type { Mount } from "./context.ts";
import { keepForm } from "./failed_form.ts";
import { keepCallbackUrl } from "./failed_sign_in.ts";
import { observeAction } from "./observed_action.ts";
import { type AuthRoute, isOfSignIn } from "./table.ts";

/**
 * Calls the handler of a request to an auth route, or of an action of the application; logs the error of its
 * answer, or publishes what has happened.
 */
export async function runAction(
  context: RequestContext,
  requestId: string,
  handle: Handler,
): Promise<Answer> {
  const { action, method, provider, fromApplication, publish } = context;
  const { hooks } = context.auth;
  // What features do around it: the first of them is the outermost.
  const inner = hooks.reduceRight<Handler>(
    (inner, { onAnswer }) => onAnswer ? (context) => onAnswer(context, () => inner(context)) : inner,
    handle,
  );
  // A route has asked them before it parsed the body.
  const answered: Handler = !fromApplication || hooks.length === 0 ? inner : async (context) => {
    await askHooks(context);
    return await inner(context);
  };
  const answer = authActions.isObserved
    ? await observeAction(context, requestId, answered)
    : await answered(context);
  const { error, redirect, events = {} } = answer;
  if (error === undefined && !answer.isReported) {
    for (const [name, details] of Object.entries(events)) publish?.(name as never, details as never);
  }
  if (error === undefined) return answer;
  // An error of this package that leads to no page is thrown on a route, and published then. The application
  // gets every one of them.
  const isThrown = error instanceof FastifyAuthError && (fromApplication || redirect === undefined);
  const isSignIn = provider !== undefined &&
    (action === "callback" || (action === "signin" && method === "POST"));
  if (!answer.isReported) {
    if (!isThrown) context.logger.error(error);
    if (isSignIn && (fromApplication || !isThrown)) publishFailure(publish, error);
  }
  return await keepCallbackUrl(keepForm(answer, context), context);
}

/** Publishes that a sign-in failed. */
export function publishFailure(publish: Publish | undefined, error: Error): void {
  if (publish === undefined) return;
  const { status, code } = failureOf(error);
  const isOurs = error instanceof FastifyAuthError;
  publish("fastify-authjs:sign-in-failure", {
    reason: errorTypeOf(error),
    status: isOurs ? error.statusCode ?? status : status,
    code: isOurs ? undefined : code,
  });
}

/** Publishes that a request to a route was refused with an error, if it is part of a sign-in. */
export function publishRefusal(
  error: Error,
  route: AuthRoute,
  { auth, mountPath }: Mount,
  request: FastifyRequest,
  id: string | undefined,
): void {
  const provider = id ?? (request.params as AuthParams).provider ?? "";
  if (isOfSignIn(route, request.method) && auth.config.providers.has(provider)) {
    publishFailure(eventsOf(request, { mountPath, provider }), error);
  }
}
