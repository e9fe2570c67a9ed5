/** Sign-ins that a provider begins, by a link or a form to this application (OpenID Connect Core 1.0 section 4). */
import type { AuthConfig } from "@auth/core";
import { type Answer, redirectAnswer } from "../../core/answer.ts";
import { type AskedRequest, type ProviderContext, withoutSession } from "../../core/context.ts";
import { namedCallbackUrl } from "../../http/callback_url.ts";
import { assertNotCrossSite } from "../../http/cross_site.ts";
import { parseQuery, queryOf } from "../../http/request.ts";
import { toLogText } from "../../provider/provider_error.ts";
import { beginSignIn } from "../../routes/signin.ts";
import type { Feature } from "../feature.ts";

/** What the providers have for it, in their order; the application may have mistaken its type. */
function allowances({ providers }: AuthConfig): unknown[] {
  return providers.map((each) => (each as { readonly initiateLogin?: unknown }).initiateLogin ?? false);
}

export const initiateLogin: Feature = {
  problems: [[
    "FST_AUTHJS_PROVIDER_INVALID",
    ({ core, providers }) =>
      allowances(core).flatMap((allowance, index) => {
        const { id, server } = providers[index]!;
        if (typeof allowance !== "boolean") return `\`initiateLogin\` of the provider "${id}" must be true or false.`;
        if (!allowance || server.issuer !== undefined) return [];
        return `\`initiateLogin\` of the provider "${id}" needs its \`issuer\`, which its links name. Set it, ` +
          "or leave `initiateLogin` out.";
      }),
  ]],
  configure({ core, providers }) {
    const allowed = allowances(core);
    const ids = new Set(providers.filter((_, index) => allowed[index] === true).map(({ id }) => id));
    // In a frame nobody would see who signs in.
    const isServed = ({ action, provider, request }: Pick<AskedRequest, "action" | "provider" | "request">) =>
      action === "signin" && ids.has(provider?.id ?? "") &&
      (request.headers["sec-fetch-dest"] ?? "document") === "document";
    return {
      takesForms: isServed,
      onAnswer: async (context, answer) =>
        !context.fromApplication && isServed(context)
          ? await beginInitiated(context as ProviderContext, answer)
          : await answer(),
    };
  },
};

/** Answers a link or a form of a provider; whatever else comes is answered as it always is. */
async function beginInitiated(context: ProviderContext, answer: () => Promise<Answer>): Promise<Answer> {
  const { request, method, body, headers, origin: { href }, config, provider, mountPath, logger } = context;
  const asked = method === "POST" ? body! : Object.fromEntries(parseQuery(queryOf(request.raw.url ?? "")));
  const { iss, login_hint, target_link_uri } = asked;
  if (iss === undefined) {
    if (method === "POST") assertNotCrossSite(headers, href, config.trustedOrigins);
    return await answer();
  }
  if (iss !== provider.server.issuer) {
    logger.warnOnce(
      `initiated ${provider.id}`,
      `A link to sign in at "${provider.id}" names the issuer ${JSON.stringify(toLogText(iss))}, and ` +
        `${JSON.stringify(provider.server.issuer)} is configured: it led to the sign-in page.`,
      "FST_AUTHJS_WARN_PROVIDER",
    );
    return redirectAnswer(`${mountPath}/signin`);
  }
  const target = namedCallbackUrl(target_link_uri, href) ?? href;
  const callbackUrl = new URL(target, href).origin === href ? target : href;
  return await beginSignIn({
    // Whoever is signed in did not begin it: nothing is linked to that user.
    ...withoutSession(context),
    method: "POST",
    query: typeof login_hint === "string" && login_hint ? `${new URLSearchParams({ login_hint })}` : "",
    body: { callbackUrl },
    callbackUrl,
    // A link has no CSRF token: section 4 lets any site begin a sign-in.
    fromApplication: true,
  });
}
