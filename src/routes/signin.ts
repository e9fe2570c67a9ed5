/** `<prefix>/signin` and `<prefix>/signin/:provider`: the sign-in page, and the start of a sign-in. */
import { type Answer, redirectAnswer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { ProviderContext, RequestContext } from "../core/context.ts";
import { oauthOverrides } from "./callback/oauth.ts";
import { keepPostedCallbackUrl } from "./callback/posted_callback_url.ts";
import { rememberBrowser } from "./email_browser.ts";
import { handleSignInPage } from "./pages.ts";
import { orUnavailable } from "./provider_unavailable.ts";

/** Answers with the sign-in page, or starts a sign-in. */
export async function handleSignIn(context: RequestContext): Promise<Answer> {
  const { provider, method, mountPath, query } = context;
  if (provider === undefined) {
    return method === "GET" ? await handleSignInPage(context) : await callCore(context);
  }
  // Core has no page for one provider.
  if (method === "GET") return redirectAnswer(`${mountPath}/signin${query && `?${query}`}`);
  return await orUnavailable(
    context as ProviderContext,
    async (context) =>
      context.provider.type === "email"
        ? await rememberBrowser(context, (overrides) => callCore(context, overrides))
        : await keepPostedCallbackUrl(await callCore(context, oauthOverrides(context)), context),
  );
}
