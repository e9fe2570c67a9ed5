/**
 * From a web `Response` to a Fastify reply. Knows nothing of Auth.js.
 *
 * @module
 */
import type { FastifyReply } from "fastify";

/**
 * Sends the response: status, headers, body, and each cookie on a line of its own, since a comma is part of a
 * cookie's date.
 *
 * @param reply The reply to send it on.
 * @param response The response; its body is read to the end.
 */
export async function sendWebResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply.code(response.status);
  for (const [name, value] of response.headers) {
    if (name !== "set-cookie") reply.header(name, withCharset(name, value));
  }
  for (const cookie of response.headers.getSetCookie()) reply.header("set-cookie", cookie);
  const body = await response.text();
  return reply.send(body === "" ? undefined : body);
}

/** Without a charset a browser guesses, and Fastify adds one only to types of its own. */
function withCharset(name: string, value: string): string {
  return name === "content-type" && value === "text/html" ? "text/html; charset=utf-8" : value;
}
