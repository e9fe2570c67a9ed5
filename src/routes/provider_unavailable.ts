/** The answer to a sign-in whose provider does not answer. */
import { OAuthProfileParseError } from "@auth/core/errors";
import type { Answer } from "../core/answer.ts";
import type { ProviderContext } from "../core/context.ts";
import {
  findUnavailable,
  type ProviderUnavailable,
  unavailableProviderError,
} from "../provider/provider_unavailable.ts";

/**
 * Answers with 503 where the sign-in failed because the provider did not answer; core would show the error
 * page for mistakes in the configuration. The cookies that the answer sets or removes stay.
 */
export async function orUnavailable<Context extends ProviderContext>(
  context: Context,
  handle: (context: Context) => Promise<Answer>,
): Promise<Answer> {
  const { logger } = context;
  let unavailable: ProviderUnavailable | undefined;
  const error = (error: Error) => {
    // Where core gets no profile, it only logs this error; the answer has none.
    if (error instanceof OAuthProfileParseError) unavailable ??= findUnavailable(error);
    logger.error(error);
  };
  const answer = await handle({ ...context, logger: { ...logger, error } });
  unavailable ??= findUnavailable(answer.error);
  if (unavailable === undefined) return answer;
  if (answer.error !== undefined && answer.error !== answer.logged) logger.error(answer.error);
  return { status: 503, headers: {}, cookies: answer.cookies, error: unavailableProviderError(unavailable) };
}
