/** Reads the session of a request with the instance of its configuration. */
import { type AuthInstance, authInstance } from "./auth_instance.ts";
import { readDatabaseSession } from "../session/read_database.ts";
import { readJwtSession, refuseToken } from "../session/read_jwt.ts";
import { toCoreLogger } from "../core/logger.ts";
import { originOf } from "../http/origin.ts";
import { observeRead } from "./observed_read.ts";
import { sessionReads } from "../telemetry/operations.ts";
import type { NoticeCode } from "../config/notices.ts";
import { bearerToken } from "../http/bearer.ts";
import { readSessionCookie, type SessionCookie } from "../session/cookie.ts";
import type { SessionSettings } from "../session/settings.ts";
import { type OwnRead, type SessionRead, SIGNED_OUT, type TokenRefresh } from "../session/read.ts";
import { type AskedRead, RequestReads } from "../session/request_reads.ts";
import { MALFORMED } from "../jwt/refusal.ts";
import { warnOfOtherConfig } from "./other_config.ts";
import type { FastifyAuthConfig, SessionRequest } from "../types.ts";
import { canCarryCookies, isWrittenBack } from "../session/reply.ts";

/** The session of a request, with the other results of the read. Never rejects. */
export function readSession(request: SessionRequest, config: FastifyAuthConfig): Promise<SessionRead> {
  return RequestReads.of(request).once(config, read);
}

/** Reads once more, and refreshes the tokens of a provider if that is due. Never rejects. */
export function readRefreshing(
  request: SessionRequest,
  config: FastifyAuthConfig,
  refresh: TokenRefresh,
): Promise<SessionRead> {
  return RequestReads.of(request).anew(
    config,
    (request, config, asked) => read(request, config, { ...asked, refresh }),
  );
}

/** What is asked for. */
interface Asked extends AskedRead {
  readonly refresh?: TokenRefresh;
}

async function read(request: SessionRequest, config: FastifyAuthConfig, asked: Asked): Promise<SessionRead> {
  try {
    const auth = authInstance(config);
    if (!auth.isReady && !await isUsable(auth, request)) return SIGNED_OUT;
    const found = sessionReads.hasSubscribers
      ? await observeRead(auth, () => readWith(auth, request, asked))
      : await readWith(auth, request, asked);
    if (found.update && !isWrittenBack(request)) warnOfLoss(auth, request);
    return found;
  } catch (error) {
    request.log.error(error, "Auth.js: the session could not be read.");
    return SIGNED_OUT;
  }
}

/** Checks the configuration before the first read. */
async function isUsable(auth: AuthInstance, request: SessionRequest): Promise<boolean> {
  auth.config.notices.sendTo(request.log);
  warnOfOtherConfig(auth, request);
  const problem = await auth.problem();
  if (problem === undefined) return true;
  auth.once("unusable", () => {
    request.log.error({ code: problem.code }, `No session is read: ${problem.message}`);
  });
  return false;
}

async function readWith(
  auth: AuthInstance,
  request: SessionRequest,
  { of, again, cookies, refresh }: Asked,
): Promise<SessionRead> {
  const origin = originOf(request, auth.config.origin);
  if (origin === undefined) return SIGNED_OUT;
  const { cookie, settings } = presentedToken(auth, request, auth.settings(origin.secure), cookies);
  const { isBearer } = settings;
  if (cookie.names.length === 0 && !isBearer) return SIGNED_OUT;
  if (cookie.isRepeated) warnOfRepetition(auth, request, cookie);
  const { logger, debug } = auth.config.core;
  const toLogger = () => toCoreLogger(request.log, logger, debug);
  const toWarn = (message: string) => warnOfOwnRead(auth, request, message);
  const own: OwnRead = { name: "", settings, logger: toLogger, warn: toWarn };
  of.own = own;
  const context = {
    settings,
    logger: toLogger,
    headers: request.headers,
    canSetCookie: () => !again && !isBearer && canCarryCookies(request),
    refresh,
    log: request.log,
    own,
    auth,
  };
  const { length } = cookie.token;
  if (length === 0 || length > settings.longestToken) {
    const found = refuseToken(cookie, MALFORMED, context);
    return isBearer ? withoutCookies(found) : found;
  }
  const found = settings.strategy === "jwt"
    ? await readJwtSession(cookie, context)
    : await readDatabaseSession(cookie, context);
  return isBearer ? withoutCookies(found) : found;
}

/**
 * The session token of a request, and the settings for where it was. A bearer token counts alone, also an invalid one.
 */
export function presentedToken(
  auth: AuthInstance,
  request: SessionRequest,
  settings: SessionSettings,
  cookies: string | undefined,
): { readonly cookie: SessionCookie; readonly settings: SessionSettings } {
  const token = auth.config.bearer && bearerToken(request.headers.authorization);
  return token === undefined
    ? { cookie: readSessionCookie(cookies ?? request.headers.cookie, settings.cookie.name), settings }
    : { cookie: { token, names: [] }, settings: settings.forBearer! };
}

/** The read, which leaves the cookies of the client alone: the token is no cookie. */
function withoutCookies(found: SessionRead): SessionRead {
  const {
    update: _update,
    newestUpdate: _newest,
    isOutdated: _isOutdated,
    checkOtherProcesses: _check,
    ...read
  } = found;
  return read;
}

function warnOfLoss(auth: AuthInstance, request: SessionRequest): void {
  auth.once("lost renewal", () => {
    const code: NoticeCode = "FST_AUTHJS_WARN_LOST_COOKIE";
    request.log.warn(
      { code },
      `Auth.js: the session was renewed at ${request.routeOptions?.url}, and its cookie is lost, since ` +
        "that route is outside of the scope FastifyAuth is registered in. Register it in the scope of the " +
        "routes that read sessions, or around it.",
    );
  });
}

/**
 * As in core, which signs out and updates sessions, the first of two cookies counts, whether it is valid or
 * not. It has another domain or path, so this application can neither replace nor remove it.
 */
function warnOfRepetition(auth: AuthInstance, request: SessionRequest, { names }: SessionCookie): void {
  auth.once("repeated cookie", () => {
    const code: NoticeCode = "FST_AUTHJS_WARN_COOKIE";
    request.log.warn(
      { code },
      `Auth.js: a request has several cookies named ${
        JSON.stringify(names[0])
      }, of which the first counts. Where ` +
        "`cookies.sessionToken` had another `domain` or `path` before, browsers keep the cookie that they have beside " +
        "the new one, and it can be neither replaced nor removed: give the session cookie another `name`, with which " +
        "users sign in once more.",
    );
  });
}

function warnOfOwnRead(auth: AuthInstance, { log }: SessionRequest, message: string): void {
  const code: NoticeCode = "FST_AUTHJS_WARN_CALLBACK";
  auth.once("own session", () => log.warn({ code }, `Auth.js: ${message}`));
}
