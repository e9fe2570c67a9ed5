/**
 * The callback of an OAuth or OpenID Connect provider: what cannot succeed is refused before a request leaves, and a
 * failed sign-in leaves no check cookie behind that could be used once more.
 *
 * @module
 */
import { InvalidCheck, OAuthCallbackError } from "@auth/core/errors";
import type { Answer } from "../../core/answer.ts";
import { callCore, type CoreOverrides } from "../../core/auth.ts";
import { addressOf, type ProviderContext } from "../../core/context.ts";
import { errorAnswer, errorPage } from "../../core/error_answer.ts";
import { errorIn, type ProviderError, toLoggable } from "../../provider/provider_error.ts";
import { orUnavailable } from "../provider_silence.ts";
import {
  type CheckCookie,
  checkCookies,
  clearChecks,
  crossSiteCookies,
  openCheck,
  strayCheck,
} from "./check_cookies.ts";
import { checkIssuer, issuerProblem } from "./issuer.ts";

/** What core is given for a provider, whatever the action. */
export function oauthOverrides({ provider, config }: ProviderContext): CoreOverrides {
  return provider.formPost ? { cookies: crossSiteCookies(config.core.cookies) } : {};
}

/** Answers the callback. */
export function handleOAuthCallback(context: ProviderContext): Promise<Answer> {
  return orUnavailable(context, answerCallback);
}

async function answerCallback(context: ProviderContext): Promise<Answer> {
  const overrides = oauthOverrides(context);
  const parameters = parametersOf(context);
  const cookies = checkCookies(context, overrides.cookies);

  const problem = await findProblem(context, cookies, parameters);
  if (problem === undefined) {
    return clearChecks(await finishSignIn(context, overrides, parameters), cookies, context);
  }
  if (mayBelongElsewhere(context, parameters)) {
    const answer = await fromCore(context, overrides);
    return leadsElsewhere(answer, context) ? answer : clearChecks(answer, cookies, context);
  }
  return clearChecks(refuse(problem, context), cookies, context);
}

/** Has core finish the sign-in, if the answer is from the provider itself. */
async function finishSignIn(
  context: ProviderContext,
  overrides: CoreOverrides,
  parameters: Parameters,
): Promise<Answer> {
  const { providers, problem, failure } = await checkIssuer(context, parameters.iss);
  if (failure !== undefined) return errorAnswer(failure, context);
  if (problem !== undefined) return refuse(problem, context);
  const answer = await fromCore(context, { ...overrides, ...(providers && { providers }) });
  const { error } = answer;
  if (error === undefined) return answer;
  // Core says of none of these what the provider said.
  const said = authorizationError(context);
  if (error instanceof OAuthCallbackError) error.cause ??= { ...said };
  else if (!parameters.code && (said.error ?? said.error_description) !== undefined) {
    return errorAnswer(new OAuthCallbackError("OAuth Provider returned an error", { cause: said }), context);
  }
  const mismatch = issuerProblem(error, context);
  return mismatch === undefined ? answer : refuse(mismatch, context);
}

/** Refuses a callback that is none of this browser's sign-in with this provider. */
function refuse(problem: string, context: ProviderContext): Answer {
  const cause = authorizationError(context);
  const said = [cause.error, cause.error_description].filter(Boolean).join(", ");
  const message = said ? `${problem} It says: ${said}` : problem;
  return errorAnswer(new InvalidCheck(message, { cause }), context);
}

type Parameters = Readonly<Record<string, unknown>>;

/**
 * The error, if any, that the provider sent the browser back with (RFC 6749 section 4.1.2.1): in the query or in a form,
 * since a provider that cannot read a request does not know which of the two was asked for.
 */
function authorizationError({ provider, query, body }: ProviderContext): ProviderError {
  const sent = { ...Object.fromEntries(new URLSearchParams(query)), ...body };
  return { provider: provider.id, ...toLoggable(errorIn(sent), Object.entries(sent)) };
}

/** The parameters where core looks for them. */
function parametersOf({ provider, query, body }: ProviderContext): Parameters {
  return provider.formPost ? body ?? {} : Object.fromEntries(new URLSearchParams(query));
}

/** On a redirect proxy the state says whose callback it is; core opens it and sends the browser on. */
function mayBelongElsewhere(
  { provider: { redirectProxyUrl }, origin }: ProviderContext,
  { state }: Parameters,
): boolean {
  return state !== undefined && redirectProxyUrl !== undefined && URL.canParse(redirectProxyUrl) &&
    new URL(redirectProxyUrl).origin === origin.href;
}

function leadsElsewhere({ redirect = "" }: Answer, { origin }: ProviderContext): boolean {
  return URL.canParse(redirect) && new URL(redirect).origin !== origin.href;
}

/** Why the callback is none that this browser may finish, in the order in which core would find out. */
async function findProblem(
  context: ProviderContext,
  cookies: readonly CheckCookie[],
  parameters: Parameters,
): Promise<string | undefined> {
  for (const cookie of cookies) {
    const value = await openCheck(cookie, context);
    if (value === undefined) return strayCheck(cookie, context);
    if (cookie.check === "state" && value !== parameters.state) {
      return `The callback of "${context.provider.id}" came with the state of another sign-in.`;
    }
  }
}

/** Where the profile cannot be read core means to lead to the sign-in page, and leads to the callback once more. */
async function fromCore(context: ProviderContext, overrides: CoreOverrides): Promise<Answer> {
  const answer = await callCore(context, overrides);
  if (answer.redirect !== `${new URL(addressOf(context)).href}/signin`) return answer;
  const { type } = OAuthCallbackError;
  return { ...answer, redirect: errorPage("signIn", { error: type }, context) };
}
