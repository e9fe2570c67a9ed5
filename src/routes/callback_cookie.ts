/**
 * The cookie that says where a sign-in is to lead, kept while attempts fail.
 *
 * @module
 */
import { cookieSettings } from "../config/cookies.ts";
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";

/**
 * The answer to a sign-in, with the cookie that says where it is to lead. Core leaves it out when the sign-in fails, and
 * the next attempt, with the right password, would end on the front page.
 */
export function keepCallbackUrl(
  answer: Answer,
  { provider, callbackUrl, config, origin }: RequestContext,
): Answer {
  if (provider === undefined || callbackUrl === undefined) return answer;
  const { name, options } = cookieSettings("callbackUrl", config.core, origin.secure);
  if (answer.cookies.some((cookie) => cookie.name === name)) return answer;
  return { ...answer, cookies: [...answer.cookies, { name, value: callbackUrl, options }] };
}
