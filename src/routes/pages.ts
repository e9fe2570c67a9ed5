/**
 * `<prefix>/error`: the error page.
 *
 * @module
 */
import type { Answer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";

/**
 * Answers with the error page. Its status is 200 where core has a 5xx: showing the page is no server error.
 */
export async function handleErrorPage(context: RequestContext): Promise<Answer> {
  // Core's page has no text for it. That of "Configuration" refers to the server's log, which has the reason.
  const query = context.query.replace(/\berror=SessionTooLarge\b/, "error=Configuration");
  const answer = await callCore({ ...context, query });
  return answer.status >= 500 ? { ...answer, status: 200 } : answer;
}
