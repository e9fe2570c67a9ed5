/** Where a failed sign-in leads. */
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { errorPage } from "../core/failure.ts";
import { allowedRedirect } from "../core/flow.ts";

/**
 * The answer, with the callback URL in the address of the sign-in page: core leaves it out, so that the next
 * attempt, with the right password, would end on the front page.
 *
 * As in core, it is what the `redirect` callback returns. If that throws, it is left out.
 */
export async function keepCallbackUrl(answer: Answer, context: RequestContext): Promise<Answer> {
  const { provider, callbackUrl } = context;
  const { error, redirect } = answer;
  if (error === undefined || redirect === undefined || provider === undefined || callbackUrl === undefined) {
    return answer;
  }
  const page = new URL(redirect, context.origin.href);
  if (page.pathname !== new URL(errorPage("signIn", {}, context)).pathname) return answer;
  // Core has called it with the same arguments, and logged what it threw.
  const url = await allowedRedirect(callbackUrl, context).catch(() => undefined);
  if (!url) return answer;
  page.searchParams.set("callbackUrl", url);
  return { ...answer, redirect: page.href };
}
