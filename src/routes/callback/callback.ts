/** `<prefix>/callback/:provider`: ends a sign-in, by the type of the provider. */
import type { Answer } from "../../core/answer.ts";
import type { ProviderContext } from "../../core/context.ts";
import { finishLink } from "../account_link.ts";
import { handleCredentialsCallback } from "./credentials.ts";
import { handleEmailCallback } from "./email.ts";
import { handleOAuthCallback } from "./oauth.ts";
import { withPostedCallbackUrl } from "./posted_callback_url.ts";
import { keepingProviderSession } from "../provider_session.ts";
import { replaceSession, withoutEndedSession } from "../session_change.ts";
import { handleWebAuthnCallback } from "./webauthn.ts";

/** Answers a callback. */
export async function handleCallback(context: ProviderContext): Promise<Answer> {
  const answer = await handleByType(keepingProviderSession(await withoutEndedSession(context)));
  await replaceSession(answer, context);
  return answer;
}

async function finishOAuth(received: ProviderContext): Promise<Answer> {
  const context = await withPostedCallbackUrl(received);
  return await finishLink(context, (overrides) => handleOAuthCallback(context, overrides));
}

function handleByType(context: ProviderContext): Promise<Answer> {
  switch (context.provider.type) {
    case "oauth":
    case "oidc":
      return finishOAuth(context);
    case "email":
      return handleEmailCallback(context);
    case "webauthn":
      return handleWebAuthnCallback(context);
    default:
      return handleCredentialsCallback(context);
  }
}
