/** What an auth route and an action of the application have in common. */
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { authActions } from "../telemetry/operations.ts";
import { keepCallbackUrl } from "./failed_sign_in.ts";
import { observeAction } from "./observed_action.ts";
import { publishAnswer } from "./outcome.ts";
import type { Handler } from "./table.ts";

/** Calls the handler of a request; observed and published, if something listens. */
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
