/**
 * `<prefix>/signout`: the sign-out page, and the sign-out.
 *
 * @module
 */
import type { Answer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";
import { endRemovedSession } from "./session_change.ts";

/** Answers with the page, or signs out. */
export async function handleSignOut(context: RequestContext): Promise<Answer> {
  const answer = await callCore(context);
  await endRemovedSession(answer, context);
  return answer;
}
