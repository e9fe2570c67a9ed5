/** `<mount path>/callback/:provider`: ends a sign-in, by the type of the provider. */
import { CredentialsSignin } from "@auth/core/errors";
import type { CredentialsConfig } from "@auth/core/providers/credentials";
import { parseCookie } from "cookie";
import { findPasskeys } from "../../adapter/added_methods.ts";
import type { Answer } from "../../core/answer.ts";
import { callCore, requestOf } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { csrfRefusal } from "../../core/flow.ts";
import { replyKind } from "../reply.ts";
import { replaceSession, withoutEndedSession } from "../session_change.ts";
import { handleWebAuthnCallback, passkeyProviders } from "../webauthn.ts";
import { handleEmailCallback } from "./email.ts";
import { handleOAuthCallback } from "./oauth.ts";

export async function handleCallback(context: ProviderContext): Promise<Answer> {
  const answer = await HANDLERS[context.provider.type]!(await withoutEndedSession(context));
  await replaceSession(answer, context);
  const { provider: { type }, config: { pages } } = context;
  return type === "webauthn" || !pages.passkeyOffer ? answer : await offerPasskey(answer, context);
}

const HANDLERS: Readonly<Record<string, (context: ProviderContext) => Promise<Answer>>> = {
  oauth: handleOAuthCallback,
  oidc: handleOAuthCallback,
  email: handleEmailCallback,
  webauthn: handleWebAuthnCallback,
  credentials: authorizeUser,
};

/** What core throws if there is no user. Made once: to capture its stack takes V8 a tenth of such a request. */
const WRONG_CREDENTIALS = new CredentialsSignin();

async function authorizeUser(context: ProviderContext): Promise<Answer> {
  const refused = csrfRefusal(context);
  if (refused !== undefined) return refused;
  const { authorize: own } = context.config.coreProviders.get(context.provider.id) as CredentialsConfig;
  async function authorize(this: CredentialsConfig, fields: object) {
    // Core gives the same object to the `signIn` callback.
    const user = await own.call(this, Object.assign(fields, context.body), requestOf(context));
    if (user) return user;
    throw Object.create(WRONG_CREDENTIALS);
  }
  return await callCore(context, { withoutBody: true, settings: { authorize } });
}

/** Seconds until a passkey is offered again: thirty days. */
const OFFER_MAX_AGE = 30 * 24 * 60 * 60;

/** The answer to a sign-in on a page, which leads to the offer of a passkey if the user has none. */
async function offerPasskey(answer: Answer, context: ProviderContext): Promise<Answer> {
  const { config: { core }, settings, origin, mountPath, headers, logger, fromApplication, cookies } = context;
  const { session, goesOn, redirect, events, byScript } = answer;
  const { userId, isNewUser } = events?.["fastify-authjs:sign-in"] ?? {};
  const { name, options } = settings.ownCookie({ name: "passkey-offer" });
  if (fromApplication || await replyKind(headers) !== "redirect") return answer;
  if (byScript || !session || goesOn || redirect === undefined || userId === undefined) return answer;
  const isNewPage = isNewUser === true && core.pages?.newUser !== undefined;
  if (isNewPage || parseCookie(cookies)[name] !== undefined) return answer;
  try {
    // authorize() may return a user whom the database does not have.
    if (await core.adapter!.getUser!(userId) === null) return answer;
    if ((await findPasskeys(core.adapter!, userId, passkeyProviders(context))).length > 0) return answer;
  } catch (error) {
    // The user is signed in.
    logger.error(error as Error);
    return answer;
  }
  const query = new URLSearchParams({ offer: "passkey", callbackUrl: redirect });
  const cookie = { name, value: "1", options: { maxAge: OFFER_MAX_AGE, ...options } };
  return { ...answer, redirect: `${origin.href}${mountPath}/signin?${query}`, cookies: [...answer.cookies, cookie] };
}
