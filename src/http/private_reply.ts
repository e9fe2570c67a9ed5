/** Keeps the replies of guarded routes out of shared caches, and pages out of what a browser goes back to. */
import type { FastifyReply } from "fastify";
import { onHeaders } from "./late_headers.ts";
import { removeCdnCaching } from "./security_headers.ts";

/** What is known of a reply that is to stay private. */
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
    if (!NO_STORE.test(String(raw.getHeader("cache-control")))) raw.setHeader("cache-control", "no-store");
  });
}

/**
 * Keeps a reply private, and has caches tell users apart by their cookies (`Vary`), whatever hooks of the
 * application and file servers set for all replies. Only the route itself may make its reply public: its
 * handler, or a hook of it that runs between the guard and the handler.
 */
export function keepPrivate(reply: FastifyReply): void {
  const before = toText(reply.getHeader("cache-control"));
  const held = (reply as Holder)[KEPT];
  // A second guard; what was set before it, the route has not set.
  if (held !== undefined) return void (held.before = before);
  const kept: Kept = { before, own: undefined, isSent: false, send: reply.send };
  (reply as Holder)[KEPT] = kept;
  reply.send = sendRecorded;
  const { raw } = reply;
  onHeaders(raw, () => {
    raw.setHeader("vary", withCookie(toText(raw.getHeader("vary"))));
    const final = toText(raw.getHeader("cache-control"));
    if (!kept.isSent && final !== kept.before) kept.own = final;
    if (kept.own !== undefined && final === kept.own && !isFile(reply, final)) return;
    removeCdnCaching(raw);
    raw.setHeader("cache-control", privateDirectives(final, toText(raw.getHeader("content-type")), kept));
  });
}

/**
 * Takes note of what the route has set when it sends its reply, before hooks of the application run. One
 * function for all replies, so that they have one shape.
 */
function sendRecorded(this: FastifyReply, payload?: unknown): FastifyReply {
  const kept = (this as Holder)[KEPT]!;
  const sent = payload instanceof Response ? payload.headers.get("cache-control") : null;
  const now = sent ?? toText(this.getHeader("cache-control"));
  kept.isSent = true;
  // An error is answered by a handler of the application.
  kept.own = payload instanceof Error || now === kept.before ? undefined : now;
  return kept.send.call(this, payload as never);
}

/** The value of a header as one text, also if there are several. */
function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return Array.isArray(value) ? value.join(", ") : String(value);
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

function withCookie(vary: string): string {
  if (vary === "") return "Cookie";
  if (/(?:^|[\s,])(?:\*|cookie)(?:$|[\s,])/i.test(vary)) return vary;
  return `${vary}, Cookie`;
}
