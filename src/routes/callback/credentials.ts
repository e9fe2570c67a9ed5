/** The callback of a credentials provider: the form of a sign-in. */
import type { Answer } from "../../core/answer.ts";
import { callCore } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { csrfError } from "../../core/csrf.ts";
import { errorAnswer } from "../../core/error_answer.ts";

/** Answers a sign-in with credentials. */
export async function handleCredentialsCallback(context: ProviderContext): Promise<Answer> {
  const refused = csrfError(context);
  return refused === undefined ? await callCore(context) : errorAnswer(refused, context);
}
