/**
 * Headers that no other hook can override: they are set when the head of a reply is written, by `onHeaders()` of
 * on-headers. By then Node's response has all headers, also those that Fastify or a handler passes to `writeHead()`.
 */
import type { FastifyReply } from "fastify";
import onHeadersUntyped from "on-headers";

/** The head of a reply, as far as it is changed: Node's response, or what stands for it. */
export interface Head {
  getHeader(name: string): unknown;
  getHeaderNames(): string[];
  removeHeader(name: string): void;
  setHeader(name: string, value: string | string[]): unknown;
}

/** Calls `change` when the head is written. Of several, the one that was given last is called first. */
export const onHeaders = onHeadersUntyped as (response: Head, change: () => void) => void;

export function valuesOf(head: Pick<Head, "getHeader">, name: string): string[] {
  return [head.getHeader(name) ?? []].flat().map(String);
}

/** The values of a header, as the one text that they mean. */
export function headerText(head: Pick<Head, "getHeader">, name: string): string {
  return [head.getHeader(name) ?? []].flat().join(", ");
}

export function withVary(vary: string, name: string): string {
  if (vary === "") return name;
  const names = vary.toLowerCase().split(/[\s,]+/);
  return names.includes("*") || names.includes(name.toLowerCase()) ? vary : `${vary}, ${name}`;
}

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

/**
 * Headers of every reply of the auth routes. Replies and URLs contain codes and tokens, so caches, frames and
 * other sites get none of them. Not `no-referrer`: the sign-in form would then send `Origin: null`, as a page of
 * another site may.
 */
const SECURITY_HEADERS = {
  "cache-control": "private, no-cache, no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

const PROTECTED: unique symbol = Symbol("fastify-authjs.protected");

interface Holder {
  [PROTECTED]?: boolean;
}

/** Sets the security headers, also if the application sets others for all of its pages. */
export function protectReply(reply: FastifyReply & Holder): void {
  reply.headers(SECURITY_HEADERS);
  if (reply[PROTECTED]) return;
  reply[PROTECTED] = true;
  const { raw } = reply;
  onHeaders(raw, () => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) raw.setHeader(name, value);
    removeCdnCaching(raw);
  });
}

/**
 * A reply with a payload that takes the place of its own if the hooks of the application have set certain
 * headers: it is made after them.
 */
export interface LateReply {
  /** Makes the payload; `undefined` if the reply stays as it is. */
  [LATE_PAYLOAD]?: () => Promise<string> | undefined;
}

export const LATE_PAYLOAD: unique symbol = Symbol("fastify-authjs.late-payload");
