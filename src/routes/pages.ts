/**
 * The pages: sign-in, sign-out, error and verify-request. Where the configuration names one of the
 * application's own, core redirects there.
 */
import { parseCookie } from "cookie";
import { cookieSettings } from "../config/cookies.ts";
import { type BuiltInPage, ownPageProblem } from "../config/mount_path.ts";
import { type Answer, pageAnswer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";
import { csrfAnswer } from "../core/csrf_answer.ts";
import { errorForCode, isQueryError, type PageError } from "../pages/page_error.ts";
import type { Page } from "../pages/types.ts";

/** Answers with the sign-in page. */
export function handleSignInPage(context: RequestContext): Promise<Answer> {
  const { providers } = context.config.pages;
  const query = new URLSearchParams(context.query);
  const error = query.get("error");
  return answerWithPage("signIn", context, (flow) => ({
    kind: "signIn",
    providers,
    ...flow,
    error: isQueryError(error) ? error : undefined,
    email: query.get("email") ?? undefined,
  }));
}

/** Answers with the page that asks whether to sign out. */
export function handleSignOutPage(context: RequestContext): Promise<Answer> {
  return answerWithPage("signOut", context, (flow) => ({ kind: "signOut", ...flow }));
}

/** Answers with the page that says that a sign-in link was mailed. */
export function handleVerifyRequestPage(context: RequestContext): Promise<Answer> {
  return answerWithPage("verifyRequest", context, () => ({ kind: "verifyRequest" }));
}

/** The statuses of core's error page, but for its 500: showing the page is no server error. */
const STATUSES: Partial<Record<PageError, number>> = { AccessDenied: 403, Verification: 403 };

/** Answers with the error page. */
export function handleErrorPage(context: RequestContext): Promise<Answer> {
  const query = new URLSearchParams(context.query);
  const named = query.get("error");
  const error = errorForCode(named, query.get("code")) ?? (isQueryError(named) ? named : "Default");
  return answerWithPage("error", context, ({ callbackUrl }) => ({ kind: "error", error, callbackUrl }), {
    status: STATUSES[error] ?? 200,
  });
}

/** What forms need to continue the flow. */
interface Flow {
  readonly csrfToken: string | undefined;
  readonly callbackUrl: string | undefined;
}

/**
 * Whether the application has a page of this name. Where the origin follows the request, only now can a URL
 * be told from that of the built-in page.
 */
function hasOwnPage(
  name: BuiltInPage,
  { config: { core: { pages } }, mountPath, origin, warnOnce }: RequestContext,
): boolean {
  if (!pages?.[name]) return false;
  const problem = ownPageProblem(pages, name, mountPath, origin);
  if (problem === undefined) return true;
  warnOnce(`own page ${name}`, problem, "FST_AUTHJS_WARN_PAGE");
  return false;
}

/** Answers with the application's page of this name, else with ours. */
async function answerWithPage(
  name: BuiltInPage,
  context: RequestContext,
  page: (flow: Flow) => Page,
  { status = 200 }: { status?: number } = {},
): Promise<Answer> {
  if (hasOwnPage(name, context)) return await callCore(context);
  // Core's page sets the same cookies as its CSRF token.
  const answer = await csrfAnswer(context);
  if (answer.error !== undefined && name === "error") {
    // The answer leads to this page, and would do so again.
    const shown = page({ csrfToken: undefined, callbackUrl: undefined });
    return { ...pageAnswer(shown, status), error: answer.error };
  }
  if (answer.redirect !== undefined || answer.error !== undefined) return answer;
  const { csrfToken } = (answer.body ?? {}) as { csrfToken?: string };
  const flow = { csrfToken, callbackUrl: callbackUrlOf(answer, context) };
  return { ...pageAnswer(page(flow), status), cookies: answer.cookies };
}

/** The callback URL that the configuration allows: core has put it into its cookie, or it was there. */
function callbackUrlOf({ cookies }: Answer, context: RequestContext): string | undefined {
  const { name } = cookieSettings("callbackUrl", context.config.core, context.origin.secure);
  const url = cookies.find((cookie) => cookie.name === name)?.value ?? parseCookie(context.cookies)[name];
  return url !== undefined && /^(?:\/(?!\/)|https?:\/\/)/i.test(url) ? url : undefined;
}
