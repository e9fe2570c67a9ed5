/** Sets changed session cookies on every reply of a scope. */
import type { DoneFuncWithErrOrRes, FastifyInstance, FastifyReply } from "fastify";
import type { NoticeCode } from "../config/notices.ts";
import { type Head, onHeaders, valuesOf } from "../http/late_headers.ts";
import { removeCdnCaching } from "../http/security_headers.ts";
import { toSetCookieLine } from "../http/set_cookie.ts";
import { isSessionPart } from "./cookie.ts";
import { type CookieChange, READS, RequestReads } from "./request_reads.ts";
import type { SessionRequest } from "../types.ts";

/** The decorator of scopes whose replies carry what reads changed. Scopes within inherit it. */
const WRITES_BACK: unique symbol = Symbol("fastify-authjs.writesBack");

/** What is kept of such a scope: why cookies were lost, as far as it was said. */
type WritesBack = Set<Loss>;

/** Whether the replies of this route carry what a read changes. */
export function isWrittenBack({ server }: SessionRequest): boolean {
  return WRITES_BACK in server;
}

/** Whether the reply to this request will: one that has left or that opens a WebSocket carries nothing. */
export function canCarryCookies(request: SessionRequest): boolean {
  if (!isWrittenBack(request) || RequestReads.of(request).hasLeft) return false;
  return request.headers.upgrade?.toLowerCase() !== "websocket";
}

/** Sets changed session cookies on every reply of this scope, and of those within. */
export function writeBack(scope: FastifyInstance): void {
  // A second registration in the scope, or one in a scope within: the hook is there already.
  if (scope.hasDecorator(WRITES_BACK)) return;
  scope.decorate<WritesBack>(WRITES_BACK, new Set());
  scope.decorateRequest(READS);
  // A handler that writes the head of its reply has no `onSend` hook run.
  scope.addHook("onRequest", (request, reply, done) => {
    const reads = RequestReads.of(request);
    reads.reply = reply;
    reads.onUpdate = carryLate;
    if (reads.updates.length > 0) carryLate(reads);
    done();
  });
  scope.addHook("onSend", (request, reply, payload, done) => {
    const reads = RequestReads.of(request);
    if (reads.underWay > 0 || reads.updates.length > 0) return void finish(reads, reply, payload, done);
    reads.isSent = true;
    done(null, payload);
  });
}

/** Sets what reads change also on a reply whose handler writes the head. */
function carryLate(reads: RequestReads): void {
  const reply = reads.reply!;
  // The cookie of a session that has ended is removed with the next request.
  if (reads.hasLeft) return reads.givesSession ? warnOfLoss(reply, "late") : undefined;
  if (reads.isCarried) return;
  reads.isCarried = true;
  onHeaders(reply.raw, () => {
    if (reads.isSent) return;
    // The other processes cannot be asked any more whether a session has ended.
    for (const change of reads.changes) {
      if (change.isUnsure) warnOfLoss(reply, "unchecked");
      else carryCookies(reply.raw, change);
    }
  });
}

/**
 * Goes on when the reads are done. What `done` throws is an error of the reply (a header that cannot be
 * encoded, say), and goes to Fastify like one that was thrown at once: in a promise that is not awaited, it
 * would end the process.
 */
async function finish(
  reads: RequestReads,
  reply: FastifyReply,
  payload: unknown,
  done: DoneFuncWithErrOrRes,
): Promise<void> {
  await reads.settled();
  try {
    for (const change of reads.changes) addCookies(reply, change);
    reads.isSent = true;
    done(null, payload);
  } catch (error) {
    fail(error as Error, reply, done);
  }
}

function fail(error: Error, reply: FastifyReply, done: DoneFuncWithErrOrRes): void {
  try {
    done(error);
  } catch (unanswerable) {
    reply.log.error(unanswerable, "The reply could not be sent.");
    reply.raw.destroy();
  }
}

/**
 * Adds the cookies, unless the reply has some of that session: signing out or in came later than the read.
 */
