/** After another sign-in than with a passkey, a page offers to add one: once in thirty days. */
import { parseCookie } from "cookie";
import { findPasskeys } from "../../adapter/added_methods.ts";
import { cookieSettings } from "../../config/cookies.ts";
import type { Answer } from "../../core/answer.ts";
import type { ProviderContext, RequestContext } from "../../core/context.ts";
import { replyKind } from "../reply.ts";

/** Seconds until it is offered again. */
const MAX_AGE = 30 * 24 * 60 * 60;

/** The answer to a sign-in, which leads to the offer if the user has no passkey. */
export async function offerPasskey(answer: Answer, context: ProviderContext): Promise<Answer> {
  const { config: { core, pages, providers }, origin, mountPath, headers, logger } = context;
  const { session, goesOn, redirect, events, byScript } = answer;
  const { userId, isNewUser } = events?.["fastify-authjs:sign-in"] ?? {};
  const { name, options } = cookieSettings({ name: "passkey-offer" }, core, origin.secure);
  const isOfPage = !context.fromApplication && replyKind(headers) === "redirect";
  const isNewPage = isNewUser === true && core.pages?.newUser !== undefined;
  const isAsked = parseCookie(context.cookies)[name] !== undefined;
  if (!pages.passkeyOffer || !isOfPage || isNewPage || isAsked) return answer;
  if (byScript || !session || goesOn || redirect === undefined || userId === undefined) return answer;
  try {
    const ids = [...providers.values()].filter(({ type }) => type === "webauthn").map(({ id }) => id);
    // authorize() may return a user whom the database does not have.
    if (await core.adapter!.getUser!(userId) === null) return answer;
    if ((await findPasskeys(core.adapter!, userId, ids)).length > 0) return answer;
  } catch (error) {
    // The user is signed in.
    logger.error(error as Error);
    return answer;
  }
  const query = new URLSearchParams({ offer: "passkey", callbackUrl: redirect });
  const cookie = { name, value: "1", options: { ...options, maxAge: MAX_AGE } };
  return {
    ...answer,
    redirect: `${origin.href}${mountPath}/signin?${query}`,
    cookies: [...answer.cookies, cookie],
  };
}

/** Whether the page is asked for. */
export function isOffer({ config, query }: RequestContext): boolean {
  return config.pages.passkeyOffer && new URLSearchParams(query).get("offer") === "passkey";
}
