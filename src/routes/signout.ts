/** `<prefix>/signout`: the sign-out page, and the sign-out. */
import { unavailableError } from "../adapter/failure.ts";
import type { Answer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";
import { handleSignOutPage } from "./pages.ts";
import { endAtProvider, providerSessionToEnd } from "./provider_sign_out.ts";
import { endRemovedSession } from "./session_change.ts";

/**
 * Answers with the page, or signs out.
 *
 * @param atProvider Whether also at the OpenID Provider, in place of what `providerSignOut` says.
 */
export async function handleSignOut(context: RequestContext, atProvider?: boolean): Promise<Answer> {
  if (context.method === "GET") return await handleSignOutPage(context);
  const held = await providerSessionToEnd(context, atProvider);
  const answer = await callCore(context);
  const failure = await endRemovedSession(answer, context);
  if (failure === undefined) return held === undefined ? answer : await endAtProvider(held, answer, context);
  // The browser signs out all the same.
  const { redirect: _redirect, ...rest } = answer;
  return { ...rest, status: 503, error: unavailableError(failure) };
}
