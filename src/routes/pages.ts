/**
 * Core's pages and lists, which concern no provider and change nothing.
 *
 * @module
 */
import type { Answer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";

/** Answers with the error page. Anybody can open it: to show a server error is none. */
export async function handleErrorPage(context: RequestContext): Promise<Answer> {
  // Core's page has no text for this one, and says of a server error that its log tells more, as it does here.
  const query = context.query.replace(/\berror=SessionTooLarge\b/, "error=Configuration");
  const answer = await callCore({ ...context, query });
  return answer.status >= 500 ? { ...answer, status: 200 } : answer;
}
