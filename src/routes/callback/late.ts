/** A callback that comes too late or once more: what it brings has ended, or is used up. */
import { Verification } from "@auth/core/errors";
import { parseCookie } from "cookie";
import type { Answer } from "../../core/answer.ts";
import type { ProviderContext } from "../../core/context.ts";
import { failureOf } from "../../core/failure.ts";
import { callbackUrlOf } from "../../core/flow.ts";
import type { FailureCode } from "../../pages/page_error.ts";
import { PasskeyExpired } from "../../provider/webauthn/errors.ts";
import { errorChain } from "../../utils/error_chain.ts";
import { keepAgain } from "../failed_form.ts";
import { replyKind } from "../reply.ts";
import { readSignedIn } from "../session_change.ts";

/**
 * The answer of a callback. If it is late and its user is signed in, it leads on to where the sign-in was to lead;
 * otherwise the error page begins the sign-in again. What reads JSON gets the error.
 *
 * @param address What a link was mailed to.
 */
export async function leadOn(answer: Answer, context: ProviderContext, address?: string): Promise<Answer> {
  const { headers, logger, origin, mountPath, provider, settings } = context;
  const { name, options } = settings.callbackUrlCookie;
  const { error } = answer;
  const isKnown = error !== undefined && isLate(error);
  const mayBeLate = isKnown || isRefusedCode(error);
  if (!mayBeLate || replyKind(headers) !== "redirect") return answer;
  try {
    // In a query only that of a mailed link is ours.
    const { query = "" } = provider.type === "email" ? context : {};
    const { callbackUrl: value } = await callbackUrlOf({ ...context, query });
    if (!isKnown || await readSignedIn(context) === undefined) {
      const isNew = value !== (parseCookie(headers.cookie ?? "")[name] ?? origin.href);
      const cookies = isNew ? [...answer.cookies, { name, value, options }] : answer.cookies;
      return keepAgain({ ...answer, cookies }, context, address);
    }
    // That of a callback would lead here again.
    const isCallback = value.startsWith(`${origin.href}${mountPath}/callback/`);
    return { ...answer, redirect: isCallback ? origin.href : value };
  } catch (failure) {
    // The `redirect` callback failed, or the adapter.
    logger.error(failure as Error);
    return answer;
  }
}

function isLate(error: Error): boolean {
  if (error instanceof Verification || error instanceof PasskeyExpired) return true;
  return failureOf(error).code === "sign_in_expired" satisfies FailureCode;
}

/**
 * Whether the token endpoint refused the code (RFC 6749 section 5.2): it is used up, such as by another request with
 * the same callback, or has expired, or belongs to another browser.
 */
function isRefusedCode(error: Error | undefined): boolean {
  return [...errorChain(error)].some((each) => (each as { error?: unknown }).error === "invalid_grant");
}
