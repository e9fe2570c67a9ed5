/**
 * The cookie by which the browser that asked for a sign-in link is known when it opens the link.
 *
 * It holds a hash of the address that the link was mailed to. A link that an attacker asked for, for an
 * address of their own, thus never signs in without a click.
 */
import type { Adapter, VerificationToken } from "@auth/core/adapters";
import { parseCookie } from "cookie";
import { createHmac } from "node:crypto";
import { wrapMethods } from "../adapter/bind.ts";
import { cookieSettings } from "../config/cookies.ts";
import type { Answer } from "../core/answer.ts";
import { callCore } from "../core/call.ts";
import type { ProviderContext } from "../core/context.ts";
import { removalOf } from "../http/set_cookie.ts";

/** Has core mail a link, and sets the cookie if it did. */
export async function rememberBrowser(context: ProviderContext): Promise<Answer> {
  if (!context.config.emailConfirm) return await callCore(context);
  let mailed: VerificationToken | undefined;
  const wrapAdapter = (adapter: Adapter) =>
    wrapMethods<Adapter>(adapter, {
      createVerificationToken: (create) => async (token) => await create(mailed = token),
    });
  const answer = await callCore(context, { wrapAdapter });
  if (mailed === undefined || answer.error !== undefined) return answer;
  const { identifier, expires } = mailed;
  const { name, options } = cookieOf(context);
  const value = hashOf(identifier, context.config.hashSecrets.current, context);
  return { ...answer, cookies: [...answer.cookies, { name, value, options: { ...options, expires } }] };
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
  return cookieSettings({ name: "email-confirm" }, config.core, origin.secure);
}

function hashOf(address: string, secret: string, { provider }: ProviderContext): string {
  return createHmac("sha256", secret).update(JSON.stringify(["email-confirm", provider.id, address]))
    .digest("base64url");
}
