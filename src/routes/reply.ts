/** Writes an answer to a Fastify reply. */
import type { FastifyReply } from "fastify";
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { failureOf } from "../core/failure.ts";
import { FastifyAuthError } from "../errors.ts";
import { prefersJson } from "../http/preferences.ts";
import { toSetCookieLine } from "../http/set_cookie.ts";
import { toAsciiUrl } from "../http/callback_url.ts";
import type { Page } from "../pages/types.ts";
import { leadsFormElsewhere, sendFormRedirect } from "./form_redirect.ts";
import { sendPage } from "./send_page.ts";

/**
 * Sends an answer. A script gets a redirect as JSON, and an error with its status if it asks for that.
 *
 * @throws {FastifyAuthError} The error of the answer, if it is one and there is no redirect, for the
 * application's error handler.
 */
export async function sendAnswer(
  reply: FastifyReply,
  { status, headers, body, page, cookies, redirect, error }: Answer,
  context: RequestContext,
): Promise<FastifyReply> {
  for (const cookie of cookies) reply.header("set-cookie", toSetCookieLine(cookie));
  if (error instanceof FastifyAuthError && redirect === undefined) throw error;
  if (redirect !== undefined) return await sendRedirect(reply, redirect, context, error);
  // Such as of a session update: core answers with 400 and `null`.
  const isFailure = error !== undefined && page === undefined;
  if (isFailure && replyKind(context.headers) === "status") return sendFailure(reply, error);
  reply.code(status).headers(headers);
  if (page !== undefined) return await sendPage(reply, page, context);
  const type = headers["content-type"];
  if (type === "application/json") return reply.send(JSON.stringify(body ?? null));
  // Without a charset a browser guesses, and Fastify adds one only to types of its own.
  if (type === "text/html") reply.type("text/html; charset=utf-8");
  return reply.send(body === "" ? undefined : body);
}

async function sendRedirect(
  reply: FastifyReply,
  redirect: string,
  context: RequestContext,
  error: Error | undefined,
): Promise<FastifyReply> {
  // `toAsciiUrl` would also write "http://localhost" as "http://localhost/".
  const url = /^[\0-\x7f]*$/.test(redirect) ? redirect : toAsciiUrl(redirect);
  const kind = replyKind(context.headers);
  if (kind === "redirect") {
    if (isFormOfOurs(url, context)) return await sendPage(reply, redirectPageFor(url, context), context);
    return leadsFormElsewhere(context, url)
      ? await sendFormRedirect(reply, url, () => redirectPageFor(url, context), context)
      : reply.redirect(url, 302);
  }
  if (error !== undefined && kind === "status") return sendFailure(reply, error);
  // As core, which sends the header with JSON only if the request succeeded.
  if (error === undefined) reply.header("location", url);
  return sendJson(reply, 200, { url });
}

/**
 * Whether a form of ours leads elsewhere, which then gets a page instead of a redirect. Chromium applies the
 * `form-action` of a form's page to every redirect that follows, also to those of other servers: a provider
 * may send its users on to another origin, as may the application behind the callback URL, and the button
 * would seem to do nothing.
 */
function isFormOfOurs(url: string, context: RequestContext): boolean {
  const { method, headers: { referer = "" }, origin: { href }, mountPath, action, provider } = context;
  const ours = `${href}${mountPath}/`;
  // The confirm page keeps its path, which has a token, out of the header.
  const isConfirmed = action === "callback" && provider?.type === "email";
  const isFromOurs = referer.startsWith(ours) || (isConfirmed && referer === `${href}/`);
  // Our own pages redirect nowhere.
  return method === "POST" && isFromOurs && URL.canParse(url, href) &&
    !new URL(url, href).href.startsWith(ours);
}

function redirectPageFor(url: string, { origin, provider, config }: RequestContext): Page {
  const target = new URL(url, origin.href);
  const { siteName } = config.pages;
  // With the other types a sign-in leads to an address of the application.
  const begins = provider?.type === "oauth" || provider?.type === "oidc";
  const name = begins ? config.pages.providers.find(({ id }) => id === provider.id)?.name : undefined;
  return {
    kind: "redirect",
    url,
    to: target.host === origin.host ? siteName ?? origin.host : name ?? target.host,
  };
}

/** Sends an error as JSON, as far as a client may know of it. */
export function sendFailure(reply: FastifyReply, failure: Error): FastifyReply {
  const { status, error, code, message, retryAfter } = failureOf(failure);
  if (retryAfter !== undefined) reply.header("retry-after", retryAfter);
  return sendJson(reply, status, { error, ...(code && { code }), ...(message && { message }) });
}

function sendJson(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  return reply.code(status).header("content-type", "application/json").send(JSON.stringify(body));
}

/**
 * How a client is told where a request leads:
 *
 * - `redirect`: by a redirect, as browsers follow it.
 * - `url`: by `{ url }` with the status 200, also if the request failed, as core's clients read it.
 * - `status`: by `{ url }` if the request succeeded, else by `{ error, code }` with the error's status.
 *
 * The header of core decides where it is sent: HTTP libraries accept JSON unasked, and the page in `url` is
 * what programs with that header read.
 */
export function replyKind(headers: RequestContext["headers"]): "redirect" | "url" | "status" {
  const asked = headers["x-auth-return-redirect"];
  if (asked === undefined) return prefersJson(headers.accept) ? "status" : "redirect";
  return String(asked).toLowerCase().split(/[\s,;]+/).includes("prefer-status") ? "status" : "url";
}
