/** `GET <prefix>/csrf`: the CSRF token. */
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { errorAnswer } from "../core/failure.ts";
import { flowOf } from "../core/flow.ts";

const HEADERS = {
  "content-type": "application/json",
  "cache-control": "private, no-cache, no-store",
  // Against caches that do not know `Cache-Control`.
  expires: "0",
  pragma: "no-cache",
};

/** Answers with the token that the browser has, or with a new one. */
export async function csrfAnswer(context: RequestContext): Promise<Answer> {
  try {
    const { csrfToken, cookies } = await flowOf(context);
    if (csrfToken === undefined) {
      context.logger.warn("csrf-disabled");
      return { status: 404, headers: {}, cookies };
    }
    return { status: 200, headers: HEADERS, body: { csrfToken }, cookies };
  } catch (error) {
    return errorAnswer(error as Error, context);
  }
}
