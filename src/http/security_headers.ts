/** Security headers of every reply of the auth routes. */
import type { FastifyReply } from "fastify";
import { beforeHeaders, type LateHeaders } from "./late_headers.ts";

/**
 * Replies and URLs contain codes and tokens, so caches, frames and other sites get none of them. Not
 * `no-referrer`: the sign-in form would then send `Origin: null`, as a page of another site may.
 */
const HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "private, no-cache, no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/**
 * Headers that override `Cache-Control` for a shared cache: the targeted ones of CDNs (RFC 9213), and those
 * of Akamai, nginx and LiteSpeed.
 */
const CDN_CACHE_HEADER =
  /^(?:(?:[\w-]+-)?cdn-cache-control|surrogate-control|edge-control|x-accel-expires|x-litespeed-cache-control)$/i;

/** Those of most replies, which are known faster than matched. */
const COMMON_HEADERS: ReadonlySet<string> = new Set([
  "cache-control",
  "content-length",
  "content-type",
  "set-cookie",
  "vary",
]);

/** Removes headers by which a shared cache would store the reply despite `Cache-Control`. */
export function removeCdnCaching(headers: Pick<LateHeaders, "names" | "remove">): void {
  for (const name of headers.names()) {
    if (!COMMON_HEADERS.has(name) && CDN_CACHE_HEADER.test(name)) headers.remove(name);
  }
}

const PROTECTED: unique symbol = Symbol("fastify-authjs.protected");

interface Holder {
  [PROTECTED]?: boolean;
}

/** Sets the headers of an auth reply, also where the application sets others for all of its pages. */
export function protectReply(reply: FastifyReply): void {
  reply.headers(HEADERS);
  if ((reply as Holder)[PROTECTED]) return;
  (reply as Holder)[PROTECTED] = true;
  beforeHeaders(reply, (headers) => {
    for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
    removeCdnCaching(headers);
  });
}
