/**
 * The cookie that says where a sign-in is to lead, kept while attempts fail.
 *
 * @module
 */
import { cookieSettings } from "../config/cookies.ts";
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { allowedRedirect } from "../core/redirect.ts";

/**
 * The answer to a sign-in, with the cookie that says where it is to lead. Core leaves it out when the sign-in fails, and
 * the next attempt, with the right password, would end on the front page.
 *
 * As in core, the cookie holds what the `redirect` callback allows. Where that throws, none is kept.
 */
export async function keepCallbackUrl(answer: Answer, context: RequestContext): Promise<Answer> {
  const { provider, callbackUrl, config, origin } = context;
  if (answer.error === undefined || provider === undefined || callbackUrl === undefined) return answer;
  const { name, options } = cookieSettings("callbackUrl", config.core, origin.secure);
  if (answer.cookies.some((cookie) => cookie.name === name)) return answer;
  // Core calls it with the same arguments before anything else, and logs what it throws.
  const value = await allowedRedirect(callbackUrl, context).catch(() => undefined);
  if (!value) return answer;
  return { ...answer, cookies: [...answer.cookies, { name, value, options }] };
}
