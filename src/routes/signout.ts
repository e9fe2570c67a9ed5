/** `<prefix>/signout`: the sign-out page, and the sign-out. */
import { unavailableError } from "../adapter/failure.ts";
import type { Answer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";
import { handleSignOutPage } from "./pages.ts";
import { endRemovedSession } from "./session_change.ts";

/** Answers with the page, or signs out. */
export async function handleSignOut(context: RequestContext): Promise<Answer> {
  if (context.method === "GET") return await handleSignOutPage(context);
  const answer = await callCore(context);
  const failure = await endRemovedSession(answer, context);
  // The browser signs out all the same.
  if (failure === undefined) return answer;
  const { redirect: _redirect, ...rest } = answer;
  return { ...rest, status: 503, error: unavailableError(failure) };
}
