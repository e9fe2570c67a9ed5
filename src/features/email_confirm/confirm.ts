/** The page that a mailed link opens. Its form signs in with a POST. */
import { type Answer, pageAnswer, redirectAnswer } from "../../core/answer.ts";
import { addressOf, type ProviderContext } from "../../core/context.ts";
import { errorAnswer } from "../../core/failure.ts";
import { allowedRedirect, csrfRefusal, flowOf } from "../../core/flow.ts";
import { isPrefetch } from "../../http/request.ts";
import { linkOf } from "../../routes/callback/email.ts";
import { forgetBrowser, hasAsked, rememberBrowser } from "./browser.ts";

/** Answers a GET of a link with the page, a POST only with the CSRF token of the page. */
export async function confirmSignIn(
  context: ProviderContext,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  if (context.action !== "callback") return rememberBrowser(await answer(), context);
  if (context.method === "GET" && !isPrefetch(context.headers)) {
    const link = linkOf(context);
    // The `redirect` callback may throw.
    if (link.get("token")) return await askUser(link, context).catch((error) => errorAnswer(error, context));
  }
  const refused = context.method === "POST" ? csrfRefusal(context) : undefined;
  return refused ?? forgetBrowser(await answer(), context);
}

/** Answers with the page. Nothing is looked up or used before its form is sent. */
async function askUser(link: URLSearchParams, context: ProviderContext): Promise<Answer> {
  const own = context.config.pages.confirmEmail;
  if (own !== undefined) return redirectAnswer(withParameters(own, link, context));
  const { csrfToken, cookies } = await flowOf({ ...context, query: "" });
  const email = link.get("email") ?? undefined;
  const callbackUrl = link.get("callbackUrl");
  const page = pageAnswer({
    kind: "confirm",
    action: new URL(addressOf({ ...context, query: "" })).pathname,
    fields: { ...(csrfToken !== undefined && { csrfToken }), ...Object.fromEntries(link) },
    email,
    automatic: email !== undefined && hasAsked(context, email),
    ...(callbackUrl !== null && { callbackUrl: await allowedRedirect(callbackUrl, context) }),
  });
  return { ...page, cookies };
}

/** The address of the application's own page, with the parameters of the link. */
function withParameters(page: string, link: URLSearchParams, { origin, provider }: ProviderContext): string {
  const url = new URL(page, origin.href);
  url.searchParams.set("provider", provider.id);
  for (const [name, value] of link) url.searchParams.set(name, value);
  return url.href;
}
