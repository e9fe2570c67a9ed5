/** `<mount path>/signout`: the sign-out page, and the sign-out. */
import { AdapterError, EventError, SignOutError } from "@auth/core/errors";
import type { Awaitable } from "@auth/core/types";
import { unavailableError } from "../adapter/failure.ts";
import { type Answer, failedAnswer, redirectAnswer } from "../core/answer.ts";
import { type RequestContext, sessionRemovals } from "../core/context.ts";
import { errorAnswer } from "../core/failure.ts";
import { callbackUrlOf, csrfRefusal } from "../core/flow.ts";
import type { FeatureSignOutOptions } from "../features/mod.ts";
import { removalOf } from "../http/set_cookie.ts";
import { endSession } from "../session/ending.ts";
import { openToken } from "../session/open.ts";
import { wrapError } from "../session/read.ts";
import { handleSignOutPage } from "./pages.ts";
import { endRemovedSession } from "./session_change.ts";

/** @param asked The options of `auth.signOut()`. */
export async function handleSignOut(context: RequestContext, asked?: FeatureSignOutOptions): Promise<Answer> {
  if (context.method === "GET") return await handleSignOutPage(context);
  const refused = csrfRefusal(context);
  if (refused !== undefined) return refused;
  const afterwards = await Promise.all(context.auth.hooks.map(({ onSignOut }) => onSignOut?.(context, asked)));
  let answer = await signOut(context);
  // The end of a row is told already.
  const failure = context.settings.strategy === "jwt" ? await endRemovedSession(answer, context) : undefined;
  // The browser signs out all the same.
  if (failure !== undefined) return failedAnswer(unavailableError(failure), answer.cookies);
  for (const lead of afterwards) answer = await lead?.(answer) ?? answer;
  return answer;
}

async function signOut(context: RequestContext): Promise<Answer> {
  const { settings } = context;
  try {
    const { callbackUrl, cookies } = await callbackUrlOf(context);
    const { token } = context.held;
    // Also what is left of earlier sessions.
    const beside = settings.hooks.flatMap(({ rowCookies = [] }) => rowCookies.map(settings.besideCookie));
    const removals = [...sessionRemovals(context), ...beside.map(({ name, options }) => removalOf(name, options))];
    // The next sign-in must not end on a page of ours.
    const kept = callbackUrl.startsWith(`${context.origin.href}${context.mountPath}/`) ? [] : cookies;
    const answer = { ...redirectAnswer(callbackUrl), cookies: [...kept, ...removals] };
    return token === "" ? answer : await endHeld(token, answer, context);
  } catch (error) {
    return errorAnswer(error, context);
  }
}

async function endHeld(token: string, answer: Answer, context: RequestContext): Promise<Answer> {
  const { settings, logger } = context;
  if (settings.strategy === "jwt") {
    try {
      const { claims } = await openToken(token, settings);
      await sendSignOutEvent({ token: claims }, context);
      return { ...answer, events: { "fastify-authjs:sign-out": { userId: claims.sub } } };
    } catch (error) {
      logger.error(wrapError(SignOutError, error));
      return answer;
    }
  }
  logger.debug("adapter_deleteSession", { args: [token] });
  await endSession(token, context);
  try {
    const row = await settings.adapter!.deleteSession!(token);
    await sendSignOutEvent({ session: row }, context);
    return { ...answer, events: { "fastify-authjs:sign-out": { userId: row?.userId } } };
  } catch (error) {
    logger.error(wrapError(SignOutError, wrapError(AdapterError, error)));
    return failedAnswer(unavailableError(error), answer.cookies);
  }
}

/** As in core, what the event throws is logged and changes nothing. */
export async function sendSignOutEvent(message: object, { config: { core }, logger }: RequestContext): Promise<void> {
  try {
    await (core.events?.signOut as ((message: object) => Awaitable<void>) | undefined)?.(message);
  } catch (error) {
    logger.error(wrapError(EventError, error));
  }
}
