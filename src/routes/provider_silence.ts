/**
 * What a sign-in is answered with where its provider does not answer.
 *
 * @module
 */
import { OAuthProfileParseError } from "@auth/core/errors";
import type { Answer } from "../core/answer.ts";
import type { ProviderContext } from "../core/context.ts";
import {
  findUnavailable,
  type ProviderUnavailable,
  unavailableProviderError,
} from "../provider/provider_unavailable.ts";

/**
 * Answers with 503 where the provider was silent and that is why the sign-in failed: core would show the error page for
 * mistakes in the configuration. The cookies of the answer stay, those that it removes among them.
 */
export async function orUnavailable<Context extends ProviderContext>(
  context: Context,
  handle: (context: Context) => Promise<Answer>,
): Promise<Answer> {
  const { logger } = context;
  let silence: ProviderUnavailable | undefined;
  const error = (error: Error) => {
    // Of a profile that it did not get core says nothing but this.
    if (error instanceof OAuthProfileParseError) silence ??= findUnavailable(error);
    logger.error(error);
  };
  const answer = await handle({ ...context, logger: { ...logger, error } });
  silence ??= findUnavailable(answer.error);
  if (silence === undefined) return answer;
  if (answer.error !== undefined) logger.error(answer.error);
  return { status: 503, headers: {}, cookies: answer.cookies, error: unavailableProviderError(silence) };
}
