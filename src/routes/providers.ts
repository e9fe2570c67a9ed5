/** `GET <prefix>/providers`: the list of the providers, with their addresses. */
import type { Answer } from "../core/answer.ts";
import { callCore } from "../core/auth.ts";
import type { RequestContext } from "../core/context.ts";

/** Answers with the list, which core makes once for each origin and mount path. */
export async function handleProviders(context: RequestContext): Promise<Answer> {
  const { config: { providerLists }, origin, mountPath } = context;
  const key = `${origin.href}${mountPath}`;
  const known = providerLists.find(key);
  if (known !== undefined) return listAnswer(known);
  const answer = await callCore(context);
  if (answer.error !== undefined || answer.redirect !== undefined) return answer;
  const list = JSON.stringify(answer.body);
  providerLists.set(key, list);
  return listAnswer(list);
}

function listAnswer(list: string): Answer {
  return {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: list,
    cookies: [],
  };
}
