/**
 * The pages: sign-in, sign-out, error and verify-request. If the configuration names one of the
 * application's own, core redirects there.
 */
import { type BuiltInPage, ownPageProblem } from "../config/mount_path.ts";
import { type Answer, pageAnswer, redirectAnswer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import type { SignedIn } from "../session/open.ts";
import { errorAnswer } from "../core/failure.ts";
import { callbackUrlOf, type Flow, flowOf } from "../core/flow.ts";
import { CODE_ERRORS, errorForCode, isQueryError, type PageError } from "../pages/page_error.ts";
import type { Page } from "../pages/types.ts";
import { mailWithCode } from "./callback/email_code.ts";
import { isOffer } from "./callback/passkey_offer.ts";
import { keptForm } from "./failed_form.ts";
import { STEP_UP_PARAMETERS } from "./query.ts";
import { readSignedIn, withoutEndedSession } from "./session_change.ts";

/**
 * Answers with the sign-in page. A user who is signed in gets one to go on, or, if a guard asks for it, to sign in
 * once more.
 */
export async function handleSignInPage(context: RequestContext): Promise<Answer> {
  const { form: { asked, ...form }, cookies } = keptForm(context);
  const error = new URLSearchParams(context.query).get("error");
  const query = new URLSearchParams(asked ?? context.query);
  const asksAnew = query.get("prompt") === "login";
  const user = error === null || asksAnew ? await userOf(context) : undefined;
  const stepsUp = user !== undefined && asksAnew;
  const marks = Object.assign({}, ...context.auth.hooks.map((hooks) => hooks.onSignInPage?.(context)));
  const answer = await answerWithPage("signIn", context, ({ csrfToken, callbackUrl }) => {
    const name = user?.name ?? user?.email ?? undefined;
    const passkeys = providersOf(context, undefined).find(({ type }) => type === "webauthn");
    if (user !== undefined && passkeys !== undefined && isOffer(context)) {
      return { kind: "addPasskey", provider: passkeys, csrfToken, callbackUrl };
    }
    if (user !== undefined && !stepsUp) {
      const returnUrl = withQuery(
        `${context.mountPath}/signin`,
        callbackUrl === undefined ? {} : { callbackUrl },
      );
      return { kind: "signedIn", csrfToken, callbackUrl, returnUrl, name };
    }
    return {
      kind: stepsUp ? "stepUp" : "signIn",
      providers: providersOf(context, stepsUp ? query : undefined),
      csrfToken,
      callbackUrl,
      error: isQueryError(error) && (!stepsUp || asked !== undefined) ? error : undefined,
      email: query.get("email") ?? (stepsUp ? user.email : undefined) ?? undefined,
      ...(stepsUp && {
        name,
        authorization: only(STEP_UP_PARAMETERS, query),
        asked: only([...STEP_UP_PARAMETERS, "ways"], query),
      }),
      ...form,
      ...marks,
    };
  });
  return { ...answer, cookies: [...answer.cookies, ...cookies] };
}

/** The user of the session, without callbacks, which could fail; `undefined` also if that is unknown. */
async function userOf(context: RequestContext): Promise<SignedIn | undefined> {
  if (context.held.token === "") return undefined;
  return await withoutEndedSession(context).then(readSignedIn).catch(() => undefined);
}

/** The providers to choose from; to step up, those that count. */
function providersOf({ config }: RequestContext, query: URLSearchParams | undefined) {
  const { providers } = config.pages;
  const ids = query?.get("ways")?.split(" ");
  return ids === undefined ? providers : providers.filter(({ id }) => ids.includes(id));
}

function only(names: readonly string[], query: URLSearchParams): string {
  return String(new URLSearchParams([...query].filter(([name]) => names.includes(name))));
}

/**
 * Answers with the page that asks whether to sign out, which leads back here, or to an address that the query
 * names: what was shown before may need a session.
 */
export function handleSignOutPage(context: RequestContext): Promise<Answer> {
  const { held, mountPath, query } = context;
  const parameters = new URLSearchParams(query);
  return answerWithPage("signOut", context, ({ csrfToken, callbackUrl }) => {
    if (parameters.has("done") && held.token === "") return { kind: "signedOut" };
    const asked = parameters.has("callbackUrl") ? callbackUrl : undefined;
    return { kind: "signOut", csrfToken, callbackUrl, returnUrl: asked ?? `${mountPath}/signout?done=1` };
  });
}

/** Answers with the page that says that a sign-in link was mailed, and takes the code of the mail. */
export function handleVerifyRequestPage(context: RequestContext): Promise<Answer> {
  const named = new URLSearchParams(context.query).get("error");
  const error = CODE_ERRORS.find((each) => each === named);
  const mailed = error === "EmailCodeSpent" ? undefined : mailWithCode(context);
  return answerWithPage("verifyRequest", context, ({ csrfToken }) => ({
    kind: "verifyRequest",
    error,
    csrfToken,
    action: mailed && `${context.mountPath}/callback/${mailed.provider}`,
  }));
}

/** The statuses of core's error page, but for its 500: showing the page is no server error. */
const STATUSES: Partial<Record<PageError, number>> = { AccessDenied: 403, Verification: 403 };

/** Answers with the error page. A sign-in that came back too late begins there again. */
export async function handleErrorPage(context: RequestContext): Promise<Answer> {
  const query = new URLSearchParams(context.query);
  const named = query.get("error");
  const error = errorForCode(named, query.get("code")) ?? (isQueryError(named) ? named : "Default");
  const { form: { failed, identifier }, cookies } = keptForm(context, true);
  const again = context.config.pages.providers.find(({ id }) => id === failed);
  // Another request with the same callback has signed in.
  const isDone = again !== undefined && await userOf(context) !== undefined;
  const page = ({ csrfToken, callbackUrl }: PageFlow): Page => ({
    kind: "error",
    error,
    callbackUrl,
    ...(again && { again, failed, csrfToken, email: identifier }),
  });
  const answer = isDone
    ? await callbackUrlOf(context).then(
      ({ callbackUrl }) => redirectAnswer(callbackUrl),
      (error) => errorAnswer(error, context),
    )
    : await answerWithPage("error", context, page, { status: STATUSES[error] ?? 200 });
  return { ...answer, cookies: [...answer.cookies, ...cookies] };
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
    return { ...pageAnswer({ ...page(shown), menuQuery: menuQuery(context.query) }, status), cookies };
  } catch (thrown) {
    const error = thrown as Error;
    // The answer to an error leads to the error page, and would do so again.
    return name === "error" && !hasOwnPage(name, context)
      ? { ...pageAnswer(page({ csrfToken: undefined, callbackUrl: undefined }), status), error }
      : errorAnswer(error, context);
  }
}

/** A page with a longer query has no menu: each link repeats it. */
const LONGEST_QUERY = 1000;

/** What a link to the page in another language has before that. */
function menuQuery(query: string): string | undefined {
  if (query.length > LONGEST_QUERY) return undefined;
  return query === "" ? "?" : `?${query}&`;
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
