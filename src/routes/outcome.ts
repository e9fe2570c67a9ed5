/** What auth routes and actions have in common: what came of them is logged and published. */
import type { Answer } from "../core/answer.ts";
import type { Handler, RequestContext } from "../core/context.ts";
import { errorPage, failureOf } from "../core/failure.ts";
import { allowedRedirect } from "../core/flow.ts";
import { FastifyAuthError } from "../errors.ts";
import type { Publish } from "../telemetry/events.ts";
import { authActions, errorTypeOf } from "../telemetry/operations.ts";
import type { AuthActionOperation } from "../types.ts";
import { askHooks } from "./admission.ts";
import { keepForm } from "./failed_form.ts";
import { isOfSignIn } from "./table.ts";

/** Calls a handler, and those of features around it; logs and publishes what came of it. */
export async function runAction(context: RequestContext, handle: Handler): Promise<Answer> {
  const { action, method, provider, fromApplication, publish } = context;
  const { hooks } = context.auth;
  // The first feature is the outermost.
  const inner = hooks.reduceRight<Handler>(
    (inner, { onAnswer }) => onAnswer ? (context) => onAnswer(context, () => inner(context)) : inner,
    handle,
  );
  // A route has asked them before it parsed the body.
  const answered: Handler = !fromApplication || hooks.length === 0 ? inner : async (context) => {
    await askHooks(context);
    return await inner(context);
  };
  const answer = authActions.isObserved ? await observe(context, answered) : await answered(context);
  const { error, redirect, events = {}, isReported } = answer;
  if (error === undefined) {
    if (isReported) return answer;
    for (const [name, details] of Object.entries(events)) publish?.(name as never, details as never);
    return answer;
  }
  // An error of this package that leads to no page is thrown on a route, and published then. The application
  // gets every one of them.
  const isThrown = error instanceof FastifyAuthError && (fromApplication || redirect === undefined);
  const isSignIn = isOfSignIn({ action, provider: provider !== undefined }, method);
  if (!isReported && !isThrown) context.logger.error(error);
  if (!isReported && isSignIn && (fromApplication || !isThrown)) publishFailure(publish, error);
  return await keepCallbackUrl(keepForm(answer, context), context);
}

/**
 * The answer, with the callback URL in the address of the sign-in page: core leaves it out, so that the next
 * attempt, with the right password, would end on the front page.
 */
async function keepCallbackUrl(answer: Answer, context: RequestContext): Promise<Answer> {
  const { provider, callbackUrl, origin } = context;
  const { redirect } = answer;
  if (redirect === undefined || provider === undefined || callbackUrl === undefined) return answer;
  const page = new URL(redirect, origin.href);
  if (page.pathname !== new URL(errorPage("signIn", {}, context)).pathname) return answer;
  // Core has called the `redirect` callback with the same arguments, and logged what it threw.
  const url = await allowedRedirect(callbackUrl, context).catch(() => undefined);
  if (!url) return answer;
  page.searchParams.set("callbackUrl", url);
  return { ...answer, redirect: page.href };
}

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

function observe(context: RequestContext, handle: Handler): Promise<Answer> {
  const { request, provider, mountPath, fromApplication } = context;
  const message = {
    action: nameOf(context),
    ...(provider && { provider: provider.id, providerType: provider.type }),
    requestId: request.id,
    mountPath,
    fromApplication,
  };
  return authActions.trace(message, () => handle(context), {
    end: ({ error, events: { "fastify-authjs:sign-in-failure": refusal } = {} }) => {
      if (error !== undefined) return failed(error);
      return refusal === undefined ? {} : { errorType: refusal.reason, status: refusal.status };
    },
    failure: (error) => failed(error as Error),
  });
}

function failed(error: Error): Pick<AuthActionOperation, "errorType" | "status"> {
  const { statusCode = failureOf(error).status } = error as { statusCode?: number };
  return { errorType: errorTypeOf(error), status: statusCode };
}

/** A GET of signing in or out only shows a page, and a POST to the session updates it. */
function nameOf({ action, method }: RequestContext): string {
  if (action === "session") return method === "POST" ? "update" : action;
  return (action === "signin" || action === "signout") && method === "GET" ? `${action}-page` : action;
}
