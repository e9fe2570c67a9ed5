/** `<prefix>/callback/:provider`: ends a sign-in, by the type of the provider. */
import type { Answer } from "../../core/answer.ts";
import type { CoreCall } from "../../core/call.ts";
import { callCore } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { csrfRefusal } from "../../core/flow.ts";
import { challengeOf } from "../../provider/webauthn/credential.ts";
import { replaceSession, withoutEndedSession } from "../session_change.ts";
import { dropAttempt, findAttempt, newestAttempt, withCallbackUrl } from "./attempts.ts";
import { handleEmailCallback } from "./email.ts";
import { handleOAuthCallback, stateOf } from "./oauth.ts";
import { linkedUser } from "./started_by.ts";
import { handleWebAuthnCallback } from "./webauthn.ts";

/** Answers a callback. */
export async function handleCallback(context: ProviderContext): Promise<Answer> {
  const answer = await HANDLERS[context.provider.type]!(await withoutEndedSession(context));
  await replaceSession(answer, context);
  return answer;
}

/** By the type of the provider. */
const HANDLERS: Readonly<Record<string, (context: ProviderContext) => Promise<Answer>>> = {
  oauth: finishOAuth,
  oidc: finishOAuth,
  email: handleEmailCallback,
  webauthn: finishWebAuthn,
  credentials: async (context) => csrfRefusal(context) ?? await callCore(context),
};

/** The attempt that its state leads to is used up, whatever comes of it. */
async function finishOAuth(received: ProviderContext): Promise<Answer> {
  const state = stateOf(received);
  const attempt = state !== undefined
    ? findAttempt(received, state)
    // Some servers do not send back what they were not to check.
    : received.provider.checks.includes("state")
    ? undefined
    : newestAttempt(received);
  if (attempt === undefined) return await handleOAuthCallback(received, undefined);
  const context = withCallbackUrl(received, attempt);
  const finish = (call: CoreCall) => handleOAuthCallback(context, attempt, call);
  const { linkTo } = attempt;
  const answer = linkTo === undefined
    ? await finish(await linkedUser(attempt, context))
    : await context.auth.hooks.find(({ onLink }) => onLink !== undefined)!.onLink!(context, linkTo, finish);
  return state === undefined && answer.error !== undefined ? answer : dropAttempt(answer, attempt, context);
}

async function finishWebAuthn(received: ProviderContext): Promise<Answer> {
  const challenge = challengeOf(received.body?.data);
  const attempt = challenge === undefined ? undefined : findAttempt(received, challenge);
  if (attempt === undefined) return await handleWebAuthnCallback(received, undefined);
  const context = withCallbackUrl(received, attempt);
  const checks = { challenge, user: attempt.user };
  const overrides = { checks, ...await linkedUser(attempt, context) };
  return dropAttempt(await handleWebAuthnCallback(context, attempt, overrides), attempt, context);
}
