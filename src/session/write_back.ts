/** Sets the cookies that the reads of a request changed on its reply, on any route. */
import type { DoneFuncWithErrOrRes, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Head, onHeaders, valuesOf } from "../http/late_headers.ts";
import { removeCdnCaching } from "../http/security_headers.ts";
import { FastifyAuthError } from "../errors.ts";
import type { NoticeCode } from "../config/notices.ts";
import { isSessionPart, type SessionCookieUpdate, withSessionToken } from "./cookie.ts";
import { knownRead, ownReadOf, REFRESHES_ITSELF } from "./own_read.ts";
import { type OwnRead, type SessionRead, SIGNED_OUT } from "./read.ts";
import type { FastifyAuthConfig, SessionRequest } from "../types.ts";
import type { MaybePromise } from "../utils/maybe_promise.ts";
import { monotonicNow } from "../utils/monotonic.ts";

/**
 * The property of requests that keeps their reads: a decorator in the plugin's scopes. A request outside of
 * them gets it with its first read, since `getSession()` also works there, and decorators can only be
 * declared before the application has started.
 */
const READS: unique symbol = Symbol("fastify-authjs.reads");

/** The decorator of scopes whose replies carry what reads changed. Scopes within inherit it. */
const WRITES_BACK: unique symbol = Symbol("fastify-authjs.writesBack");

/** What is kept of such a scope: why cookies were lost, as far as it was said. */
type WritesBack = Set<Loss>;

interface Reader {
  [READS]?: Reads;
}

/**
 * For how long a request's read holds, in milliseconds. Hooks and handlers follow one another at once, but a
 * WebSocket or a stream of events is one request for hours, and its session may have ended.
 */
const READ_VALID_MS = 10_000;

/** The latest read of a configuration. */
interface Latest {
  readonly config: FastifyAuthConfig;
  /** The same, for functions of the application that it calls. */
  own?: OwnRead;
  /** When it began. */
  at: number;
  /** What it gave, or will give. */
  result: MaybePromise<SessionRead>;
  /** The Cookie header, where this request has signed in or out, or has got another session token. */
  cookies?: string;
  /** What is to be replaced in it first. */
  replaced?: SessionRead["replaced"];
  /** How often it has signed in or out or has updated the session. */
  changes: number;
}

/** A read that changed something. */
type Update = SessionRead & {
  readonly update: SessionCookieUpdate;
  readonly of: Latest;
  /** How often the request had changed the session when it was read. */
  readonly changes: number;
};

/** Cookies to set. */
interface CookieChange {
  readonly update: SessionCookieUpdate;
  /** Whether they replace those that the request has set before the read. */
  readonly replaces: boolean;
}

const NONE: readonly Update[] = Object.freeze([]);
const NO_CHANGES: readonly CookieChange[] = Object.freeze([]);

/** A read that is asked for. */
export interface AskedRead {
  /** Where the read is to be found while it is under way. */
  readonly of: { own?: OwnRead };
  /** Whether the request has read before: its reply may have left since. */
  readonly again: boolean;
  /** The Cookie header, where it is not that of the request any more. */
  readonly cookies: string | undefined;
}

/** Reads a session. */
type Read = (
  request: SessionRequest,
  config: FastifyAuthConfig,
  asked: AskedRead,
) => MaybePromise<SessionRead>;

/** What was read for one request, and how its reply carries what that changed. */
class Reads {
  /** Of each configuration: mostly of one. */
  readonly #latest: Latest[] = [];
  /** How many reads are under way. */
  #pending = 0;
  /** The reads that changed something, one for each session cookie: the later of two counts. */
  #updates: readonly Update[] = NONE;
  #reply: FastifyReply | undefined;
  #isCarried = false;
  /** Whether Fastify has sent the reply, with the cookies of the reads before that. */
  #isSent = false;
  readonly #request: SessionRequest;
  /** Those of requests that were made from this one, with other headers. */
  #derived: WeakMap<object, Reads> | undefined;

