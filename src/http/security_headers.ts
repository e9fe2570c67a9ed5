/**
 * Headers of every reply of the auth routes.
 *
 * @module
 */
import type { FastifyReply } from "fastify";
import { beforeHeaders } from "./late_headers.ts";

/**
 * Codes, tokens and CSRF tokens are in these replies and addresses: not for caches, frames or other sites. With
 * `no-referrer` a browser would send `Origin: null` from the sign-in form, as a page of another site may.
 */
const HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "private, no-cache, no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** These would overrule `Cache-Control` at a CDN (RFC 9213). */
export const CDN_CACHE_HEADERS: readonly string[] = ["cdn-cache-control", "surrogate-control"];

/** Sets them over whatever the application sets for its own pages. */
export function protectReply(reply: FastifyReply): void {
  reply.headers(HEADERS);
  beforeHeaders(reply, (headers) => {
    for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
    for (const name of CDN_CACHE_HEADERS) headers.remove(name);
  });
}
