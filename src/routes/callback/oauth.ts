/**
 * The callback of an OAuth or OpenID Connect provider. An invalid one is refused before any request to the
 * provider, and a failed sign-in leaves no check cookie that could be used again.
 */
import { InvalidCheck, OAuthCallbackError, OAuthProfileParseError } from "@auth/core/errors";
import type { Answer } from "../../core/answer.ts";
import { callCore, type CoreCall } from "../../core/call.ts";
import { addressOf, type ProviderContext } from "../../core/context.ts";
import { errorAnswer, errorPage } from "../../core/error_answer.ts";
import { failureOf, SignInExpired } from "../../core/failure.ts";
import { errorIn, type ProviderError, toLoggable } from "../../provider/provider_error.ts";
import { orUnavailable } from "../provider_unavailable.ts";
import {
  type CheckCookie,
  checkCookies,
  checkProblem,
  clearChecks,
  crossSiteCookies,
  openCheck,
  removeChecks,
} from "./check_cookies.ts";
import { checkIssuer, issuerProblem } from "./issuer.ts";
import { handOn } from "./redirect_proxy.ts";

/** What core gets for a provider, for every action. */
export function oauthOverrides({ provider, config }: ProviderContext): CoreCall {
  return provider.formPost ? { cookies: crossSiteCookies(config.core.cookies) } : {};
}

/** Answers the callback. */
export function handleOAuthCallback(
  context: ProviderContext,
  overrides: CoreCall = {},
): Promise<Answer> {
  return orUnavailable(context, (context) => answerCallback(context, overrides));
}

async function answerCallback(context: ProviderContext, given: CoreCall): Promise<Answer> {
  const overrides = { ...oauthOverrides(context), ...given };
  const parameters = parametersOf(context);
  // The check cookies of a sign-in that is under way here are left alone.
  const other = await handOn(context, parameters);
  if (other.answer !== undefined) return other.answer;
  if (other.problem !== undefined) return refuse(other.problem, context);

  const cookies = checkCookies(context, overrides.cookies);
  const problem = await findProblem(context, cookies, parameters);
  return problem === undefined
    ? removeChecks(await finishSignIn(context, overrides, parameters), cookies)
    : clearChecks(refuse(problem.message, context, problem.error), cookies, context);
}

/** Checks the issuer, and has core finish the sign-in. */
async function finishSignIn(
  context: ProviderContext,
  overrides: CoreCall,
  parameters: Parameters,
): Promise<Answer> {
  const { providers, problem, failure } = await checkIssuer(context, parameters.iss);
  if (failure !== undefined) return errorAnswer(failure, context);
  if (problem !== undefined) return refuse(problem, context);
  const answer = await fromCore(context, { ...overrides, ...(providers && { providers }) });
  const { error } = answer;
  if (error === undefined) return answer;
  // Core's errors do not contain what the provider sent.
  const said = authorizationError(context);
  if (error instanceof OAuthCallbackError) error.cause ??= { ...said };
  else if (!parameters.code && (said.error ?? said.error_description) !== undefined) {
    return errorAnswer(new OAuthCallbackError("OAuth Provider returned an error", { cause: said }), context);
  }
  const mismatch = issuerProblem(error, context);
  return mismatch === undefined ? answer : refuse(mismatch, context);
}

/** The answer to a callback that does not belong to this sign-in. */
function refuse(problem: string, context: ProviderContext, Refusal = InvalidCheck): Answer {
  const cause = authorizationError(context);
  const said = [cause.error, cause.error_description].filter(Boolean).join(", ");
  const message = said ? `${problem} It says: ${said}` : problem;
  return errorAnswer(new Refusal(message, { cause }), context);
}

type Parameters = Readonly<Record<string, unknown>>;

/**
 * The error response of the provider, if it is one (RFC 6749 section 4.1.2.1): in the query or in a form,
 * since a provider that cannot read the request does not know which of the two was requested.
 */
function authorizationError({ provider, query, body }: ProviderContext): ProviderError {
  const sent = { ...Object.fromEntries(new URLSearchParams(query)), ...body };
  return { provider: provider.id, ...toLoggable(errorIn(sent), Object.entries(sent)) };
}

/** The parameters that core reads. */
function parametersOf({ provider, query, body }: ProviderContext): Parameters {
  return provider.formPost ? body ?? {} : Object.fromEntries(new URLSearchParams(query));
}

/** Why a callback is refused. */
interface CallbackProblem {
  /** For the log. */
  readonly message: string;
  readonly error: typeof InvalidCheck;
}

/** Why the callback cannot be finished by this browser, checked in core's order. */
async function findProblem(
  context: ProviderContext,
  cookies: readonly CheckCookie[],
  parameters: Parameters,
): Promise<CallbackProblem | undefined> {
  for (const cookie of cookies) {
    const value = await openCheck(cookie, context);
    if (value === undefined) return { message: checkProblem(cookie, context), error: SignInExpired };
    if (cookie.check === "state" && value !== parameters.state) {
      const message = `The callback of "${context.provider.id}" came with the state of another sign-in.`;
      return { message, error: SignInExpired };
    }
  }
  if (parameters.code || parameters.error) return;
  const { error, error_description } = authorizationError(context);
  if ((error ?? error_description) !== undefined) return;
  const message = `The callback of "${context.provider.id}" came without an authorization code.`;
  return { message, error: InvalidCheck };
}

/**
 * Where the profile cannot be read core means to redirect to the sign-in page, but redirects to the callback,
 * as if nothing had failed.
 */
async function fromCore(context: ProviderContext, overrides: CoreCall): Promise<Answer> {
  const answer = await callCore(context, overrides);
  if (answer.redirect !== `${new URL(addressOf(context)).href}/signin`) return answer;
  const { logged: error = new OAuthProfileParseError(`"${context.provider.id}" gave no data of the user`) } =
    answer;
  return { ...answer, error, redirect: errorPage("signIn", { error: failureOf(error).error }, context) };
}
