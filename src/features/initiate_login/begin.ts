/** Begins a sign-in for a provider. */
import type { Answer } from "../../core/answer.ts";
import { redirectAnswer } from "../../core/answer.ts";
import { type ProviderContext, withoutCookies } from "../../core/context.ts";
import { namedCallbackUrl } from "../../http/callback_url.ts";
import { assertNotCrossSite } from "../../http/cross_site.ts";
import type { PublicOrigin } from "../../http/origin.ts";
import { parseQuery, queryOf } from "../../http/query.ts";
import { toLogText } from "../../provider/provider_error.ts";
import { beginSignIn } from "../../routes/signin.ts";

/** Answers a link or a form of a provider; whatever else comes is answered as it always is. */
export async function beginInitiated(
  context: ProviderContext,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  const { request, method, body, headers, origin, config, provider, mountPath, warnOnce } = context;
  const asked = method === "POST" ? body! : Object.fromEntries(parseQuery(queryOf(request.raw.url ?? "")));
  const { iss, login_hint, target_link_uri } = asked;
  if (iss === undefined) {
    if (method === "POST") assertNotCrossSite(headers, origin.href, config.trustedOrigins);
    return await answer();
  }
  if (iss !== provider.server.issuer) {
    warnOnce(
      `initiated ${provider.id}`,
      `A link to sign in at "${provider.id}" names the issuer ${JSON.stringify(toLogText(iss))}, and ` +
        `${JSON.stringify(provider.server.issuer)} is configured: it led to the sign-in page.`,
      "FST_AUTHJS_WARN_PROVIDER",
    );
    return redirectAnswer(`${mountPath}/signin`);
  }
  const callbackUrl = ownAddress(target_link_uri, origin);
  return await beginSignIn({
    // Whoever is signed in did not begin it: nothing is linked to that user.
    ...withoutCookies(context, context.held.names),
    method: "POST",
    query: typeof login_hint === "string" && login_hint ? `${new URLSearchParams({ login_hint })}` : "",
    body: { callbackUrl },
    callbackUrl,
    // A link has no CSRF token: section 4 lets any site begin a sign-in.
    fromApplication: true,
  });
}

/** The address to lead to, if it is of this application; else its front page. */
function ownAddress(target: unknown, { href }: PublicOrigin): string {
  const url = namedCallbackUrl(target, href) ?? href;
  return new URL(url, href).origin === href ? url : href;
}
