/**
 * What the reads of a request changed reaches the browser with the reply, whichever route it is.
 *
 * @module
 */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { SessionCookieUpdate } from "./cookie.ts";
import type { SessionRead } from "./read.ts";
import type { FastifyAuthConfig, SessionRequest } from "../types.ts";

/** Where a request keeps its reads. */
const READS: unique symbol = Symbol("fastify-authjs.reads");

interface Reader {
  [READS]?: Reads;
}

/**
 * For how long a request's read holds, in milliseconds. Hooks and handlers follow one another at once, but a WebSocket or
 * a stream of events is one request for hours, and its session may have ended.
 */
const READ_HOLDS = 10_000;

/** The latest read of a configuration. */
interface Latest {
  readonly config: FastifyAuthConfig;
  /** When it began. */
  at: number;
  reading: Promise<SessionRead>;
}

/** What was read for one request. */
class Reads {
  /** Of each configuration: mostly of one. */
  readonly #latest: Latest[] = [];
  #pending = 0;
  /** What the browser is to be told, by the cookie it is about: of two updates the later counts. */
  #updates: Map<string, SessionCookieUpdate> | undefined;

  once(
    config: FastifyAuthConfig,
    read: (again: boolean) => SessionRead | Promise<SessionRead>,
  ): Promise<SessionRead> {
    const latest = this.#latest.find((read) => read.config === config);
    const at = Date.now();
    if (latest !== undefined && at - latest.at < READ_HOLDS) return latest.reading;
    const reading = this.#begin(read(latest !== undefined));
    if (latest !== undefined) Object.assign(latest, { at, reading });
    else this.#latest.push({ config, at, reading });
    return reading;
  }

  async #begin(found: SessionRead | Promise<SessionRead>): Promise<SessionRead> {
    if (found instanceof Promise) {
      this.#pending++;
      found = await found;
      this.#pending--;
    }
    if (found.update) (this.#updates ??= new Map()).set(found.update.name, found.update);
    return found;
  }

  /** Whether the browser is to be told nothing, and no read is on its way that could change that. */
  get quiet(): boolean {
    return this.#pending === 0 && this.#updates === undefined;
  }

  /**
   * What the browser is to be told. Waits also for a read that nobody waited for: it may have used up a refresh token, and
   * its result must not be lost.
   */
  async updates(): Promise<Iterable<SessionCookieUpdate>> {
    await Promise.all(this.#latest.map(({ reading }) => reading));
    return this.#updates?.values() ?? [];
  }
}

/** One read for each request and configuration, however many hooks and handlers ask. */
export function readOnce(
  request: SessionRequest,
  config: FastifyAuthConfig,
  read: (
    request: SessionRequest,
    config: FastifyAuthConfig,
    /** Whether the request has read before: its reply may have left since. */
    again: boolean,
  ) => SessionRead | Promise<SessionRead>,
): Promise<SessionRead> {
  const reads = (request as Reader)[READS] ??= new Reads();
  return reads.once(config, (again) => read(request, config, again));
}

/** Scopes whose replies carry what reads changed, and with them all scopes within. */
const scopes = new WeakSet<object>();

/** Whether the replies of this route carry what a read changes. */
export function isWrittenBack({ server }: SessionRequest): boolean {
  return isWithin(server);
}

/** Whether the reply to this request will: one that opens a WebSocket carries nothing. */
export function willCarry(request: SessionRequest): boolean {
  return isWrittenBack(request) && request.headers.upgrade?.toLowerCase() !== "websocket";
}

/** Fastify makes a scope from the one around it, as its prototype. */
function isWithin(scope: object | null): boolean {
  while (scope !== null && !scopes.has(scope)) scope = Object.getPrototypeOf(scope);
  return scope !== null;
}

/** Has replies carry what reads changed, in this scope and in those within. */
export function writeBack(scope: FastifyInstance): void {
  // A second registration in the scope, or one in a scope within: the hook is there already.
  if (isWithin(scope)) return;
  scopes.add(scope);
  scope.addHook("onSend", (request, reply, payload, done) => {
    const reads = (request as Reader)[READS];
    if (!reads || reads.quiet) return done(null, payload);
    carry(reads, reply).then(() => done(null, payload), done);
  });
}

async function carry(reads: Reads, reply: FastifyReply): Promise<void> {
  for (const update of await reads.updates()) addCookies(reply, update);
}

/** Adds the cookies, unless the reply has some of that session: signing out or in came later than the read. */
function addCookies(reply: FastifyReply, { name, lines }: SessionCookieUpdate): void {
  const own = [reply.getHeader("set-cookie") ?? []].flat().map(String);
  if (own.some((line) => line.startsWith(`${name}=`) || line.startsWith(`${name}.`))) return;
  for (const line of lines) reply.header("set-cookie", line);
  keepFromSharedCaches(reply);
}

/** A shared cache would hand one user's session to the next. */
function keepFromSharedCaches(reply: FastifyReply): void {
  // These would overrule Cache-Control at a CDN (RFC 9213).
  for (const header of ["cdn-cache-control", "surrogate-control"]) reply.removeHeader(header);
  if (!PRIVATE.test(String(reply.getHeader("cache-control") ?? ""))) {
    reply.header("cache-control", "no-store");
  }
}

/** `private="set-cookie"` concerns one header only and is not honoured everywhere. */
const PRIVATE = /(?:^|[\s,])(?:private|no-store)\s*(?:,|$)/i;
