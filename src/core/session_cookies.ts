/** Removes what is left of the previous session in the browser. */
import {
  isSessionPart,
  possibleParts,
  readSessionCookie,
  setsSession,
  withoutStaleParts,
} from "../session/cookie.ts";
import type { Answer } from "./answer.ts";
import type { RequestContext } from "./context.ts";

/** The answer, which also removes the chunks of the session cookie that core does not know of. */
export function removeOldChunks(answer: Answer, context: RequestContext): Answer {
  const { action, method, provider, headers: { cookie: header = "" }, settings: { cookie } } = context;
  const sameSite = String(cookie.options.sameSite).toLowerCase();
  // With a form from another site the browser sends only cookies with `SameSite=None`, and after a link or
  // redirect from another site none with `SameSite=Strict`: it may hold session cookies that it did not send.
  const isWithheld = action === "callback" &&
    (sameSite === "strict" || sameSite === "true" || (method === "POST" && provider?.formPost === true));
  if (!isWithheld && !header.includes(cookie.name)) return answer;
  const parts = oldChunks(answer, context, isWithheld);
  return parts.length === 0
    ? answer
    : { ...answer, cookies: withoutStaleParts(answer.cookies, cookie, parts) };
}

function oldChunks({ cookies }: Answer, context: RequestContext, isWithheld: boolean): string[] {
  const { action, headers: { cookie: header = "" }, settings } = context;
  const { cookie: { name }, longestToken } = settings;
  const held = readSessionCookie(header, name).names;
  if (action === "callback" && setsSession(cookies, name)) {
    const possible = possibleParts(name, longestToken);
    return [...possible.filter((part) => isWithheld || header.includes(`${part}=`)), ...held];
  }
  return cookies.some((cookie) => isSessionPart(cookie.name, name)) ? [...held] : [];
}
