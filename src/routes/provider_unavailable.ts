/** The answer to a sign-in whose provider does not answer. */
import { type Answer, failedAnswer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { findUnavailable, unavailableProviderError } from "../provider/provider_unavailable.ts";

/**
 * Answers with 503 if the sign-in failed because the provider did not answer; core would show the error
 * page for mistakes in the configuration. The cookies that the answer sets or removes stay.
 */
export function orUnavailable(answer: Answer, { logger }: RequestContext): Answer {
  const unavailable = findUnavailable(answer.error);
  if (unavailable === undefined) return answer;
  logger.error(answer.error!);
  return failedAnswer(unavailableProviderError(unavailable), answer.cookies);
}
