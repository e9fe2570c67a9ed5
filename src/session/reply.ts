/** Sets changed session cookies on every reply of a scope. */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { NoticeCode } from "../config/notices.ts";
import { sendLate } from "../http/late_payload.ts";
import { type Head, headerText, onHeaders, removeCdnCaching, valuesOf } from "../http/reply_headers.ts";
import { type SetCookie, toSetCookieLine } from "../http/set_cookie.ts";
import { isSessionPart } from "./cookie.ts";
import { READS, RequestReads, type Update } from "./request_reads.ts";
import type { SessionRequest } from "../types.ts";

/** The decorator of scopes whose replies carry what reads changed. */
const WRITES_BACK: unique symbol = Symbol("fastify-authjs.writesBack");

/** Whether the replies of this route carry what a read changes. */
export function isWrittenBack({ server }: SessionRequest): boolean {
  return WRITES_BACK in server;
}

/** Whether the reply to this request will: one that has left or that may open a WebSocket carries nothing. */
export function canCarryCookies(request: SessionRequest): boolean {
  if (!isWrittenBack(request) || RequestReads.of(request).hasLeft) return false;
  return request.headers.upgrade?.toLowerCase() !== "websocket";
}

export function writeBack(scope: FastifyInstance): void {
  // A second registration in the scope, or one in a scope within: the hook is there already.
  if (scope.hasDecorator(WRITES_BACK)) return;
  scope.decorate(WRITES_BACK, true);
  scope.decorateRequest(READS);
  scope.addHook("onRequest", (request, reply, done) => {
    const reads = RequestReads.of(request);
    reads.reply = reply;
    if (reads.updates.length > 0) carryLate(reads);
    done();
  });
  scope.addHook("onSend", (request, reply, payload, done) => {
    const reads = RequestReads.of(request);
    if (reads.underWay > 0 || reads.updates.length > 0) {
      return void sendLate(reply, finish(reads, reply, payload), done);
    }
    reads.isSent = true;
    done(null, payload);
  });
}

/** Sets the cookies if a handler writes the head of the reply itself: no `onSend` hook runs for it. */
export function carryLate(reads: RequestReads): void {
  const { reply } = reads;
  if (reply === undefined) return;
  // The cookie of a session that has ended is removed with the next request.
  const latest = reads.updates.at(-1)!;
  if (reads.hasLeft) return latest.givesToken && !latest.isJoined ? warnOnce(latest, LATE) : undefined;
  const { raw } = reply;
  onHeaders(raw, () => {
    if (reads.isSent) return;
    for (const update of reads.current) {
      // The other processes cannot be asked any more whether a session has ended.
      if (update.givesToken && update.checkOtherProcesses !== undefined) warnOnce(update, UNCHECKED);
      else carry(update, reads, raw, (lines) => raw.setHeader("set-cookie", lines));
    }
    checkCookies(reads, reply);
  });
}

/**
 * Keeps a reply that gives a session cookie from shared caches, whatever hooks have set. Warns if another plugin sets
 * that cookie: its value could not be read, and it comes again.
 */
function checkCookies({ carried, current }: RequestReads, reply: FastifyReply): void {
  const { raw } = reply;
  const refused = current.find(({ givesToken }) => !givesToken);
  if (refused && valuesOf(raw, "set-cookie").some((line) => isForeign(line, refused.name))) {
    warnOnce(refused, namesake(refused.name), "FST_AUTHJS_WARN_COOKIE");
  }
  if (!carried.some((name) => hasPart(raw, name))) return;
  // A shared cache would hand one user's session to the next.
  removeCdnCaching(raw);
  const cacheControl = headerText(raw, "cache-control");
  if (!PRIVATE.test(cacheControl) || SHARED.test(cacheControl)) raw.setHeader("cache-control", "no-store");
  reply.header("cache-control", raw.getHeader("cache-control"));
}

/** Sets the cookies when the reads are done. */
async function finish(reads: RequestReads, reply: FastifyReply, payload: unknown): Promise<unknown> {
  await reads.settled();
  const replace = (lines: string[]) => void reply.removeHeader("set-cookie").header("set-cookie", lines);
  for (const update of reads.current) carry(update, reads, reply, replace);
  // Before what a guard asked for earlier: the listener that was added last is called first.
  if (reads.updates.length > 0) onHeaders(reply.raw, () => checkCookies(reads, reply));
  reads.isSent = true;
  return payload;
}

/** Sets the cookies, unless the reply has some of that session: signing out or in came later than the read. */
function carry(update: Update, reads: RequestReads, head: Held, set: (lines: string[]) => void): void {
  const { name, cookies } = update;
  if (!reads.replaces(update) && hasPart(head, name)) return;
  reads.carried.push(name);
  set(linesWith(cookies(), head, (other) => isSessionPart(other, name)));
}

/** Sets the cookies of an action in place of those of the same names, also if the handler writes the head. */
export function setCookies(reply: FastifyReply, cookies: readonly SetCookie[]): void {
  const lines = linesWith(cookies, reply, (name) => cookies.some((cookie) => cookie.name === name));
  reply.removeHeader("set-cookie").header("set-cookie", lines);
  onHeaders(reply.raw, () => {
    if (RequestReads.of(reply.request).isSent) return;
    const written = new Set(valuesOf(reply.raw, "set-cookie").map(nameIn));
    const lost = cookies.filter(({ name }) => !written.has(name));
    if (lost.length > 0) reply.raw.setHeader("set-cookie", linesWith(lost, reply.raw, () => false));
  });
}

type Held = Pick<Head, "getHeader">;

function linesWith(cookies: readonly SetCookie[], head: Held, replaces: (name: string) => boolean): string[] {
  const others = valuesOf(head, "set-cookie").filter((line) => !replaces(nameIn(line)));
  return [...others, ...cookies.map(toSetCookieLine)];
}

function hasPart(head: Held, name: string): boolean {
  return valuesOf(head, "set-cookie").some((line) => isSessionPart(nameIn(line), name));
}

function nameIn(line: string): string {
  return line.slice(0, line.indexOf("="));
}

/** Whether a line gives the session cookie a value that cannot be a session: a signed id, or text with escapes. */
function isForeign(line: string, name: string): boolean {
  if (nameIn(line) !== name) return false;
  const [value = ""] = line.slice(name.length + 1).split(";");
  return value.includes("%") || value.split(".").length === 2;
}

/** `private="set-cookie"` concerns one header only and is not honoured everywhere. */
const PRIVATE = /(?:^|[\s,])(?:private|no-store)\s*(?:,|$)/i;

/** Beside `private` it is a mistake, of which a cache takes the one or the other. */
const SHARED = /(?:^|[\s,])(?:public|s-maxage)\b/i;

const UNCHECKED =
  "the session was renewed, and its cookie is lost, since the handler writes the head of the reply itself " +
  "(`reply.hijack()`). With a `store` have Fastify send the reply, such as a stream.";

const LATE =
  "the session was given a new token after the head of the reply had been sent, or for a WebSocket, whose reply has " +
  "no cookies: it is lost. Read the session, and wait for that, before the head is sent, and refresh nothing in the " +
  "request of a WebSocket.";

function namesake(name: string): string {
  return `something else sets the cookie "${name}", which holds the session here, so that users are signed out: ` +
    "give that of another plugin, or `cookies.sessionToken`, another name.";
}

function warnOnce({ of }: Update, message: string, code: NoticeCode = "FST_AUTHJS_WARN_LOST_COOKIE"): void {
  of.context!.logger.warnOnce(message, message, code);
}
