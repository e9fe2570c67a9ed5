/**
 * The page that a mailed link opens. Its form signs in with a POST.
 *
 * A cookie, with a hash of the address that the link was mailed to, tells the browser that asked for it. A link that an
 * attacker asked for, for an address of their own, thus never signs in without a click.
 */
import { parseCookie } from "cookie";
import { createHmac } from "node:crypto";
import type { CookieDefinition } from "../../config/cookies.ts";
import { type Answer, pageAnswer, redirectAnswer } from "../../core/answer.ts";
import { addressOf, type ProviderContext } from "../../core/context.ts";
import { errorAnswer } from "../../core/failure.ts";
import { allowedRedirect, csrfRefusal, flowOf } from "../../core/flow.ts";
import { isPrefetch } from "../../http/request.ts";
import { removalOf } from "../../http/set_cookie.ts";
import { linkOf } from "../../routes/callback/email.ts";

/** Answers a GET of a link with the page, a POST only with the CSRF token of the page. */
export async function confirmSignIn(context: ProviderContext, run: () => Promise<Answer>, cookie: CookieDefinition) {
  const { action, method, config, settings } = context;
  const { name, options } = settings.ownCookie(cookie);
  const held = parseCookie(context.cookies)[name];
  if (action === "callback" && method === "GET" && !isPrefetch(context.headers)) {
    const link = linkOf(context);
    // The `redirect` callback may throw.
    if (link.get("token")) return await askUser(link, held, context).catch((error) => errorAnswer(error, context));
  }
  const refused = action === "callback" && method === "POST" ? csrfRefusal(context) : undefined;
  if (refused !== undefined) return refused;
  const answer = await run();
  if (answer.error !== undefined) return answer;
  const { mailed, cookies } = answer;
  if (action === "callback") {
    return held === undefined ? answer : { ...answer, cookies: [...cookies, removalOf(name, options)] };
  }
  if (mailed === undefined) return answer;
  const value = hashOf(mailed.identifier, config.hashSecrets.current, context);
  return { ...answer, cookies: [...cookies, { name, value, options: { ...options, expires: mailed.expires } }] };
}

/** Answers with the page. Nothing is looked up or used before its form is sent. */
async function askUser(link: URLSearchParams, held: string | undefined, context: ProviderContext): Promise<Answer> {
  const { config, origin, provider } = context;
  const own = config.pages.confirmEmail;
  if (own !== undefined) {
    const url = new URL(own, origin.href);
    url.searchParams.set("provider", provider.id);
    for (const [name, value] of link) url.searchParams.set(name, value);
    return redirectAnswer(url.href);
  }
  const { csrfToken, cookies } = await flowOf({ ...context, query: "" });
  const email = link.get("email") ?? undefined;
  const callbackUrl = link.get("callbackUrl");
  const { current, others } = config.hashSecrets;
  const page = pageAnswer({
    kind: "confirm",
    action: new URL(addressOf({ ...context, query: "" })).pathname,
    fields: { ...(csrfToken !== undefined && { csrfToken }), ...Object.fromEntries(link) },
    email,
    automatic: email !== undefined && [current, ...others].some((secret) => held === hashOf(email, secret, context)),
    ...(callbackUrl !== null && { callbackUrl: await allowedRedirect(callbackUrl, context) }),
  });
  return { ...page, cookies };
}

function hashOf(address: string, secret: string, { provider }: ProviderContext): string {
  return createHmac("sha256", secret).update(JSON.stringify(["email-confirm", provider.id, address]))
    .digest("base64url");
}