  constructor(request: SessionRequest) {
    this.#request = request;
  }

  /** Those of a request. */
  static of(request: SessionRequest): Reads {
    const reads = (request as Reader)[READS] ??= new Reads(request);
    return reads.sharedWith(request);
  }

  /**
   * Those of this request, or of one that was made from it (`Object.create(request)`). With other headers
   * that one may have another user, so it gets reads of its own.
   */
  sharedWith(request: SessionRequest): Reads {
    if (request === this.#request || request.headers === this.#request.headers) return this;
    const derived = this.#derived ??= new WeakMap();
    let reads = derived.get(request);
    if (reads === undefined) {
      derived.set(request, reads = new Reads(request));
      // It has no reply that could carry cookies.
      reads.markSent();
    }
    return reads;
  }

  once(request: SessionRequest, config: FastifyAuthConfig, read: Read): MaybePromise<SessionRead> {
    const before = this.#latestOf(config);
    // The one that asks may be a function of the application which the read calls.
    const own = this.#pending === 0 || before?.own === undefined ? undefined : ownReadOf(before.own);
    if (own !== undefined) return knownRead(own);
    if (before !== undefined && monotonicNow() - before.at < READ_VALID_MS) return before.result;
    const of = before ?? this.#add(config);
    this.#pending++;
    const cookies = before && this.#cookiesOf(before);
    const found = read(request, config, { of, again: before !== undefined, cookies });
    this.#pending--;
    return this.#keep(of, found);
  }

  /** Reads, whether the request has read before or not. */
  anew(request: SessionRequest, config: FastifyAuthConfig, read: Read): MaybePromise<SessionRead> {
    const of = this.#latestOf(config) ?? this.#add(config);
    if (of.own !== undefined && ownReadOf(of.own) !== undefined) {
      throw new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", REFRESHES_ITSELF);
    }
    return this.#keep(of, read(request, config, { of, again: false, cookies: this.#cookiesOf(of) }));
  }

  #add(config: FastifyAuthConfig): Latest {
    const latest: Latest = { config, at: -Infinity, result: SIGNED_OUT, changes: 0 };
    this.#latest.push(latest);
    return latest;
  }