function addCookies(reply: FastifyReply, { update: { name, cookies }, replaces }: CookieChange): void {
  if (hasCookie(reply, name)) {
    if (!replaces) return;
    removeCookies(reply, name);
  }
  reply.header("set-cookie", cookies.map(toSetCookieLine));
  keepFromSharedCaches(reply, {
    getHeaderNames: () => Object.keys(reply.getHeaders()),
    removeHeader: (header) => void reply.removeHeader(header),
  });
  // A hook that runs after this one may make the reply public, or take the cookie out of it.
  onHeaders(reply.raw, () => {
    if (!hasCookie(reply, name)) return;
    keepFromSharedCaches(reply, reply.raw);
    reply.raw.setHeader("cache-control", reply.getHeader("cache-control")!);
  });
}

/** As {@linkcode addCookies}, in the head that a handler writes. */
function carryCookies(head: Head, { update: { name, cookies }, replaces }: CookieChange): void {
  const lines = valuesOf(head, "set-cookie");
  const others = lines.filter((line) => !isLineOf(line, name));
  if (others.length < lines.length && !replaces) return;
  writeCookies(head, [...others, ...cookies.map(toSetCookieLine)]);
}

function writeCookies(head: Head, lines: readonly string[]): void {
  head.setHeader("set-cookie", lines);
  removeCdnCaching(head);
  if (!isPrivate(valuesOf(head, "cache-control").join(", "))) head.setHeader("cache-control", "no-store");
}

/** Why a cookie cannot be sent. */
type Loss = keyof typeof LOSSES;

const LOSSES = {
  unchecked:
    "the session was renewed, and its cookie is lost, since the handler writes the head of the reply itself " +
    "(`reply.hijack()`). With a `store` have Fastify send the reply, such as a stream.",
  late:
    "the session was given a new token after the head of the reply had been sent, and its cookie is lost. Read " +
    "the session, and wait for that, before the head is sent.",
};

/**
 * Sets the cookies of an action also on a reply whose handler writes the head, which has none of the headers
 * that Fastify would send.
 */
export function carryActionCookies(reply: FastifyReply, names: ReadonlySet<string>): void {
  if (!isWrittenBack(reply.request)) return;
  onHeaders(reply.raw, () => {
    if (RequestReads.of(reply.request).isSent) return;
    const written = valuesOf(reply.raw, "set-cookie");
    const known = new Set(written.map(cookieName));
    const lost = cookieLines(reply).filter((line) => {
      const name = cookieName(line);
      return names.has(name) && !known.has(name);
    });
    if (lost.length > 0) writeCookies(reply.raw, [...written, ...lost]);
  });
}

/** Says once that a cookie is lost. */
function warnOfLoss({ log, server }: FastifyReply, loss: Loss): void {
  const said = (server as unknown as { readonly [WRITES_BACK]: WritesBack })[WRITES_BACK];
  if (said.has(loss)) return;
  said.add(loss);
  const code: NoticeCode = "FST_AUTHJS_WARN_LOST_COOKIE";
  log.warn({ code }, `Auth.js: ${LOSSES[loss]}`);
}

/** Whether the reply sets or removes that session's cookie. */
function hasCookie(reply: FastifyReply, name: string): boolean {
  return cookieLines(reply).some((line) => isLineOf(line, name));
}

function removeCookies(reply: FastifyReply, name: string): void {
  const others = cookieLines(reply).filter((line) => !isLineOf(line, name));
  reply.removeHeader("set-cookie");
  reply.header("set-cookie", others);
}

function cookieLines(reply: FastifyReply): string[] {
  return [reply.getHeader("set-cookie") ?? []].flat().map(String);
}

function isLineOf(line: string, name: string): boolean {
  return isSessionPart(cookieName(line), name);
}

function cookieName(line: string): string {
  return line.slice(0, line.indexOf("="));
}

/** A shared cache would hand one user's session to the next. */
function keepFromSharedCaches(
  reply: FastifyReply,
  head: Pick<Head, "getHeaderNames" | "removeHeader">,
): void {
  removeCdnCaching(head);
  if (!isPrivate(String(reply.getHeader("cache-control") ?? ""))) reply.header("cache-control", "no-store");
}

function isPrivate(cacheControl: string): boolean {
  return PRIVATE.test(cacheControl) && !SHARED.test(cacheControl);
}

/** `private="set-cookie"` concerns one header only and is not honoured everywhere. */
const PRIVATE = /(?:^|[\s,])(?:private|no-store)\s*(?:,|$)/i;

/** Beside `private` it is a mistake, of which a cache takes the one or the other. */
const SHARED = /(?:^|[\s,])(?:public|s-maxage)\b/i;
