/** Keeps the replies of guarded routes out of shared caches, and pages out of what a browser goes back to. */
import type { FastifyReply } from "fastify";
import { headerText, onHeaders, removeCdnCaching, withVary } from "./reply_headers.ts";

interface Kept {
  /** `Cache-Control` when the guard let the request pass. */
  before: string;
  /** `Cache-Control` as the route has set it since. */
  own: string | undefined;
  /** Whether the route has Fastify send the reply: else its handler writes the head. */
  isSent: boolean;
  /** The method of the reply that {@linkcode sendRecorded} stands in place of. */
  readonly send: FastifyReply["send"];
}

const NO_STORE = /(?:^|[\s,])no-store\b/i;

const KEPT: unique symbol = Symbol("fastify-authjs.kept");

interface Holder {
  [KEPT]?: Kept;
}

/**
 * Keeps a refusal out of every cache, whatever hooks of the application set: after signing in, there is another
 * reply.
 */
export function keepUnstored(reply: FastifyReply): void {
  reply.header("cache-control", "no-store");
  const { raw } = reply;
  onHeaders(raw, () => {
    removeCdnCaching(raw);
    if (!NO_STORE.test(headerText(raw, "cache-control"))) raw.setHeader("cache-control", "no-store");
  });
}

/**
 * Keeps a reply private, and has caches tell users apart by their cookies (`Vary`), whatever hooks of the
 * application and file servers set for all replies. Only the route itself may make its reply public: its
 * handler, or a hook of it that runs between the guard and the handler.
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

/**
 * Takes note of what the route has set when it sends its reply, before hooks of the application run. One
 * function for all replies, so that they have one shape.
 */
function sendRecorded(this: FastifyReply & Holder, payload?: unknown): FastifyReply {
  const kept = this[KEPT]!;
  const sent = payload instanceof Response ? payload.headers.get("cache-control") : null;
  const now = sent ?? headerText(this, "cache-control");
  kept.isSent = true;
  // An error is answered by a handler of the application.
  kept.own = payload instanceof Error || now === kept.before ? undefined : now;
  return kept.send.call(this, payload as never);
}

/**
 * Whether a file server, such as `@fastify/static`, has answered with its own default: "public", also for
 * files below a guard.
 */
function isFile(reply: FastifyReply, cacheControl: string): boolean {
  return /^public, max-age=\d+(?:, immutable)?$/.test(cacheControl) &&
    reply.hasHeader("accept-ranges") && reply.hasHeader("last-modified");
}

/** What a file server says if the application has set nothing. */
const FILE_DEFAULT = "public, max-age=0";

/**
 * After a sign-out a browser must not show a page again when the user goes back: it keeps whole pages, unless
 * they are `no-store`. Anything else may be kept, and asked for again by its `ETag`.
 */
function privateDirectives(final: string, contentType: string, { own }: Kept): string {
  const isPage = /^(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType);
  // What the route has not said itself holds for all replies of the application.
  const isOwn = own !== undefined && own !== FILE_DEFAULT;
  if (isPage && !isOwn && !NO_STORE.test(final)) return "private, no-store";
  return final === "" ? "private, no-cache" : toPrivate(final);
}

/** The directives without those that concern shared caches. */
function toPrivate(cacheControl: string): string {
  const directives = cacheControl.split(",").map((directive) => directive.trim()).filter((directive) =>
    directive !== "" && !SHARED.test(directive)
  );
  const isPrivate = directives.some((directive) => /^(?:private|no-store)$/i.test(directive));
  return (isPrivate ? directives : ["private", ...directives]).join(", ");
}

/** `private="set-cookie"` concerns one header only. */
const SHARED = /^(?:public|s-maxage|proxy-revalidate|stale-(?:while-revalidate|if-error)|private=)/i;
