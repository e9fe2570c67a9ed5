/**
 * The callback of an OAuth or OpenID Connect provider. An invalid one is refused before any request to the
 * provider.
 */
import { InvalidCheck, OAuthCallbackError } from "@auth/core/errors";
import type { Answer } from "../../core/answer.ts";
import { callCore, type CoreCall } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { errorAnswer, type Failure } from "../../core/failure.ts";
import type { FailureCode } from "../../pages/page_error.ts";
import { errorIn, type ProviderError, toLoggable } from "../../provider/provider_error.ts";
import { orUnavailable } from "../provider_unavailable.ts";
import type { Attempt } from "./attempts.ts";
import { checkIssuer, issuerProblem } from "./issuer.ts";
import { handOn } from "./redirect_proxy.ts";

/**
 * The callback is of no sign-in under way in this browser: it took too long, for example. To core that is a
 * mistake in the configuration.
 */
class SignInExpired extends InvalidCheck {
  static override readonly type = InvalidCheck.type;
  readonly told: Partial<Failure> = { status: 401, code: "sign_in_expired" satisfies FailureCode };
}

/** The `state` of a callback. */
export function stateOf(context: ProviderContext): string | undefined {
  const { state } = parametersOf(context);
  return typeof state === "string" ? state : undefined;
}

/** Answers the callback of an attempt; of none, if its `state` leads to none. */
export async function handleOAuthCallback(
  context: ProviderContext,
  attempt: Attempt | undefined,
  overrides: CoreCall = {},
): Promise<Answer> {
  return orUnavailable(await answerCallback(context, attempt, overrides), context);
}

async function answerCallback(
  received: ProviderContext,
  attempt: Attempt | undefined,
  overrides: CoreCall,
): Promise<Answer> {
  const other = await handOn(received, parametersOf(received));
  if (other.answer !== undefined) return other.answer;
  if (other.problem !== undefined) return refuse(other.problem, received);
  const state = received.provider.checks.includes("state") ? stateOf(received) : undefined;
  const context = state === undefined ? withoutState(received) : received;
  const parameters = parametersOf(context);
  const problem = findProblem(context, attempt, parameters);
  if (problem !== undefined) return refuse(problem.message, context, problem.error);
  const checks = { state, pkce: attempt?.pkce, nonce: attempt?.nonce };
  return await finishSignIn(context, { ...overrides, checks }, parameters);
}

/** The callback as core gets it, if the `state` is the name of an attempt and no check. */
function withoutState(context: ProviderContext): ProviderContext {
  const query = new URLSearchParams(context.query);
  query.delete("state");
  const { state: _, ...body } = context.body ?? {};
  return { ...context, query: query.toString(), body: context.body && body };
}

/** Checks the issuer, and has core finish the sign-in. */
async function finishSignIn(
  context: ProviderContext,
  overrides: CoreCall,
  parameters: Parameters,
): Promise<Answer> {
  const { issuer, problem, failure } = await checkIssuer(context, parameters.iss);
  if (failure !== undefined) return errorAnswer(failure, context);
  if (problem !== undefined) return refuse(problem, context);
  const answer = await callCore(context, { ...overrides, issuer });
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
function findProblem(
  context: ProviderContext,
  attempt: Attempt | undefined,
  parameters: Parameters,
): CallbackProblem | undefined {
  const check = missingCheck(context, attempt);
  if (check !== undefined) return { message: noAttempt(check, context), error: SignInExpired };
  if (parameters.code || parameters.error) return;
  const { error, error_description } = authorizationError(context);
  if ((error ?? error_description) !== undefined) return;
  const message = `The callback of "${context.provider.id}" came without an authorization code.`;
  return { message, error: InvalidCheck };
}

/** The first check that the attempt has nothing for. */
function missingCheck({ provider: { id, checks } }: ProviderContext, attempt?: Attempt): string | undefined {
  if (attempt !== undefined && attempt.provider !== id) return "state";
  const kept = { ...attempt, state: attempt?.digest };
  return (["state", "pkce", "nonce"] as const).find((each) =>
    checks.includes(each) && kept[each] === undefined
  );
}

/** The message for the log if a callback leads to no attempt. */
export function noAttempt(check: string, { provider: { id } }: ProviderContext): string {
  return `The callback of "${id}" came with no cookie for "${check}": the sign-in began in another browser, over ` +
    "15 minutes ago or with a secret that this process does not have, has ended, gave way to later ones, or " +
    "its cookie did not come back.";
}
