/** What a client reads: the session, the CSRF token and the list of the providers. */
import { type Answer, jsonAnswer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { errorAnswer } from "../core/failure.ts";
import { flowOf } from "../core/flow.ts";

/** Core's, beside the `Cache-Control` that all auth replies have: for caches that do not know that. */
const UNCACHED = { expires: "0", pragma: "no-cache" };

/**
 * `GET <prefix>/session`: the session or `null`, or 503 if the adapter failed: after `null` a client would
 * sign its user out.
 */
export async function handleSession(context: RequestContext): Promise<Answer> {
  const { session, failure } = await context.readSession();
  const answer = jsonAnswer(session);
  if (failure !== undefined) return { ...answer, error: failure };
  return { ...answer, headers: { ...answer.headers, ...UNCACHED } };
}

/** `GET <prefix>/csrf`: the token that the browser has, or a new one. */
export async function csrfAnswer(context: RequestContext): Promise<Answer> {
  try {
    const { csrfToken, cookies } = await flowOf(context);
    if (csrfToken === undefined) {
      context.logger.warn("csrf-disabled");
      return { status: 404, headers: {}, cookies };
    }
    const uncached = { ...UNCACHED, "cache-control": "private, no-cache, no-store" };
    const headers = { "content-type": "application/json", ...uncached };
    return { status: 200, headers, body: { csrfToken }, cookies };
  } catch (error) {
    return errorAnswer(error as Error, context);
  }
}

/** `GET <prefix>/providers`: the list of the providers, with their addresses. */
export function handleProviders({ config, origin, mountPath }: RequestContext): Promise<Answer> {
  const base = `${origin.href}${mountPath}`;
  const list = [...config.providers.values()].map(({ id, name, type }) => {
    return [id, { id, name, type, signinUrl: `${base}/signin/${id}`, callbackUrl: `${base}/callback/${id}` }];
  });
  return Promise.resolve(jsonAnswer(Object.fromEntries(list)));
}
