/**
 * The callback of an e-mail provider: the link that was mailed.
 *
 * @module
 */
import type { Answer } from "../../core/answer.ts";
import { callCore } from "../../core/auth.ts";
import type { ProviderContext } from "../../core/context.ts";

/** Answers a sign-in link. */
export function handleEmailCallback(context: ProviderContext): Promise<Answer> {
  return callCore({ ...context, query: withToken(context.query) });
}

/**
 * The query of a sign-in link with a token in it, if need be one that nobody was mailed: a link that was cut is as
 * invalid as one that expired, where core takes it for a mistake in the configuration.
 */
function withToken(query: string): string {
  const parameters = new URLSearchParams(query);
  if (parameters.get("token")) return query;
  parameters.set("token", "none");
  return parameters.toString();
}
