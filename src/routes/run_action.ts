/** What an auth route and an action of the application have in common: how a handler is run. */
import { AccessDenied } from "@auth/core/errors";
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { errorPage } from "../core/error_answer.ts";
import { failureOf } from "../core/failure.ts";
import { allowedRedirect } from "../core/flow.ts";
import { errorTypeOf } from "../telemetry/error_type.ts";
import { authActions } from "../telemetry/operations.ts";
import type { AuthActionOperation } from "../types.ts";
import { publishAnswer } from "./outcome.ts";
import type { Handler } from "./table.ts";

/** Has a handler answer; observed and published, if something listens. */
export async function runAction(
  context: RequestContext,
  requestId: string,
  handle: Handler,
): Promise<Answer> {
  const { trail } = context;
  let answer = authActions.isObserved
    ? await observeAction(context, requestId, handle)
    : await handle(context);
  if (answer.error !== undefined) answer = await keepCallbackUrl(answer, context);
  if (trail !== undefined) publishAnswer(answer, context, trail);
  return answer;
}

/**
 * The answer, with the callback URL in the address of the sign-in page: core leaves it out, so that the next
 * attempt, with the right password, would end on the front page.
 *
 * As in core, it is what the `redirect` callback returns. If that throws, it is left out.
 */
async function keepCallbackUrl(answer: Answer, context: RequestContext): Promise<Answer> {
  const { provider, callbackUrl } = context;
  const { redirect } = answer;
  if (redirect === undefined || provider === undefined || callbackUrl === undefined) return answer;
  const page = new URL(redirect, context.origin.href);
  if (page.pathname !== new URL(errorPage("signIn", {}, context)).pathname) return answer;
  // Core has called it with the same arguments, and logged what it threw.
  const url = await allowedRedirect(callbackUrl, context).catch(() => undefined);
  if (!url) return answer;
  page.searchParams.set("callbackUrl", url);
  return { ...answer, redirect: page.href };
}

/** Has a handler answer a request that something observes. */
function observeAction(context: RequestContext, requestId: string, handle: Handler): Promise<Answer> {
  const { provider, mountPath, fromApplication } = context;
  const message = {
    action: nameOf(context),
    ...(provider && { provider: provider.id, providerType: provider.type }),
    requestId,
    mountPath,
    fromApplication,
  };
  return authActions.trace(message, () => handle(context), {
    end: ({ error, turnedAway }) =>
      error !== undefined ? failed(error) : turnedAway ? { errorType: AccessDenied.type, status: 403 } : {},
    failure: (error) => failed(error as Error),
  });
}

function failed(error: Error): Pick<AuthActionOperation, "errorType" | "status"> {
  const { statusCode = failureOf(error).status } = error as { statusCode?: number };
  return { errorType: errorTypeOf(error), status: statusCode };
}

/** The action. A GET of signing in or out only shows a page, and a POST to the session updates it. */
function nameOf({ action, method }: RequestContext): string {
  if (action === "session") return method === "POST" ? "update" : action;
  return (action === "signin" || action === "signout") && method === "GET" ? `${action}-page` : action;
}
