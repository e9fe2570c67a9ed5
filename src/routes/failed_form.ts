/**
 * A form that failed, or a callback that came too late: the page that says so shows the form again, with what was typed
 * to say who signs in. A cookie carries that to the page, since addresses are logged.
 */
import { Verification } from "@auth/core/errors";
import { parseCookie } from "cookie";
import { type Answer, pageAnswer } from "../core/answer.ts";
import type { ProviderContext, RequestContext } from "../core/context.ts";
import { failureOf } from "../core/failure.ts";
import { callbackUrlOf, flowOf } from "../core/flow.ts";
import { removalOf, type SetCookie } from "../http/set_cookie.ts";
import { isIdentifier } from "../pages/labels.ts";
import type { FailureCode } from "../pages/page_error.ts";
import type { SignInPage } from "../pages/types.ts";
import { PasskeyExpired } from "../provider/webauthn/errors.ts";
import { parseJsonObject } from "../utils/decode.ts";
import { errorChain } from "../utils/error_chain.ts";
import { codeIn } from "./callback/email_code.ts";
import { replyKind } from "./reply.ts";
import { readSignedIn } from "./session_change.ts";

type FailedForm = Pick<SignInPage, "failed" | "identifier" | "rememberMe" | "asked" | "wait">;

const COOKIE = { name: "form" };

/** Seconds: long enough for a redirect, or a page with an error in between. */
const MAX_AGE = 300;

/** Seconds: a year. A forged cookie may have any number, also an infinite one. */
const LONGEST_WAIT = 365 * 24 * 60 * 60;

/** Characters of an address of a mail (RFC 5321 section 4.5.3.1), and of the query of "Confirm it's you". */
const LONGEST_IDENTIFIER = 320, LONGEST_STEP_UP = 1000;

export async function keepForm(answer: Answer, context: RequestContext): Promise<Answer> {
  const { error, redirect, cookies } = answer;
  const { config, settings, method, fromApplication, headers } = context;
  if (error === undefined || redirect === undefined || method !== "POST" || fromApplication) return answer;
  if (config.core.pages?.signIn !== undefined || await replyKind(headers) !== "redirect") return answer;
  const isKept = cookies.some(({ name }) => name === settings.ownCookie(COOKIE).name);
  if (isKept || codeIn(context) !== undefined) return answer;
  const form = formOf(context);
  if (form.failed === undefined) return answer;
  const seconds = Number(failureOf(error).retryAfter);
  return keep({ ends: seconds > 0 ? Date.now() + seconds * 1000 : undefined, ...form }, answer, context);
}

function keep(form: object, answer: Answer, context: RequestContext): Answer {
  const { name, options } = context.settings.ownCookie(COOKIE);
  const cookie = { name, value: JSON.stringify(form), options: { maxAge: MAX_AGE, ...options } };
  return { ...answer, cookies: [...answer.cookies, cookie] };
}

/** The form to show, with `again` only that of a late callback, and the removal of its cookie. */
export function keptForm(context: RequestContext, again = false): { form: FailedForm; cookies: readonly SetCookie[] } {
  const { name, options } = context.settings.ownCookie(COOKIE);
  const held = parseJsonObject(parseCookie(context.cookies)[name] ?? "");
  if (held === undefined || (again && held.again !== true)) return { form: {}, cookies: [] };
  const { failed, identifier, rememberMe, asked, ends } = held;
  const wait = typeof ends === "number" ? Math.ceil((ends - Date.now()) / 1000) : 0;
  return {
    form: {
      failed: context.config.providers.get(failed as string)?.id,
      identifier: textOf(identifier),
      rememberMe: rememberMe === "false" ? rememberMe : undefined,
      asked: textOf(asked),
      wait: wait > 0 && wait <= LONGEST_WAIT ? wait : undefined,
    },
    cookies: [removalOf(name, options)],
  };
}

function textOf(value: unknown, longest?: number): string | undefined {
  return typeof value === "string" ? value.slice(0, longest) : undefined;
}

export async function tooManyAnswer(context: RequestContext, wait: number): Promise<Answer> {
  const { cookies, ...flow } = await flowOf(context);
  const { providers } = context.config.pages;
  const form = { failed: context.provider?.id, ...formOf(context), wait };
  const page = { kind: "signIn", providers, ...flow, error: "TooManyRequests", ...form } as const;
  return { ...pageAnswer(page, 429), cookies };
}

function formOf({ config, provider, body = {} }: RequestContext): FailedForm {
  const view = config.pages.providers.find(({ id }) => id === provider?.id);
  if (view?.type !== "credentials" && view?.type !== "email") return {};
  const field = view.fields.find(isIdentifier);
  return {
    failed: view.id,
    identifier: field && textOf(body[field.name], LONGEST_IDENTIFIER),
    rememberMe: body.rememberMe === "false" ? "false" : undefined,
    asked: textOf(body.asked, LONGEST_STEP_UP),
  };
}

/**
 * The answer of a callback. If it came too late, or once more, and its user is signed in, it leads on to where the
 * sign-in was to lead; otherwise the error page begins the sign-in again. The next sign-in leads there, too, whatever
 * failed. What reads JSON gets the error.
 * @param address What a link was mailed to.
 */
export async function leadOn(answer: Answer, context: ProviderContext, address?: string): Promise<Answer> {
  const { headers, logger, origin, mountPath, provider, settings, config } = context;
  const { name, options } = settings.callbackUrlCookie;
  const { error } = answer;
  if (error === undefined || await replyKind(headers) !== "redirect") return answer;
  const sent = parseCookie(headers.cookie ?? "")[name] ?? origin.href;
  const leadingTo = (value = sent) =>
    value === sent ? answer : { ...answer, cookies: [...answer.cookies, { name, value, options }] };
  const isLate = error instanceof Verification || error instanceof PasskeyExpired ||
    failureOf(error).code === "sign_in_expired" satisfies FailureCode;
  // Another tab may have begun a sign-in that leads elsewhere.
  if (!isLate && !isRefusedCode(error)) return leadingTo(parseCookie(context.cookies)[name]);
  try {
    // In a query only that of a mailed link is ours.
    const { query = "" } = provider.type === "email" ? context : {};
    const { callbackUrl: value } = await callbackUrlOf({ ...context, query });
    if (isLate && await readSignedIn(context) !== undefined) {
      // That of a callback would lead here again.
      const isCallback = value.startsWith(`${origin.href}${mountPath}/callback/`);
      return { ...answer, redirect: isCallback ? origin.href : value };
    }
    const leading = leadingTo(value);
    if (config.core.pages?.error !== undefined) return leading;
    const form = { failed: provider.id, identifier: textOf(address, LONGEST_IDENTIFIER), again: true };
    return keep(form, leading, context);
  } catch (failure) {
    // The `redirect` callback failed, or the adapter.
    logger.error(failure as Error);
    return answer;
  }
}

/**
 * Whether the token endpoint refused the code (RFC 6749 section 5.2): it is used up, such as by another request with
 * the same callback, or has expired, or belongs to another browser.
 */
function isRefusedCode(error: Error): boolean {
  return errorChain(error).some((each) => (each as { error?: unknown }).error === "invalid_grant");
}
