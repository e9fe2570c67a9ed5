/**
 * A form that failed, or a sign-in that came back too late: the page that says so shows the form again, with what was
 * typed to say who signs in. The redirect to the page carries that in a cookie, since addresses are logged.
 */
import { parseCookie } from "cookie";
import { cookieSettings } from "../config/cookies.ts";
import { type Answer, pageAnswer } from "../core/answer.ts";
import type { ProviderContext, RequestContext } from "../core/context.ts";
import { failureOf } from "../core/failure.ts";
import { flowOf } from "../core/flow.ts";
import { removalOf, type SetCookie } from "../http/set_cookie.ts";
import { isIdentifier } from "../pages/labels.ts";
import { parseJsonObject } from "../utils/decode.ts";
import { codeIn } from "./callback/email_code.ts";
import { replyKind } from "./reply.ts";

/** What the page is shown with. */
interface FailedForm {
  /** The id of its provider. */
  readonly failed?: string | undefined;
  readonly identifier?: string | undefined;
  readonly rememberMe?: "false" | undefined;
  /** What "Confirm it's you" was asked for with. */
  readonly asked?: string | undefined;
  /** In seconds. */
  readonly wait?: number | undefined;
}

/** Seconds: long enough for a redirect, or a page with an error in between. */
const MAX_AGE = 300;

/** An address of a mail is no longer (RFC 5321 section 4.5.3.1). */
const LONGEST_IDENTIFIER = 320;

/** The answer to a form that failed, with the cookie for the page that it leads to. */
export function keepForm(answer: Answer, context: RequestContext): Answer {
  const { error, redirect } = answer;
  const { config, method, fromApplication } = context;
  const isShown = redirect !== undefined && method === "POST" && !fromApplication &&
    config.core.pages?.signIn === undefined && replyKind(context.headers) === "redirect";
  const isKept = answer.cookies.some(({ name }) => name === cookieOf(context).name);
  const form = error !== undefined && isShown && !isKept && codeIn(context) === undefined
    ? formOf(context)
    : {};
  if (form.failed === undefined) return answer;
  const seconds = Number(failureOf(error!).retryAfter);
  const ends = seconds > 0 ? Date.now() + seconds * 1000 : undefined;
  return keep({ ...form, ends }, answer, context);
}

/** The answer to a sign-in that came back too late, whose form is to be on the error page. */
export function keepAgain(answer: Answer, context: ProviderContext, address: string | undefined): Answer {
  if (context.config.core.pages?.error !== undefined) return answer;
  const identifier = address?.slice(0, LONGEST_IDENTIFIER);
  return keep({ failed: context.provider.id, identifier, again: true }, answer, context);
}

function keep(form: object, answer: Answer, context: RequestContext): Answer {
  const { name, options } = cookieOf(context);
  const cookie = { name, value: JSON.stringify(form), options: { ...options, maxAge: MAX_AGE } };
  return { ...answer, cookies: [...answer.cookies, cookie] };
}

/**
 * The form to show, if there is one, and the removal of its cookie.
 *
 * @param again Whether only that of a sign-in which came back too late is.
 */
export function keptForm(
  context: RequestContext,
  again = false,
): { form: FailedForm; cookies: readonly SetCookie[] } {
  const { name, options } = cookieOf(context);
  const held = parseJsonObject(parseCookie(context.cookies)[name] ?? "");
  if (held === undefined || (again && held.again !== true)) return { form: {}, cookies: [] };
  const { failed, identifier, rememberMe, asked, ends } = held;
  const wait = typeof ends === "number" ? Math.ceil((ends - Date.now()) / 1000) : 0;
  return {
    form: {
      failed: typeof failed === "string" ? failed : undefined,
      identifier: typeof identifier === "string" ? identifier : undefined,
      rememberMe: rememberMe === "false" ? rememberMe : undefined,
      asked: typeof asked === "string" ? asked : undefined,
      wait: wait > 0 ? wait : undefined,
    },
    cookies: [removalOf(name, options)],
  };
}

/** The sign-in page for a form that was sent too often. */
export async function tooManyAnswer(context: RequestContext, wait: number): Promise<Answer> {
  const { csrfToken, callbackUrl, cookies } = await flowOf(context);
  const { providers } = context.config.pages;
  const form = { failed: context.provider?.id, ...formOf(context), wait };
  const error = "TooManyRequests";
  return {
    ...pageAnswer({ kind: "signIn", providers, csrfToken, callbackUrl, error, ...form }, 429),
    cookies,
  };
}

/** Characters of the query of "Confirm it's you". */
const LONGEST_STEP_UP = 1000;

/** What the form of a password or of a mail was sent with. */
function formOf({ config, provider, body }: RequestContext): FailedForm {
  const view = config.pages.providers.find(({ id }) => id === provider?.id);
  if (view?.type !== "credentials" && view?.type !== "email") return {};
  const field = view.fields.find(isIdentifier);
  const sent = field && body?.[field.name];
  const identifier = typeof sent === "string" ? sent.slice(0, LONGEST_IDENTIFIER) : undefined;
  const { rememberMe, asked } = body ?? {};
  return {
    failed: view.id,
    identifier,
    rememberMe: rememberMe === "false" ? rememberMe : undefined,
    asked: typeof asked === "string" ? asked.slice(0, LONGEST_STEP_UP) : undefined,
  };
}

function cookieOf({ config, origin }: RequestContext) {
  return cookieSettings({ name: "form" }, config.core, origin.secure);
}