  #keep(latest: Latest, found: MaybePromise<SessionRead>): MaybePromise<SessionRead> {
    latest.at = monotonicNow();
    if (found instanceof Promise) {
      const reading = this.#await(latest, found);
      // The caller handles a rejection; one that does not wait must not end the process.
      reading.catch(() => {});
      return latest.result = reading;
    }
    this.#note(latest, found, latest.changes);
    return latest.result = found;
  }

  #latestOf(config: FastifyAuthConfig): Latest | undefined {
    for (const latest of this.#latest) {
      if (latest.config === config) return latest;
    }
  }

  /** The Cookie header, where the request has changed it. */
  cookies(config: FastifyAuthConfig): string | undefined {
    const latest = this.#latestOf(config);
    return latest && this.#cookiesOf(latest);
  }

  /** The same, with the token that a read has given, which the configuration may not remember. */
  #cookiesOf(latest: Latest): string | undefined {
    const { cookies = this.#request.headers.cookie, replaced } = latest;
    if (replaced === undefined) return latest.cookies;
    latest.replaced = undefined;
    return latest.cookies = withSessionToken(cookies ?? "", replaced.parts, replaced.token);
  }

  change(config: FastifyAuthConfig, cookies: string, known: SessionRead | undefined): void {
    const latest = this.#latestOf(config) ?? this.#add(config);
    latest.cookies = cookies;
    latest.replaced = undefined;
    latest.changes++;
    // An earlier read that is still under way is waited for where it was started.
    latest.at = known === undefined ? -Infinity : monotonicNow();
    latest.result = known ?? SIGNED_OUT;
  }

  async #await(of: Latest, reading: Promise<SessionRead>): Promise<SessionRead> {
    const { changes } = of;
    this.#pending++;
    try {
      const found = await reading;
      this.#note(of, found, changes);
      return found;
    } finally {
      this.#pending--;
    }
  }

  /** Takes note of what a read changed. */
  #note(of: Latest, found: SessionRead, changes: number): void {
    const { update } = found;
    if (update === undefined) return;
    const isLate = this.#updates.some((other) => other.of === of && other.changes > changes);
    if (isLate) return;
    if (found.replaced !== undefined && changes === of.changes) of.replaced = found.replaced;
    const others = this.#updates.filter((other) => other.update.name !== update.name);
    this.#updates = [...others, { ...found, update, of, changes }];
    if (this.#reply === undefined) return;
    // The cookie of a session that has ended is removed with the next request.
    if (this.hasLeft && found.session !== null) warnOfLoss(this.#reply, "late");
    else this.#carry(this.#reply);
  }

  /** Has this reply carry the updates also where its handler writes the head. */
  replyWith(reply: FastifyReply): void {
    this.#reply = reply;
    this.#carry(reply);
  }

  /** Has the reply carry the updates where its handler writes the head, so that no `onSend` hook runs. */
  #carry(reply: FastifyReply): void {
    if (this.#isCarried || this.#updates.length === 0) return;
    this.#isCarried = true;
    onHeaders(reply.raw, () => {
      if (this.#isSent) return;
      // The other processes cannot be asked any more whether a session has ended.
      const sure = this.#updates.filter(({ checkOtherProcesses }) => checkOtherProcesses === undefined);
      for (const change of this.#changesOf(sure)) carryCookies(reply.raw, change);
      if (sure.length < this.#updates.length) warnOfLoss(reply, "unchecked");
    });
  }

  markSent(): void {
    this.#isSent = true;
  }

  get isSent(): boolean {
    return this.#isSent;
  }

  /** Whether it is too late for cookies. */
  get hasLeft(): boolean {
    return this.#isSent || this.#reply?.raw.headersSent === true;
  }

  /** Whether there is something to wait for before cookies can be set. */
  get pending(): boolean {
    return this.#pending > 0 || this.#updates.some(({ checkOtherProcesses }) => checkOtherProcesses);
  }

  /**
   * Waits for the reads under way, also for one that no handler awaits: it may have used up a refresh token,
   * and its result must not be lost. Then asks the other processes whether their sessions ended.
   */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#latest.map(({ result }) => result));
    await Promise.allSettled(this.#updates.map(({ checkOtherProcesses }) => checkOtherProcesses?.()));
  }

  /** The cookies to set, of the reads that are done; a session that ended since is not brought back. */
  get updates(): readonly CookieChange[] {
    return this.#updates.length === 0 ? NO_CHANGES : this.#changesOf(this.#updates);
  }

  #changesOf(updates: readonly Update[]): readonly CookieChange[] {
    const current = updates.filter(({ isOutdated }) => !isOutdated?.());
    return current.map(({ update, newestUpdate, of, changes }) => ({
      update: newestUpdate?.() ?? update,
      replaces: changes > 0 && changes === of.changes,
    }));
  }
}

/** One read for each request and configuration, however many hooks and handlers ask. */
export function readOnce(
  request: SessionRequest,
  config: FastifyAuthConfig,
  read: Read,
): MaybePromise<SessionRead> {
  return Reads.of(request).once(request, config, read);
}

/**
 * Reads once more, with other results than a read that may have been before: the later ones see them, too.
 */
export function readAnew(
  request: SessionRequest,
  config: FastifyAuthConfig,
  read: Read,
): MaybePromise<SessionRead> {
  return Reads.of(request).anew(request, config, read);
}

/** The Cookie header of a request, with what this request has changed so far. */
export function currentCookies(request: SessionRequest, config: FastifyAuthConfig): string | undefined {
  return Reads.of(request).cookies(config) ?? request.headers.cookie;
}

/**
 * Has later reads of this request see other cookies: its reply sets them.
 *
 * @param cookies The Cookie header with them.
 * @param known What a read gives from now on, where that is known.
 */
export function changeCookies(
  request: SessionRequest,
  config: FastifyAuthConfig,
  cookies: string,
  known?: SessionRead,
): void {
  Reads.of(request).change(config, cookies, known);
}

/** Whether the replies of this route carry what a read changes. */
export function isWrittenBack({ server }: SessionRequest): boolean {
  return WRITES_BACK in server;
}

/** Whether the reply to this request will: one that has left or that opens a WebSocket carries nothing. */
export function canCarryCookies(request: SessionRequest): boolean {
  if (!isWrittenBack(request) || Reads.of(request).hasLeft) return false;
  return request.headers.upgrade?.toLowerCase() !== "websocket";
}

/** Has replies carry what reads changed, in this scope and in those within. */
export function writeBack(scope: FastifyInstance): void {
  // A second registration in the scope, or one in a scope within: the hook is there already.
  if (scope.hasDecorator(WRITES_BACK)) return;
  scope.decorate<WritesBack>(WRITES_BACK, new Set());
  scope.decorateRequest(READS);
  // A handler that writes the head of its reply has no `onSend` hook run.
  scope.addHook("onRequest", keepReply);
  scope.addHook("onSend", (request, reply, payload, done) => {
    const reads = Reads.of(request);
    if (reads.pending) return void finishLater(reads, reply, payload, done);
    // At once, so that what Fastify throws is thrown where it catches it.
    addUpdates(reads, reply);
    done(null, payload);
  });
}

/** Has the reply of a request carry what reads change also where its handler writes the head. */
function keepReply(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  Reads.of(request).replyWith(reply);
  done();
}

/**
 * Goes on when the reads are done. What `done` throws is an error of the reply (a header that cannot be
 * encoded, say), and goes to Fastify like one that was thrown at once: in a promise that is not awaited, it
 * would end the process.
 */
async function finishLater(
  reads: Reads,
  reply: FastifyReply,
  payload: unknown,
  done: DoneFuncWithErrOrRes,
): Promise<void> {
  await reads.settled();
  try {
    addUpdates(reads, reply);
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

function addUpdates(reads: Reads, reply: FastifyReply): void {
  for (const change of reads.updates) addCookies(reply, change);
  reads.markSent();
}

/**
 * Adds the cookies, unless the reply has some of that session: signing out or in came later than the read.
 */
function addCookies(reply: FastifyReply, { update: { name, lines }, replaces }: CookieChange): void {
  if (hasCookie(reply, name)) {
    if (!replaces) return;
    removeCookies(reply, name);
  }
  // A copy: Fastify adds other cookies to the array that it is given first.
  reply.header("set-cookie", [...lines]);
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
function carryCookies(head: Head, { update: { name, lines }, replaces }: CookieChange): void {
  const cookies = valuesOf(head, "set-cookie");
  const others = cookies.filter((line) => !isLineOf(line, name));
  if (others.length < cookies.length && !replaces) return;
  writeCookies(head, [...others, ...lines]);
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
    "(`reply.hijack()`). With a `refreshLock` have Fastify send the reply, such as a stream.",
  late:
    "the session was given a new token after the head of the reply had been sent, and its cookie is lost. Read " +
    "the session, and wait for that, before the head is sent.",
};

/**
 * Has cookies that an action has put on the reply reach the browser also where its handler writes the head,
 * which has none of the headers that Fastify would send.
 */
export function carryActionCookies(reply: FastifyReply, names: ReadonlySet<string>): void {
  if (!isWrittenBack(reply.request)) return;
  onHeaders(reply.raw, () => {
    if (Reads.of(reply.request).isSent) return;
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
