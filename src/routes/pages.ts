/**
 * The pages: sign-in, sign-out, error and verify-request, or a redirect to the application's own; and what clients read
 * to show theirs: the CSRF token and the list of the providers.
 */
import { type BuiltInPage, ownPageProblem } from "../config/mount_path.ts";
import { type Answer, jsonAnswer, pageAnswer, redirectAnswer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { errorAnswer } from "../core/failure.ts";
import { callbackUrlOf, flowOf } from "../core/flow.ts";
import { withQuery } from "../http/callback_url.ts";
import { CODE_ERRORS, errorForCode, isQueryError, type PageError } from "../pages/page_error.ts";
import type { Page } from "../pages/types.ts";
import type { SignedIn } from "../session/open.ts";
import { mailWithCode } from "./callback/email_code.ts";
import { keptForm } from "./failed_form.ts";
import { STEP_UP_PARAMETERS } from "./query.ts";
import { readSignedIn, withoutEndedSession } from "./session_change.ts";

/** Core's, beside the `Cache-Control` that all auth replies have: for caches that do not know that. */
export const UNCACHED = { expires: "0", pragma: "no-cache" };

export async function csrfAnswer(context: RequestContext): Promise<Answer> {
  try {
    const { csrfToken, cookies } = await flowOf(context);
    if (csrfToken === undefined) {
      context.logger.warn("csrf-disabled");
      return { status: 404, headers: {}, cookies };
    }
    const answer = jsonAnswer({ csrfToken });
    return { ...answer, headers: { ...answer.headers, ...UNCACHED }, cookies };
  } catch (error) {
    return errorAnswer(error, context);
  }
}

export function handleProviders({ config, origin, mountPath }: RequestContext): Promise<Answer> {
  const base = `${origin.href}${mountPath}`;
  const list = [...config.providers.values()].map(({ id, name, type }) => {
    return [id, { id, name, type, signinUrl: `${base}/signin/${id}`, callbackUrl: `${base}/callback/${id}` }];
  });
  return Promise.resolve(jsonAnswer(Object.fromEntries(list)));
}

/**
 * Answers with the sign-in page. A user who is signed in gets one to go on, or, if a guard asks for it, to sign in once
 * more; or to add a passkey, which a callback offers.
 */
export async function handleSignInPage(context: RequestContext): Promise<Answer> {
  const { form: { asked, ...form }, cookies } = keptForm(context);
  const { config: { pages: { providers, passkeyOffer } }, mountPath } = context;
  const sent = new URLSearchParams(context.query);
  const error = sent.get("error");
  const query = asked === undefined ? sent : new URLSearchParams(asked);
  const asksAnew = query.get("prompt") === "login";
  const user = error === null || asksAnew ? await userOf(context) : undefined;
  const name = user?.name ?? user?.email ?? undefined;
  const marks = Object.assign({}, ...context.auth.hooks.map((hooks) => hooks.onSignInPage?.(context)));
  const offered = passkeyOffer && sent.get("offer") === "passkey"
    ? providers.find(({ type }) => type === "webauthn")
    : undefined;
  const answer = await answerWithPage("signIn", context, ({ csrfToken, callbackUrl }) => {
    const shared = { csrfToken, callbackUrl, name };
    if (user && offered) return { kind: "addPasskey", provider: offered, csrfToken, callbackUrl };
    if (user && !asksAnew) {
      return { kind: "signedIn", ...shared, returnUrl: withQuery(`${mountPath}/signin`, { callbackUrl }) };
    }
    const isShown = isQueryError(error) && (!user || asked !== undefined);
    const page = { ...shared, error: isShown ? error : undefined, ...form, ...marks };
    const email = query.get("email") ?? undefined;
    if (!user) return { kind: "signIn", providers, email, ...page };
    // Those that count.
    const ways = query.get("ways")?.split(" ");
    return {
      kind: "signInAgain",
      providers: ways === undefined ? providers : providers.filter(({ id }) => ways.includes(id)),
      email: email ?? user.email ?? undefined,
      authorization: only(STEP_UP_PARAMETERS, query),
      asked: only([...STEP_UP_PARAMETERS, "ways"], query),
      ...page,
    };
  });
  return { ...answer, cookies: [...answer.cookies, ...cookies] };
}

/** Without callbacks, which could fail; `undefined` also if that is unknown. */
async function userOf(context: RequestContext): Promise<SignedIn | undefined> {
  if (context.held.token === "") return undefined;
  return await withoutEndedSession(context).then(readSignedIn).catch(() => undefined);
}

function only(names: readonly string[], query: URLSearchParams): string {
  return String(new URLSearchParams([...query].filter(([name]) => names.includes(name))));
}

/**
 * Answers with the page that asks whether to sign out, which leads back here, or to an address that the query names:
 * what was shown before may need a session.
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
  const action = mailed && `${context.mountPath}/callback/${mailed.provider}`;
  const page = ({ csrfToken }: { csrfToken: string | undefined }) =>
    ({ kind: "verifyRequest", error, csrfToken, action }) as const;
  return answerWithPage("verifyRequest", context, page);
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
  const answer = isDone
    ? await callbackUrlOf(context).then(
      ({ callbackUrl }) => redirectAnswer(callbackUrl),
      (error) => errorAnswer(error, context),
    )
    : await answerWithPage("error", context, ({ csrfToken, callbackUrl }) => ({
      kind: "error",
      error,
      callbackUrl,
      ...(again && { again, failed, csrfToken, email: identifier }),
    }), STATUSES[error]);
  return { ...answer, cookies: [...answer.cookies, ...cookies] };
}

/**
 * Whether the application has a page of this name. If the origin follows the request, only now can a URL be told from
 * that of the built-in page.
 */
function hasOwnPage(name: BuiltInPage, { config, mountPath, origin, logger }: RequestContext): boolean {
  const { pages } = config.core;
  if (!pages?.[name]) return false;
  const problem = ownPageProblem(pages, name, mountPath, origin);
  if (problem !== undefined) logger.warnOnce(`own page ${name}`, problem, "FST_AUTHJS_WARN_PAGE");
  return problem === undefined;
}

/** A page with a longer query has no menu: each link repeats it. */
const LONGEST_QUERY = 1000;

async function answerWithPage(
  name: BuiltInPage,
  context: RequestContext,
  page: (flow: { csrfToken: string | undefined; callbackUrl: string | undefined }) => Page,
  status = 200,
): Promise<Answer> {
  try {
    const { csrfToken, callbackUrl, cookies } = await flowOf(context);
    if (hasOwnPage(name, context)) return { ...redirectAnswer(ownPage(name, callbackUrl, context)), cookies };
    const isAddress = /^(?:\/(?!\/)|https?:\/\/)/i.test(callbackUrl);
    const shown = page({ csrfToken, callbackUrl: isAddress ? callbackUrl : undefined });
    const { query } = context;
    // What a link to the page in another language has before that.
    const menuQuery = query.length > LONGEST_QUERY ? undefined : query === "" ? "?" : `?${query}&`;
    return { ...pageAnswer({ ...shown, menuQuery }, status), cookies };
  } catch (thrown) {
    const error = thrown as Error;
    // The answer to an error leads to the error page, and would do so again.
    return name === "error" && !hasOwnPage(name, context)
      ? { ...pageAnswer(page({ csrfToken: undefined, callbackUrl: undefined }), status), error }
      : errorAnswer(error, context);
  }
}

function ownPage(name: BuiltInPage, callbackUrl: string, { config, query }: RequestContext): string {
  const page = config.core.pages![name]!;
  const sent = new URLSearchParams(query);
  const error = sent.get("error");
  if (name === "signIn") return withQuery(page, { callbackUrl, error: error || undefined });
  if (name === "error") return withQuery(page, { error: String(error), code: sent.get("code") || undefined });
  return name === "verifyRequest" && query ? withQuery(page, Object.fromEntries(sent)) : page;
}
