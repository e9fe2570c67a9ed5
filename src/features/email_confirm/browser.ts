/**
 * The cookie by which the browser that asked for a sign-in link is known when it opens the link.
 *
 * It holds a hash of the address that the link was mailed to. A link that an attacker asked for, for an
 * address of their own, thus never signs in without a click.
 */
import { parseCookie } from "cookie";
import { createHmac } from "node:crypto";
import { cookieSettings } from "../../config/cookies.ts";
import type { Answer } from "../../core/answer.ts";
import type { ProviderContext } from "../../core/context.ts";
import { removalOf } from "../../http/set_cookie.ts";

export const COOKIE = { name: "email-confirm" };

/** The answer to a browser that asked for a link, which sets the cookie if one was mailed. */
export function rememberBrowser(answer: Answer, context: ProviderContext): Answer {
  const { mailed } = answer;
  if (mailed === undefined || answer.error !== undefined) return answer;
  const { name, options } = cookieOf(context);
  const value = hashOf(mailed.identifier, context.config.hashSecrets.current, context);
  const cookie = { name, value, options: { ...options, expires: mailed.expires } };
  return { ...answer, cookies: [...answer.cookies, cookie] };
}

/** Whether this browser asked for a link to the address. */
export function hasAsked(context: ProviderContext, address: string): boolean {
  const held = parseCookie(context.cookies)[cookieOf(context).name];
  if (!held) return false;
  const { current, others } = context.config.hashSecrets;
  return [current, ...others].some((secret) => held === hashOf(address, secret, context));
}

/** The answer to a link that was used, which removes the cookie if it has done its work. */
export function forgetBrowser(answer: Answer, context: ProviderContext): Answer {
  const { name, options } = cookieOf(context);
  if (answer.error !== undefined || parseCookie(context.cookies)[name] === undefined) return answer;
  return { ...answer, cookies: [...answer.cookies, removalOf(name, options)] };
}

function cookieOf({ config, origin }: ProviderContext) {
  return cookieSettings(COOKIE, config.core, origin.secure);
}

function hashOf(address: string, secret: string, { provider }: ProviderContext): string {
  return createHmac("sha256", secret).update(JSON.stringify(["email-confirm", provider.id, address]))
    .digest("base64url");
}
