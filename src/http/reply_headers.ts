/**
 * Headers that no other hook can override: they are set when the head of a reply is written, and Node's response has
 * all others. They keep replies private, and pages out of what a browser goes back to.
 */
import type { FastifyReply } from "fastify";
import onHeadersUntyped from "on-headers";

/** The head of a reply: Node's response, or what stands for it. */
export interface Head {
  getHeader(name: string): unknown;
  getHeaderNames(): string[];
  removeHeader(name: string): void;
  setHeader(name: string, value: string | string[]): unknown;
}

/** Calls `change` when the head is written. Of several, the one that was given last is called first. */
export const onHeaders = onHeadersUntyped as (response: Head, change: () => void) => void;

export function valuesOf(head: Pick<Head, "getHeader">, name: string): string[] {
  const held = head.getHeader(name) ?? [];
  return (Array.isArray(held) ? held : [held]).map(String);
}

export function headerText(head: Pick<Head, "getHeader">, name: string): string {
  return valuesOf(head, name).join(", ");
}

export function withVary(vary: string, name: string): string {
  if (vary === "") return name;
  const names = vary.toLowerCase().split(/[\s,]+/);
  return names.includes("*") || names.includes(name.toLowerCase()) ? vary : `${vary}, ${name}`;
}

/** What overrides `Cache-Control` for a shared cache: of CDNs (RFC 9213), Akamai, nginx and LiteSpeed. */
const CDN_CACHE_HEADER =
  /^(?:(?:[\w-]+-)?cdn-cache-control|surrogate-control|edge-control|x-accel-expires|x-litespeed-cache-control)$/i;

/** Removes headers by which a shared cache would store the reply despite `Cache-Control`. */
export function removeCdnCaching(head: Pick<Head, "getHeaderNames" | "removeHeader">): void {
  for (const name of head.getHeaderNames()) {
    if (CDN_CACHE_HEADER.test(name)) head.removeHeader(name);
  }
}

/** Of every reply of the auth routes. Not `no-referrer`: the sign-in form would then send `Origin: null`. */
const SECURITY_HEADERS = Object.entries({
  "cache-control": "private, no-cache, no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
});

const PROTECTED: unique symbol = Symbol("fastify-authjs.protected");

/** Sets the security headers, also if the application sets others for all of its pages. */
export function protectReply(reply: FastifyReply & Holder): void {
  if (reply[PROTECTED]) return;
  reply[PROTECTED] = true;
  const { raw } = reply;
  onHeaders(raw, () => {
    for (const [name, value] of SECURITY_HEADERS) raw.setHeader(name, value);
    removeCdnCaching(raw);
  });
}

interface Kept {
  /** `Cache-Control` when the guard let the request pass, or hooks of all routes had run. */
  before: string;
  /** `Cache-Control` as the route has set it since. */
  own: string | undefined;
  /** Whether the route has Fastify send the reply: else its handler writes the head. */
  isSent: boolean;
  readonly send: FastifyReply["send"];
}

const NO_STORE = /(?:^|[\s,])no-store\b/i;
const KEPT: unique symbol = Symbol("fastify-authjs.kept");

type Holder = { [PROTECTED]?: boolean; [KEPT]?: Kept };

export function keepUnstored(reply: FastifyReply): void {
  reply.header("cache-control", "no-store");
  const { raw } = reply;
  onHeaders(raw, () => {
    removeCdnCaching(raw);
    if (!NO_STORE.test(headerText(raw, "cache-control"))) raw.setHeader("cache-control", "no-store");
  });
}

/**
 * Keeps a reply private, and has caches tell users apart by their cookies (`Vary`), whatever is set for all replies.
 * Only the route itself, from the guard to its handler, may make its reply public.
 */
export function keepPrivate(reply: FastifyReply & Holder): void {
  const before = headerText(reply, "cache-control");
  // A second guard; what was set before it, the route has not set.
  if (reply[KEPT] !== undefined) return void (reply[KEPT].before = before);
  const kept: Kept = reply[KEPT] = { before, own: undefined, isSent: false, send: reply.send };
  reply.send = sendRecorded;
  const { raw } = reply;
  onHeaders(raw, () => {
    raw.setHeader("vary", withVary(headerText(raw, "vary"), "Cookie"));
    const final = headerText(raw, "cache-control");
    if (!kept.isSent && final !== kept.before) kept.own = final;
    if (kept.own !== undefined && final === kept.own && !isFile(reply, final)) return;
    removeCdnCaching(raw);
    raw.setHeader("cache-control", privateDirectives(final, headerText(raw, "content-type"), kept));
  });
}

/** The first `preHandler` hook of a route: those of scopes have run, and what they have set, the route has not. */
export function disownHeaders(_request: unknown, reply: FastifyReply & Holder, done: () => void): void {
  if (reply[KEPT] !== undefined) reply[KEPT].before = headerText(reply, "cache-control");
  done();
}

/** Takes note of what the route has set, before hooks of the application run. One function: replies keep one shape. */
function sendRecorded(this: FastifyReply & Holder, payload?: unknown): FastifyReply {
  const kept = this[KEPT]!;
  const sent = payload instanceof Response ? payload.headers.get("cache-control") : null;
  const now = sent ?? headerText(this, "cache-control");
  kept.isSent = true;
  // An error is answered by a handler of the application.
  kept.own = payload instanceof Error || now === kept.before ? undefined : now;
  return kept.send.call(this, payload as never);
}

/** Whether a file server, such as `@fastify/static`, has answered with its own default, which is public. */
function isFile(reply: FastifyReply, cacheControl: string): boolean {
  return /^public, max-age=\d+(?:, immutable)?$/.test(cacheControl) &&
    (reply.hasHeader("accept-ranges") || reply.hasHeader("last-modified"));
}

/** After a sign-out a browser must not show a page that the user goes back to. Anything else may have an `ETag`. */
function privateDirectives(final: string, contentType: string, { own }: Kept): string {
  const isPage = /^(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType);
  // What the route has not said itself holds for all replies of the application, or is a file server's default.
  const isOwn = own !== undefined && own !== "public, max-age=0";
  if (isPage && !isOwn && !NO_STORE.test(final)) return "private, no-store";
  return final === "" ? "private, no-cache" : toPrivate(final);
}

/** The directives without those that concern shared caches. */
function toPrivate(cacheControl: string): string {
  const directives = cacheControl.split(",").map((each) => each.trim()).filter((each) => each && !SHARED.test(each));
  const isPrivate = directives.some((directive) => /^(?:private|no-store)$/i.test(directive));
  return (isPrivate ? directives : ["private", ...directives]).join(", ");
}

/** `private="set-cookie"` concerns one header only. */
const SHARED = /^(?:public|s-maxage|proxy-revalidate|stale-(?:while-revalidate|if-error)|private=)/i;
