/** `<mount path>/signin` and `<mount path>/signin/:provider`: the sign-in page, and the start of a sign-in. */
import type { EmailConfig } from "@auth/core/providers";
import { type Answer, redirectAnswer } from "../core/answer.ts";
import { callCore, requestOf, type Sent } from "../core/call.ts";
import type { ProviderContext, RequestContext } from "../core/context.ts";
import { errorAnswer } from "../core/failure.ts";
import { callbackUrlOf, csrfRefusal } from "../core/flow.ts";
import { newCode } from "../provider/email_message.ts";
import type { SendParams } from "../provider/mail_services.ts";
import type { VerificationMailParams } from "../types.ts";
import { keepRedirect } from "./callback/attempts.ts";
import { keepCode } from "./callback/email_code.ts";
import { handleSignInPage } from "./pages.ts";

export async function handleSignIn(context: RequestContext): Promise<Answer> {
  const { provider, method, mountPath, query } = context;
  if (provider === undefined) return method === "GET" ? await handleSignInPage(context) : await leadToPage(context);
  // Core has no page for one provider.
  if (method === "GET") return redirectAnswer(`${mountPath}/signin${query && `?${query}`}`);
  return await beginSignIn(context as ProviderContext);
}

async function leadToPage(context: RequestContext): Promise<Answer> {
  const refused = csrfRefusal(context);
  if (refused !== undefined) return refused;
  try {
    const { cookies } = await callbackUrlOf(context);
    return { ...redirectAnswer(`${context.origin.href}${context.mountPath}/signin`), cookies };
  } catch (error) {
    return errorAnswer(error, context);
  }
}

/** @param linkTo The id of the user to whom an account is to be linked, and nothing else done. */
export async function beginSignIn(context: ProviderContext, linkTo?: string): Promise<Answer> {
  const refused = csrfRefusal(context);
  if (refused !== undefined) return refused;
  if (context.provider.type === "email") return await mailLink(context);
  return await keepRedirect(await callCore(context), context, linkTo);
}

/**
 * Lets core mail a link. The mail has a code, too, if the function that sends it asks for one. Core reads the address
 * and the callback URL alone.
 */
async function mailLink(context: ProviderContext): Promise<Answer> {
  const { config: { coreProviders }, provider, body } = context;
  const { sendVerificationRequest, normalizeIdentifier } = coreProviders.get(provider.id) as EmailConfig;
  const { action, mountPath, origin, method, query, headers, cookies } = context;
  const sent = { action, provider, mountPath, origin, method, query, headers, cookies, body };
  const code: MailCode = {};
  let mailed: VerificationMailParams | undefined;
  const answer = await callCore(context, {
    withoutBody: true,
    settings: {
      normalizeIdentifier: () => normalizeIdentifier!(body?.email as string),
      sendVerificationRequest: (params: SendParams) => {
        const url = context.rememberMe === false ? `${params.url}&rememberMe=false` : params.url;
        mailed = withRequestAndCode({ ...params, url }, sent, code);
        return sendVerificationRequest(mailed);
      },
    },
  });
  if (mailed === undefined || answer.error !== undefined) return answer;
  const known = { mailed, ...answer };
  if (code.value === undefined) return known;
  await context.config.otherProcesses?.();
  const { url, expires } = mailed;
  return keepCode(known, { url, expires, code: code.value }, context);
}

interface MailCode {
  value?: string;
}

/** What the getters of a mail's parameters are made from. */
const MADE_FROM = Symbol("fastify-authjs.made-from");

interface Mailed {
  readonly [MADE_FROM]: { readonly sent: Sent; readonly code: MailCode; request?: Request };
}

/** The same getters for each mail: V8 keeps a getter, and all that it leads to, until a full garbage collection. */
const GETTERS: PropertyDescriptorMap & ThisType<Mailed> = {
  request: {
    enumerable: true,
    get() {
      const { sent, request } = this[MADE_FROM];
      return request ?? (this[MADE_FROM].request = requestOf(sent));
    },
  },
  code: {
    enumerable: true,
    get() {
      const { code } = this[MADE_FROM];
      return code.value ??= newCode();
    },
  },
};

function withRequestAndCode({ request: _, ...params }: SendParams, sent: Sent, code: MailCode): VerificationMailParams {
  const mailed = Object.defineProperties({}, { ...GETTERS, [MADE_FROM]: { value: { sent, code } } });
  return Object.assign(mailed, params) as VerificationMailParams;
}
