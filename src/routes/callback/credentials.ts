/** The callback of a credentials provider: the form of a sign-in. */
import type { Answer } from "../../core/answer.ts";
import { callCore } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { csrfRefusal } from "../../core/flow.ts";

/** Answers a sign-in with credentials. */
export async function handleCredentialsCallback(context: ProviderContext): Promise<Answer> {
  return csrfRefusal(context) ?? await callCore(context);
}
