/**
 * From an answer to a Fastify reply: the one place that writes one.
 *
 * @module
 */
import type { FastifyReply } from "fastify";
import { type Answer, toSetCookieLine } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";
import { toAsciiUrl } from "../http/callback_url.ts";

/**
 * Sends an answer: each cookie on a line of its own, since a comma is part of a cookie's date, and a redirect as JSON to
 * a client that asks for it with `X-Auth-Return-Redirect`.
 *
 * @param context The request that is answered; the reason of an answer that failed goes to its logger.
 * @throws {FastifyAuthError} the answer's error, if it is one and leads to no page, for the application's error handler.
 */
export function sendAnswer(
  reply: FastifyReply,
  { status, headers, body, cookies, redirect, error }: Answer,
  context: RequestContext,
): FastifyReply {
  for (const cookie of cookies) reply.header("set-cookie", toSetCookieLine(cookie));
  if (error instanceof FastifyAuthError && redirect === undefined) throw error;
  if (error !== undefined) context.logger.error(error);
  if (redirect !== undefined) return sendRedirect(reply, redirect, context, error === undefined);
  reply.code(status).headers(headers);
  const type = headers["content-type"];
  if (type === "application/json") return reply.send(JSON.stringify(body ?? null));
  // Without a charset a browser guesses, and Fastify adds one only to types of its own.
  if (type === "text/html") reply.type("text/html; charset=utf-8");
  return reply.send(body === "" ? undefined : body);
}

function sendRedirect(
  reply: FastifyReply,
  redirect: string,
  { headers }: RequestContext,
  succeeded: boolean,
): FastifyReply {
  const url = isAscii(redirect) ? redirect : toAsciiUrl(redirect);
  if (headers["x-auth-return-redirect"] === undefined) return reply.redirect(url, 302);
  // As core, which adds the header to its JSON only for what succeeded.
  if (succeeded) reply.header("location", url);
  return reply.code(200).header("content-type", "application/json").send(JSON.stringify({ url }));
}

/** `toAsciiUrl` would also write "http://localhost" as "http://localhost/". */
function isAscii(url: string): boolean {
  return /^[\0-\x7f]*$/.test(url);
}
