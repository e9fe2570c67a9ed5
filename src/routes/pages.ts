/**
 * The pages: sign-in, sign-out, error and verify-request. If the configuration names one of the
 * application's own, core redirects there.
 */
import { type BuiltInPage, ownPageProblem } from "../config/mount_path.ts";
import { type Answer, pageAnswer, redirectAnswer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { errorAnswer } from "../core/failure.ts";
import { type Flow, flowOf } from "../core/flow.ts";
import { errorForCode, isQueryError, type PageError } from "../pages/page_error.ts";
import type { Page } from "../pages/types.ts";
import { keptForm } from "./failed_form.ts";

/** Answers with the sign-in page. */
export async function handleSignInPage(context: RequestContext): Promise<Answer> {
  const { providers } = context.config.pages;
  const query = new URLSearchParams(context.query);
  const error = query.get("error");
  const { form, cookies } = keptForm(context);
  const answer = await answerWithPage("signIn", context, ({ csrfToken, callbackUrl }) => ({
    kind: "signIn",
    providers,
    csrfToken,
    callbackUrl,
    error: isQueryError(error) ? error : undefined,
    email: query.get("email") ?? undefined,
    ...form,
  }));
  return { ...answer, cookies: [...answer.cookies, ...cookies] };
}

/** Answers with the page that asks whether to sign out. */
export function handleSignOutPage(context: RequestContext): Promise<Answer> {
  return answerWithPage("signOut", context, ({ csrfToken, callbackUrl }) => ({
    kind: "signOut",
    csrfToken,
    callbackUrl,
  }));
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

/**
 * Whether the application has a page of this name. If the origin follows the request, only now can a URL
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
  page: (flow: PageFlow) => Page,
  { status = 200 }: { status?: number } = {},
): Promise<Answer> {
  try {
    const flow = await flowOf(context);
    const { callbackUrl, cookies } = flow;
    if (hasOwnPage(name, context)) return { ...redirectAnswer(addressOfOwn(name, flow, context)), cookies };
    const shown = { ...flow, callbackUrl: isAddress(callbackUrl) ? callbackUrl : undefined };
    return { ...pageAnswer(page(shown), status), cookies };
  } catch (thrown) {
    const error = thrown as Error;
    // The answer to an error leads to the error page, and would do so again.
    return name === "error" && !hasOwnPage(name, context)
      ? { ...pageAnswer(page({ csrfToken: undefined, callbackUrl: undefined }), status), error }
      : errorAnswer(error, context);
  }
}

/** What forms need to continue the flow. */
type PageFlow = Pick<Flow, "csrfToken"> & { readonly callbackUrl: string | undefined };

function isAddress(url: string): boolean {
  return /^(?:\/(?!\/)|https?:\/\/)/i.test(url);
}

/** The address of the application's page, with the parameters that core gives it. */
function addressOfOwn(name: BuiltInPage, { callbackUrl }: Flow, { config, query }: RequestContext): string {
  const page = config.core.pages![name]!;
  const error = new URLSearchParams(query).get("error");
  switch (name) {
    case "signIn":
      return withQuery(page, { callbackUrl, ...(error && { error }) });
    case "error":
      return withQuery(page, { error: String(error) });
    case "verifyRequest":
      return query === "" ? page : `${page}?${query}`;
    default:
      return page;
  }
}

function withQuery(page: string, parameters: Record<string, string>): string {
  return `${page}${page.includes("?") ? "&" : "?"}${new URLSearchParams(parameters)}`;
}
