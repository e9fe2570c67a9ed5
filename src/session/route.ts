/**
 * `GET <prefix>/session`, for the browser: the same read as `getSession()`.
 *
 * @module
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { unavailableError } from "../database/request.ts";
import { readSession } from "./get_session.ts";
import type { FastifyAuthConfig } from "../types.ts";

/** Core's, beside the `Cache-Control` that all auth replies have. */
const HEADERS = { "content-type": "application/json", expires: "0", pragma: "no-cache" };

/**
 * Sends the session, or `null`.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_UNAVAILABLE` (503) where the database did not answer: a client that took it for
 * signed out would send its user away.
 */
export async function sendSession(
  request: FastifyRequest,
  reply: FastifyReply,
  config: FastifyAuthConfig,
): Promise<FastifyReply> {
  const { session, failure } = await readSession(request, config);
  if (failure !== undefined) throw unavailableError();
  return reply.headers(HEADERS).send(JSON.stringify(session));
}
