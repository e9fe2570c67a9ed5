/** `GET <prefix>/providers`: the list of the providers, with their addresses. */
import { type Answer, jsonAnswer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";

/** Answers with the list. */
export function handleProviders({ config, origin, mountPath }: RequestContext): Promise<Answer> {
  const base = `${origin.href}${mountPath}`;
  const list = [...config.providers.values()].map(({ id, name, type }) => {
    return [id, { id, name, type, signinUrl: `${base}/signin/${id}`, callbackUrl: `${base}/callback/${id}` }];
  });
  return Promise.resolve(jsonAnswer(Object.fromEntries(list)));
}
