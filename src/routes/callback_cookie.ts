/** The callback-url cookie, kept while attempts to sign in fail. */
import { cookieSettings } from "../config/cookies.ts";
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { allowedRedirect } from "../core/redirect.ts";

/**
 * The answer, with the callback-url cookie also where the sign-in failed. Core leaves it out, so that the
 * next attempt, with the right password, would end on the front page.
 *
 * As in core, its value is what the `redirect` callback returns. Where that throws, there is no cookie.
 */
export async function keepCallbackUrl(answer: Answer, context: RequestContext): Promise<Answer> {
  const { provider, callbackUrl, config, origin } = context;
  if (answer.error === undefined || provider === undefined || callbackUrl === undefined) return answer;
  const { name, options } = cookieSettings("callbackUrl", config.core, origin.secure);
  if (answer.cookies.some((cookie) => cookie.name === name)) return answer;
  // Core has called it with the same arguments, and logged what it threw.
  const value = await allowedRedirect(callbackUrl, context).catch(() => undefined);
  if (!value) return answer;
  return { ...answer, cookies: [...answer.cookies, { name, value, options }] };
}
