/** `<prefix>/callback/:provider`: ends a sign-in, by the type of the provider. */
import type { Answer } from "../../core/answer.ts";
import { callCore } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { csrfRefusal } from "../../core/flow.ts";
import { later } from "../../utils/later.ts";
import { replaceSession, withoutEndedSession } from "../session_change.ts";
import { handleWebAuthnCallback } from "../webauthn.ts";
import { handleEmailCallback } from "./email.ts";
import { handleOAuthCallback } from "./oauth.ts";

const offerPasskey = later(async () => (await import("./passkey_offer.ts")).offerPasskey);

/** Answers a callback. */
export async function handleCallback(context: ProviderContext): Promise<Answer> {
  const answer = await HANDLERS[context.provider.type]!(await withoutEndedSession(context));
  await replaceSession(answer, context);
  return context.provider.type === "webauthn" || !context.config.pages.passkeyOffer
    ? answer
    : await offerPasskey(answer, context);
}

const HANDLERS: Readonly<Record<string, (context: ProviderContext) => Promise<Answer>>> = {
  oauth: handleOAuthCallback,
  oidc: handleOAuthCallback,
  email: handleEmailCallback,
  webauthn: handleWebAuthnCallback,
  credentials: async (context) => csrfRefusal(context) ?? await callCore(context),
};
