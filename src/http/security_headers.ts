/**
 * Headers of every reply of the auth routes.
 *
 * @module
 */
import type { FastifyReply } from "fastify";
import { beforeHeaders, type LateHeaders } from "./late_headers.ts";

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

/**
 * What overrules `Cache-Control` at a shared cache: targeted fields (RFC 9213), of which each CDN has one of its own, and
 * those of Akamai, nginx and LiteSpeed.
 */
const CDN_CACHE_HEADER =
  /^(?:(?:[\w-]+-)?cdn-cache-control|surrogate-control|edge-control|x-accel-expires|x-litespeed-cache-control)$/i;

/** Removes what would have a shared cache store a reply that `Cache-Control` keeps from it. */
export function removeCdnCaching(reply: FastifyReply, headers: Pick<LateHeaders, "remove">): void {
  for (const name of [...Object.keys(reply.getHeaders()), ...reply.raw.getHeaderNames()]) {
    if (CDN_CACHE_HEADER.test(name)) headers.remove(name);
  }
}

/** Sets them over whatever the application sets for its own pages. */
export function protectReply(reply: FastifyReply): void {
  reply.headers(HEADERS);
  beforeHeaders(reply, (headers) => {
    for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
    removeCdnCaching(reply, headers);
  });
}
