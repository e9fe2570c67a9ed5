/** Security headers of every reply of the auth routes. */
import type { FastifyReply } from "fastify";
import { type Head, onHeaders } from "./late_headers.ts";

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

/** Removes headers by which a shared cache would store the reply despite `Cache-Control`. */
export function removeCdnCaching(head: Pick<Head, "getHeaderNames" | "removeHeader">): void {
  for (const name of head.getHeaderNames()) {
    if (CDN_CACHE_HEADER.test(name)) head.removeHeader(name);
  }
}

const PROTECTED: unique symbol = Symbol("fastify-authjs.protected");

interface Holder {
  [PROTECTED]?: boolean;
}

/** Sets the headers of an auth reply, also if the application sets others for all of its pages. */
export function protectReply(reply: FastifyReply): void {
  reply.headers(HEADERS);
  if ((reply as Holder)[PROTECTED]) return;
  (reply as Holder)[PROTECTED] = true;
  const { raw } = reply;
  onHeaders(raw, () => {
    for (const [name, value] of Object.entries(HEADERS)) raw.setHeader(name, value);
    removeCdnCaching(raw);
  });
}
