/** `<prefix>/signout`: the sign-out page, and the sign-out. */
import type { Answer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";
import { handleSignOutPage } from "./pages.ts";
import { endRemovedSession } from "./session_change.ts";

/** Answers with the page, or signs out. */
export async function handleSignOut(context: RequestContext): Promise<Answer> {
  if (context.method === "GET") return await handleSignOutPage(context);
  const answer = await callCore(context);
  await endRemovedSession(answer, context);
  return answer;
}
