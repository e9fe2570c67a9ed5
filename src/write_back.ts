/**
 * What the reads of a request changed reaches the browser with the reply, whichever route it is.
 *
 * @module
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { SessionCookieUpdate } from "./session_cookie.ts";
import type { SessionRead } from "./session_read.ts";
import type { FastifyAuthConfig } from "./types.ts";

/** Where a request keeps its reads. The plugin declares it on requests, so its presence says that the hook will run. */
const READS: unique symbol = Symbol("fastify-authjs.reads");

type Reads = Map<FastifyAuthConfig, Promise<SessionRead>>;

/** A request as seen from here: null until something is read, undefined outside the plugin's scope. */
interface Reader {
  [READS]?: Reads | null;
}

/**
 * One read for each request and configuration, however many hooks and handlers ask.
 *
 * @param read Does it; told whether a reply will carry what it changes.
 */
export function readOnce(
  request: FastifyRequest,
  config: FastifyAuthConfig,
  read: (
    request: FastifyRequest,
    config: FastifyAuthConfig,
    writtenBack: boolean,
  ) => Promise<SessionRead>,
): Promise<SessionRead> {
  const reader = request as Reader;
  const writtenBack = reader[READS] !== undefined;
  const reads = reader[READS] ??= new Map();
  let reading = reads.get(config);
  if (reading === undefined) reads.set(config, reading = read(request, config, writtenBack));
  return reading;
}

/** Has replies carry what reads changed: in this scope and in those made in it from now on. */
export function writeBack(scope: FastifyInstance): void {
  // A second registration in the scope, or one in a scope within: the hook is there already.
  if (scope.hasRequestDecorator(READS)) return;
  scope.decorateRequest(READS, null);
  scope.addHook("onSend", (request, reply, payload, done) => {
    const reads = (request as Reader)[READS];
    if (!reads) return done(null, payload);
    // Also of a read nobody waited for: it may have used up a refresh token, and its result must not be lost.
    Promise.all(reads.values()).then((settled) => {
      for (const { update } of settled) if (update) addCookies(reply, update);
      done(null, payload);
    }, done);
  });
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
