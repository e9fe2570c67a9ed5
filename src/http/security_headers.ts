/**
 * Headers of every reply of the auth routes.
 *
 * @module
 */
import type { FastifyReply } from "fastify";

/** Codes, tokens and CSRF tokens are in these replies and addresses: not for caches, frames or other sites. */
const HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "private, no-cache, no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** Sets them over whatever the application set for its own pages. */
export function protectReply(reply: FastifyReply): void {
  reply.headers(HEADERS);
}
