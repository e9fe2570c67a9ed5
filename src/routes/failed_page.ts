/** The page for a request that is refused before core sees it, or that nothing answers. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { DatabaseUnavailable } from "../adapter/failure.ts";
import { FastifyAuthError, type FastifyAuthErrorCode } from "../errors.ts";
import { acceptsHtml } from "../http/page_request.ts";
import { prefersJson } from "../http/preferences.ts";
import { originOf } from "../http/origin.ts";
import type { PageError } from "../pages/page_error.ts";
import type { Mount } from "./context.ts";
import { sendPage } from "./send_page.ts";

/** The errors that a user may run into. The others are for developers, such as of a form on another site. */
const PAGE_ERRORS: Partial<Record<FastifyAuthErrorCode, PageError>> = {
  FST_AUTHJS_CONFIG_INVALID: "Configuration",
  FST_AUTHJS_METHOD_NOT_ALLOWED: "BadRequest",
  FST_AUTHJS_NOT_FOUND: "NotFound",
  FST_AUTHJS_TOO_MANY_REQUESTS: "TooManyRequests",
  FST_AUTHJS_UNAVAILABLE: "Unavailable",
};

/**
 * The error handler of the routes. A browser gets a page, unless the application has an error page of its
 * own; every other error is for the application's error handler.
 *
 * @throws The error, if there is no page for it.
 */
export function sendFailedPage(
  { auth, mountPath }: Mount,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { config } = auth;
  const origin = originOf(request, config.origin);
  if (!(error instanceof FastifyAuthError) || origin === undefined || !wantsPage(request)) throw error;
  const { code, statusCode = 500 } = error;
  const shown = error instanceof DatabaseUnavailable && !error.temporary
    ? "Configuration"
    : PAGE_ERRORS[code];
  if (shown === undefined || config.core.pages?.error) throw error;
  // As Fastify's own error handler.
  request.log[statusCode >= 500 ? "error" : "info"]({ req: request, res: reply, err: error }, error.message);
  // Of `TooManyRequests`.
  const { wait } = error as { readonly wait?: number };
  const page = { kind: "error", error: shown, wait } as const;
  return sendPage(reply.code(statusCode), page, { auth, mountPath, origin });
}

/** Whether a browser navigates, by a link or with a form. */
export function wantsPage({ method, headers }: FastifyRequest): boolean {
  const navigates = method === "GET" || method === "POST";
  return navigates && headers["x-auth-return-redirect"] === undefined && acceptsHtml(headers.accept) &&
    !prefersJson(headers.accept);
}
