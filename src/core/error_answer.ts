/** The answer to a request that failed. */
import { type AuthError, OAuthProfileParseError } from "@auth/core/errors";
import { FastifyAuthError } from "../errors.ts";
import { SessionTooLarge } from "../session/cookie_size.ts";
import { type Answer, jsonAnswer, redirectAnswer } from "./answer.ts";
import type { RequestContext } from "./context.ts";
import { failureOf, isShownAtSignIn } from "./failure.ts";

/**
 * The answer for an error, by core's rules: a redirect to the sign-in page for errors of the kind "signIn",
 * else to the error page, with the type of the error if a client may know it, else with "Configuration".
 *
 * Unlike in core, a sign-in link that could not be mailed is "EmailSignin", which core's sign-in page has a
 * text for, and an attempt that came too early leads back to the sign-in page.
 */
export function errorAnswer(error: Error, context: RequestContext): Answer {
  // For a script, so there is no page.
  if (context.action === "session" || context.action === "token") {
    return error instanceof SessionTooLarge
      ? notUpdated(error, context)
      : { ...jsonAnswer(null, 400), error };
  }
  const failure = failureOf(error);
  const { error: type, code } = failure;
  const { kind = "error" } = error as AuthError & { kind?: PageKind };
  const isOfSignIn = error instanceof OAuthProfileParseError || isShownAtSignIn(failure);
  const shownAt = isOfSignIn ? "signIn" : kind;
  const page = errorPage(shownAt, { error: type, ...(code && { code }) }, context);
  return { ...redirectAnswer(page), error };
}

/** The answer to an update that would make a session too large. */
function notUpdated(error: SessionTooLarge, { logger }: RequestContext): Answer {
  logger.error(error);
  const message = "The session would be too large for its cookie, and was not updated.";
  return { ...jsonAnswer(null, 413), error: new FastifyAuthError("FST_AUTHJS_SESSION_TOO_LARGE", message) };
}

/** The pages that show an error. */
type PageKind = "error" | "signIn";

/** The URL of a page that shows an error: the application's own, or core's. */
export function errorPage(
  kind: PageKind,
  parameters: Record<string, string>,
  { config, mountPath, origin }: RequestContext,
): string {
  const own = config.core.pages?.[kind];
  if (own === undefined) {
    return `${origin.href}${mountPath}/${kind.toLowerCase()}?${new URLSearchParams(parameters)}`;
  }
  const page = new URL(own, origin.href);
  for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value);
  return page.href;
}
