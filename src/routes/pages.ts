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
  const answer = await callCore(context);
  return answer.status >= 500 ? { ...answer, status: 200 } : answer;
}
