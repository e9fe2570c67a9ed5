/**
 * What an answer leaves of the session in the browser: nothing of the one before.
 *
 * @module
 */
import {
  isSessionPart,
  longestToken,
  possibleParts,
  readSessionCookie,
  setsSession,
  withoutStaleParts,
} from "../session/cookie.ts";
import type { Answer } from "./answer.ts";
import type { RequestContext } from "./context.ts";

/** The answer, which also removes the parts of the session that core does not know of. */
export function withoutLeftovers(answer: Answer, context: RequestContext): Answer {
  const { cookie } = context.settings;
  const parts = leftovers(answer, context);
  return parts.length === 0
    ? answer
    : { ...answer, cookies: withoutStaleParts(answer.cookies, cookie, parts) };
}

function leftovers({ cookies, error }: Answer, context: RequestContext): string[] {
  const { action, method, headers: { cookie: header = "" }, settings } = context;
  const { cookie: { name }, cookieLimit } = settings;
  const held = readSessionCookie(header, name).names;
  if (action === "callback" && setsSession(cookies, name)) {
    const left = possibleParts(name, longestToken(cookieLimit)).filter((part) =>
      header.includes(`${part}=`) || comesWithoutSession(context)
    );
    return [...left, ...held];
  }
  const signsOut = action === "signout" && method === "POST" && error === undefined;
  const changes = cookies.some((cookie) => isSessionPart(cookie.name, name));
  return signsOut || changes ? [...held] : [];
}

/**
 * Whether the browser may hold a session that it did not send: with a form that the provider's site posts it sends cookies
 * with `SameSite=None` only, and after a link or redirect from another site none with `SameSite=Strict`.
 */
function comesWithoutSession(
  { method, provider, settings: { cookie: { options } } }: RequestContext,
): boolean {
  const sameSite = String(options.sameSite).toLowerCase();
  return sameSite === "strict" || sameSite === "true" || (method === "POST" && provider?.formPost === true);
}
