/**
 * Writes an answer to a Fastify reply.
 *
 * @module
 */
import type { FastifyReply } from "fastify";
import { type Answer, toSetCookieLine } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";
import { toAsciiUrl } from "../http/callback_url.ts";

/**
 * Sends an answer, and logs its error. A client that sends `X-Auth-Return-Redirect` gets a redirect as JSON.
 *
 * @throws {FastifyAuthError} The error of the answer, if it is one and there is no redirect, for the
 * application's error handler.
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
  // As core, which sends the header with JSON only where the request succeeded.
  if (succeeded) reply.header("location", url);
  return reply.code(200).header("content-type", "application/json").send(JSON.stringify({ url }));
}

/** `toAsciiUrl` would also write "http://localhost" as "http://localhost/". */
function isAscii(url: string): boolean {
  return /^[\0-\x7f]*$/.test(url);
}
