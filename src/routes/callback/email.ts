/** The callback of an e-mail provider: the link that was mailed. */
import type { Adapter } from "@auth/core/adapters";
import type { Answer } from "../../core/answer.ts";
import { callCore } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { type HashSecrets, hashToken } from "../../config/hash_secrets.ts";
import { isPrefetch } from "../../http/request.ts";
import { leadOn } from "../failed_form.ts";
import { answerCode, codeIn, forgetCode } from "./email_code.ts";

export async function handleEmailCallback(context: ProviderContext): Promise<Answer> {
  // A browser drops this, and asks again once its user follows the link.
  if (context.method === "GET" && isPrefetch(context.headers)) return { status: 503, headers: {}, cookies: [] };
  const follow = async (link: URLSearchParams) => {
    const answer = await signIn(link, context);
    return await leadOn(answer, { ...context, query: String(link) }, link.get("email") ?? undefined);
  };
  const code = codeIn(context);
  const answer = code === undefined ? await follow(linkOf(context)) : await answerCode(code, context, follow);
  return forgetCode(answer, context);
}

/** The parameters of the link, from the form of the page or from the query. */
export function linkOf({ query, body, callbackUrl }: ProviderContext): URLSearchParams {
  const link = new URLSearchParams(query);
  for (const name of ["token", "email", "rememberMe"]) {
    if (typeof body?.[name] === "string") link.set(name, body[name]);
  }
  if (callbackUrl !== undefined) link.set("callbackUrl", callbackUrl);
  return link;
}

/** Lets core sign the user in. Core reads the token from the query, and calls the configuration wrong without one. */
function signIn(link: URLSearchParams, context: ProviderContext): Promise<Answer> {
  const token = link.get("token") || "none";
  link.set("token", token);
  const choice = link.get("rememberMe");
  const rememberMe = context.rememberMe ?? (choice === null ? undefined : choice !== "false");
  link.delete("rememberMe");
  return callCore({ ...context, rememberMe, method: "GET", body: undefined, query: link.toString() }, {
    wrapAdapter: (adapter) => acceptOlderTokens(adapter, token, context.config.hashSecrets),
  });
}

/** The adapter, which also finds tokens that were mailed before the secret was rotated. */
function acceptOlderTokens(adapter: Adapter, token: string, { current, others }: HashSecrets): Adapter {
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
