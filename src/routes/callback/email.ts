/** The callback of an e-mail provider: the link that was mailed. */
import type { Adapter } from "@auth/core/adapters";
import { type Answer, pageAnswer, redirectAnswer } from "../../core/answer.ts";
import { callCore } from "../../core/call.ts";
import { addressOf, type ProviderContext } from "../../core/context.ts";
import { allowedRedirect, csrfRefusal, flowOf } from "../../core/flow.ts";
import { errorAnswer } from "../../core/failure.ts";
import { type HashSecrets, hashToken } from "../../config/hash_secrets.ts";
import { isPrefetch } from "../../http/prefetch.ts";
import { forgetBrowser, hasAsked } from "../email_browser.ts";

/**
 * Answers a sign-in link. A GET of it answers with a page whose form signs in with a POST, unless
 * `emailConfirm` is off.
 */
export async function handleEmailCallback(context: ProviderContext): Promise<Answer> {
  const link = linkOf(context);
  const { emailConfirm } = context.config;
  if (context.method === "GET" && isPrefetch(context.headers)) return NOT_IN_ADVANCE;
  if (emailConfirm && context.method === "GET" && link.get("token")) {
    // The `redirect` callback may throw.
    return await confirm(link, context).catch((error) => errorAnswer(error as Error, context));
  }
  const refused = emailConfirm && context.method === "POST" ? csrfRefusal(context) : undefined;
  return refused ?? forgetBrowser(await signIn(link, context), context);
}

/** The parameters of the link, from the form of the page or from the query. */
function linkOf({ query, body, callbackUrl }: ProviderContext): URLSearchParams {
  const link = new URLSearchParams(query);
  for (const name of ["token", "email"]) {
    if (typeof body?.[name] === "string") link.set(name, body[name]);
  }
  if (callbackUrl !== undefined) link.set("callbackUrl", callbackUrl);
  return link;
}

/** A browser drops this, and asks again once its user follows the link. */
const NOT_IN_ADVANCE: Answer = { status: 503, headers: {}, cookies: [] };

/** Answers with the page that confirms the sign-in. Nothing is looked up or used before its form is sent. */
async function confirm(link: URLSearchParams, context: ProviderContext): Promise<Answer> {
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

/**
 * Has core sign in, which reads the token from the query. For a link without one it would report a mistake in the
 * configuration.
 */
function signIn(link: URLSearchParams, context: ProviderContext): Promise<Answer> {
  const token = link.get("token") || "none";
  link.set("token", token);
  return callCore({ ...context, method: "GET", body: undefined, query: link.toString() }, {
    wrapAdapter: (adapter) => acceptOlderTokens(adapter, token, context.config.hashSecrets),
  });
}

/** The adapter, which also finds tokens that were mailed before the secret was rotated. */
function acceptOlderTokens(adapter: Adapter, token: string, { current, others }: HashSecrets): Adapter {
  if (others.length === 0) return adapter;
  const useVerificationToken: Adapter["useVerificationToken"] = async (sought) => {
    const found = await adapter.useVerificationToken!(sought);
    // A provider with a secret of its own is not rotated.
    if (found || sought.token !== hashToken(token, current)) return found;
    for (const secret of others) {
      const older = await adapter.useVerificationToken!({ ...sought, token: hashToken(token, secret) });
      if (older) return older;
    }
    return null;
  };
  return { ...adapter, useVerificationToken };
}
