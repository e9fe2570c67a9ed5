/** Reads the session of a request with the instance of its configuration. */
import { strategyOf } from "../config/adapter_problem.ts";
import { toCoreLogger } from "../core/logger.ts";
import { originOf } from "../http/origin.ts";
import { MALFORMED } from "../jwt/jwe.ts";
import { readSessionCookie, type SessionCookie } from "../session/cookie.ts";
import { openToken } from "../session/open.ts";
import { asOwn } from "../session/own_reads.ts";
import { type ReadContext, type SessionRead, SIGNED_OUT } from "../session/read.ts";
import { readDatabaseSession, readJwtSession, refuseToken } from "../session/read_token.ts";
import { changeClaims, type ClaimsChange, cloneClaims } from "../session/renew.ts";
import { canCarryCookies, carryLate, isWrittenBack } from "../session/reply.ts";
import { type LatestRead, RequestReads } from "../session/request_reads.ts";
import type { SessionSettings } from "../session/settings.ts";
import { sessionReads } from "../telemetry/operations.ts";
import type { FastifyAuthConfig, JWT, SessionReadEvent, SessionRequest } from "../types.ts";
import { monotonicNow } from "../utils/time.ts";
import { type AuthInstance, authInstance } from "./auth_instance.ts";
import { warnOfOtherConfig } from "./mount.ts";

/** The session of a request. Never rejects. */
export function readSession(request: SessionRequest, config: FastifyAuthConfig): Promise<SessionRead> {
  return RequestReads.of(request).once(config, read);
}

export async function changeSession(request: SessionRequest, config: FastifyAuthConfig, change: ClaimsChange) {
  const { cookie, settings } = presentedToken(request, config)!;
  const context = contextOf(authInstance(config), request, settings, monotonicNow());
  await changeClaims(cookie.token, change, { ...context, update: { data: undefined } });
}

/** The claims, or null if there is no session or it is in a database. */
export async function readClaims(request: SessionRequest, config: FastifyAuthConfig): Promise<JWT | null> {
  const { session, claims } = await readSession(request, config);
  if (session === null) return null;
  // Callers may write to them, and requests with the same token share them.
  if (claims !== undefined) return cloneClaims(claims);
  const { cookie, settings } = presentedToken(request, config)!;
  if (settings.strategy !== "jwt") return null;
  // Another request may have replaced it.
  return (await openToken(settings.live.newest(cookie.token), settings)).claims;
}

async function read(reads: RequestReads, latest: LatestRead): Promise<SessionRead> {
  reads.underWay++;
  const { request } = reads;
  const began = latest.at;
  let found = SIGNED_OUT;
  try {
    const auth = authInstance(latest.config);
    if (!auth.isReady && !await isUsable(auth, request)) return found;
    const presented = presentedToken(request, latest.config);
    if (presented !== undefined) {
      const { cookie, settings } = presented;
      const { length } = cookie.token;
      const context = latest.context = contextOf(auth, request, settings, began);
      if (cookie.isRepeated) {
        context.logger.warnOnce("repeated cookie", repeated(cookie), "FST_AUTHJS_WARN_COOKIE");
      }
      const readToken = settings.strategy === "jwt" ? readJwtSession : readDatabaseSession;
      if (length === 0 || length > settings.longestToken) found = refuseToken(cookie, MALFORMED, context);
      else if (settings.mayWait || settings.live.hasAsyncCallbacks) {
        found = await asOwn(context, () => readToken(cookie, context));
      } else found = await readToken(cookie, context);
      // The cookies of the client are those of another session, or of none.
      if (settings.use === "header") found = { ...found, update: undefined };
    }
    if (sessionReads.hasSubscribers) {
      const { session, failure } = found;
      const result = failure !== undefined ? "unknown" : session === null ? "none" : "session";
      const duration = (monotonicNow() - began) / 1000;
      sessionReads.publish({ strategy: strategyOf(auth.config.core), result, duration } satisfies SessionReadEvent);
    }
    const { update } = found;
    if (update !== undefined && !isWrittenBack(request) && update.cookies().some(({ value }) => value !== "")) {
      latest.context!.logger.warnOnce("lost renewal", lostAt(request), "FST_AUTHJS_WARN_LOST_COOKIE");
    }
    return found;
  } catch (error) {
    // deno-coverage-ignore-start What can fail is caught before: a read never rejects
    request.log.error(error, "Auth.js: the session could not be read.");
    return found = SIGNED_OUT;
    // deno-coverage-ignore-stop
  } finally {
    if (reads.done(latest, found)) carryLate(reads);
  }
}

async function isUsable(auth: AuthInstance, request: SessionRequest): Promise<boolean> {
  auth.config.notices.sendTo(request.log);
  // First, since it loads the features, whose hooks the settings keep.
  const problem = await auth.problem();
  warnOfOtherConfig(auth, request);
  if (problem === undefined) return true;
  auth.once("unusable", () => {
    request.log.error({ code: problem.code }, `No session is read: ${problem.message}`);
  });
  return false;
}

function contextOf(auth: AuthInstance, request: SessionRequest, settings: SessionSettings, began: number): ReadContext {
  const { log, headers } = request;
  return {
    settings,
    headers,
    auth,
    logger: toCoreLogger(log, auth),
    canSetCookie: () => settings.use === "cookie" && canCarryCookies(request),
    leavesDue: () => isWrittenBack(request) && !canCarryCookies(request),
    began,
    name: "",
  };
}

/** The session token of a request, with what that has changed so far. One in a header counts, also an invalid one. */
export function presentedToken(request: SessionRequest, config: FastifyAuthConfig) {
  const auth = authInstance(config);
  const origin = originOf(request, auth.config.origin);
  if (origin === undefined) return undefined;
  const settings = auth.settings(origin.secure);
  for (const { findToken } of auth.hooks) {
    const token = findToken?.(request.headers);
    if (token !== undefined) return { cookie: { token, names: [] } as SessionCookie, settings: settings.forHeader! };
  }
  const cookie = readSessionCookie(RequestReads.of(request).cookies(config), settings.cookie.name);
  return cookie.names.length === 0 ? undefined : { cookie, settings };
}

const lostAt = ({ routeOptions }: SessionRequest) =>
  `the session was renewed at ${routeOptions?.url}, and its cookie is lost, since that route is outside of the scope ` +
  "FastifyAuth is registered in. Register it in the scope of the routes that read sessions, or around it.";

/** As in core, the first counts, whether it is valid or not. The other one can be neither replaced nor removed. */
const repeated = ({ names }: SessionCookie) =>
  `a request has several cookies named ${JSON.stringify(names[0])}, of which the first counts. If ` +
  "`cookies.sessionToken` had another `domain` or `path` before, browsers keep the cookie that they have beside " +
  "the new one, and it can be neither replaced nor removed: give the session cookie another `name`, with which " +
  "users sign in once more.";
