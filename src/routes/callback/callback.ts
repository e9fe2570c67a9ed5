/** `<prefix>/callback/:provider`: ends a sign-in, by the type of the provider. */
import type { Answer } from "../../core/answer.ts";
import type { ProviderContext } from "../../core/context.ts";
import { finishLink } from "../account_link.ts";
import { attemptOf, linkedUser, withCallbackUrl } from "./attempt.ts";
import { handleCredentialsCallback } from "./credentials.ts";
import { handleEmailCallback } from "./email.ts";
import { handleOAuthCallback } from "./oauth.ts";
import { replaceSession, withoutEndedSession } from "../session_change.ts";
import { handleWebAuthnCallback } from "./webauthn.ts";

/** Answers a callback. */
export async function handleCallback(context: ProviderContext): Promise<Answer> {
  const answer = await handleByType(await withoutEndedSession(context));
  await replaceSession(answer, context);
  return answer;
}

async function finishOAuth(received: ProviderContext): Promise<Answer> {
  const attempt = await attemptOf(received);
  const context = withCallbackUrl(received, attempt);
  if (attempt.linkTo !== undefined) return await finishLink(context, attempt.linkTo);
  return await handleOAuthCallback(context, await linkedUser(attempt, context));
}

async function finishWebAuthn(context: ProviderContext): Promise<Answer> {
  return await handleWebAuthnCallback(context, await linkedUser(await attemptOf(context), context));
}

function handleByType(context: ProviderContext): Promise<Answer> {
  switch (context.provider.type) {
    case "oauth":
    case "oidc":
      return finishOAuth(context);
    case "email":
      return handleEmailCallback(context);
    case "webauthn":
      return finishWebAuthn(context);
    default:
      return handleCredentialsCallback(context);
  }
}
