/**
 * The callback URL of a sign-in whose provider posts its answer (`response_mode=form_post`): with that form
 * browsers send the check cookies alone, so one of them has it as well.
 */
import { parseCookie, stringifyCookie } from "cookie";
import { cookieSettings } from "../../config/cookies.ts";
import type { Answer } from "../../core/answer.ts";
import type { ProviderContext } from "../../core/context.ts";
import { oauthOverrides } from "./oauth.ts";
import { type CheckCookie, checkCookies, openContent, resealCheck } from "./check_cookies.ts";

/** Characters: browsers drop cookies above 4,096 bytes with their names. */
const LONGEST = 4000;

/** The answer to the start of a sign-in, with the callback URL in a check cookie, too. */
export async function keepPostedCallbackUrl(answer: Answer, context: ProviderContext): Promise<Answer> {
  if (!context.provider.formPost || answer.error !== undefined) return answer;
  const { name } = cookieOf(context);
  const url = answer.cookies.find((cookie) => cookie.name === name)?.value ??
    parseCookie(context.cookies)[name];
  if (!url || url === context.origin.href) return answer;
  const sealed = new Map(answer.cookies.map(({ name, value }) => [name, value]));
  const cookies = ownChecks(context).map((each) => ({ ...each, sealed: sealed.get(each.name) }));
  const check = cookies.find(({ sealed }) => sealed);
  const value = check && await resealCheck(check, url, context);
  if (value === undefined || value.length > LONGEST) return answer;
  return {
    ...answer,
    cookies: answer.cookies.map((cookie) => cookie.name === check!.name ? { ...cookie, value } : cookie),
  };
}

/** The context of a callback, with the callback URL where the browser sent it in a check cookie alone. */
export async function withPostedCallbackUrl(context: ProviderContext): Promise<ProviderContext> {
  if (!context.provider.formPost) return context;
  const { name } = cookieOf(context);
  if (parseCookie(context.cookies)[name] !== undefined) return context;
  for (const check of ownChecks(context)) {
    const url = (await openContent(check, context))?.callbackUrl;
    if (url === undefined) continue;
    return { ...context, cookies: `${context.cookies}; ${stringifyCookie({ [name]: url })}` };
  }
  return context;
}

function ownChecks(context: ProviderContext): CheckCookie[] {
  return checkCookies(context, oauthOverrides(context).cookies);
}

function cookieOf({ config, origin }: ProviderContext) {
  return cookieSettings("callbackUrl", config.core, origin.secure);
}
