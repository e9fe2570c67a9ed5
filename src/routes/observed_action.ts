/** A request to an auth route, or an action of the application, as it is observed. */
import type { Answer } from "../core/answer.ts";
import type { Handler, RequestContext } from "../core/context.ts";
import { failureOf } from "../core/failure.ts";
import { errorTypeOf } from "../telemetry/error_type.ts";
import { authActions } from "../telemetry/operations.ts";
import type { AuthActionOperation } from "../types.ts";

/** Calls the handler of a request that something observes. */
export function observeAction(context: RequestContext, requestId: string, handle: Handler): Promise<Answer> {
  const { provider, mountPath, fromApplication } = context;
  const message = {
    action: nameOf(context),
    ...(provider && { provider: provider.id, providerType: provider.type }),
    requestId,
    mountPath,
    fromApplication,
  };
  return authActions.trace(message, () => handle(context), {
    end: ({ error, events: { "fastify-authjs:sign-in-failure": refusal } = {} }) =>
      error !== undefined
        ? failed(error)
        : refusal !== undefined
        ? { errorType: refusal.reason, status: refusal.status }
        : {},
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
