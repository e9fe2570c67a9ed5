/** `<mount path>/session`: reads the session, or updates it. */
import { JWTSessionError } from "@auth/core/errors";
import { type Answer, jsonAnswer } from "../core/answer.ts";
import { type RequestContext, sessionParts, sessionRemovals } from "../core/context.ts";
import { csrfRefusal } from "../core/flow.ts";
import { withEnd } from "../config/lifetime.ts";
import { FastifyAuthError, invalidConfig } from "../errors.ts";
import { Refusal, UNKNOWN_KEY } from "../jwt/jwe.ts";
import { sessionCookies, SessionTooLarge } from "../session/cookie.ts";
import { hasEnded } from "../session/ending.ts";
import { openToken, sessionName } from "../session/open.ts";
import { asOwn, ownReadOf } from "../session/own_reads.ts";
import { CallbackFailure, type ReadContext, sendSessionEvent, toSession, wrapError } from "../session/read.ts";
import { cookieEnd } from "../session/settings.ts";
import { readRow } from "../session/read_token.ts";
import { updateInTurn } from "../session/in_turn.ts";
import { runCallbacks } from "../session/renew.ts";
import { monotonicNow } from "../utils/time.ts";
import { UNCACHED } from "./pages.ts";
import { endRemovedSession, sessionHasEnded } from "./session_change.ts";

/** A GET is 503 if the adapter failed: after `null` a client would sign its user out. */
export async function handleSession(context: RequestContext): Promise<Answer> {
  if (context.method === "POST") return await updateSession(context);
  const { session, failure } = await context.readSession();
  const answer = jsonAnswer(session);
  if (failure !== undefined) return { ...answer, error: failure };
  return { ...answer, headers: { ...answer.headers, ...UNCACHED } };
}

/**
 * Updates the session by a read whose callbacks get the data of the request, and that gives it a new token. Its newest
 * token is updated, so that the `jwt` callback does not refresh one again. Reads that begin meanwhile wait for the
 * updated one, and running requests with earlier tokens continue with it.
 */
async function updateSession(context: RequestContext): Promise<Answer> {
  const refused = csrfRefusal(context);
  if (refused !== undefined) return refused;
  const { settings } = context;
  const { token } = context.held;
  if (token === "") return jsonAnswer(null);
  const name = await sessionName(token, settings);
  if (await ownReadOf({ name, settings }) !== undefined) {
    throw invalidConfig(UPDATES_ITSELF);
  }
  if (settings.strategy === "database") return await updateToken(token, name, context);
  const { answer } = await updateInTurn(name, token, async (newest) => {
    const answer = await updateToken(newest, name, context);
    return { answer, sealed: answer.session };
  }, context);
  return answer;
}

async function updateToken(newest: string, name: string, context: RequestContext): Promise<Answer> {
  const { held, settings } = context;
  const { live } = settings;
  if (await sessionHasEnded(held.token, context)) return jsonAnswer(null);
  const update = { data: context.body?.data };
  const reading: ReadContext = { canSetCookie: () => true, update, began: monotonicNow(), name, ...context };
  const run = settings.strategy === "jwt" ? updateClaims : updateRow;
  const isAsync = settings.mayWait || live.hasAsyncCallbacks;
  const work = () => run(newest, reading, context);
  const answer = await (isAsync ? asOwn(reading, work) : work());
  if (answer.error !== undefined) return answer;
  // The browser signed out, or in, while the session was updated.
  const { session: updated } = answer;
  const hasEndedSince = updated ? await hasEnded(name, context) : live.endings(name) > 0;
  if (hasEndedSince) return jsonAnswer(null);
  await endRemovedSession(answer, context);
  return answer;
}

async function updateClaims(newest: string, reading: ReadContext, context: RequestContext): Promise<Answer> {
  const { settings, logger } = context;
  try {
    const read = await runCallbacks(await openToken(newest, settings), reading);
    const { token, session, expires, sealed, error } = read;
    if (error instanceof SessionTooLarge) {
      logger.error(error);
      return { ...jsonAnswer(null, 413), error: new FastifyAuthError("FST_AUTHJS_SESSION_TOO_LARGE", TOO_LARGE) };
    }
    if (error !== undefined) throw new CallbackFailure("`jwt.encode`", error);
    if (token === null) return ended(context);
    reading.known = { session, token };
    reading.isMade = true;
    await sendSessionEvent(reading);
    // When a token of the application's codec ends is known once it is opened.
    const end = settings.ownTokens ? expires : (await openToken(sealed!, settings)).ends.kept;
    return updated(withEnd(session, expires, end), sealed!, reading.name, context);
  } catch (error) {
    if (error instanceof Refusal || error instanceof JWTSessionError) {
      // Another process may have the key.
      if (error === UNKNOWN_KEY) return jsonAnswer(null);
      logger.error(error instanceof Refusal ? wrapError(JWTSessionError, error) : error);
      return ended(context);
    }
    const failure = error instanceof FastifyAuthError ? error : new CallbackFailure("`jwt` callback", error);
    logger.error(wrapError(JWTSessionError, failure.cause ?? failure));
    return failed(failure, context);
  }
}

async function updateRow(token: string, reading: ReadContext, context: RequestContext): Promise<Answer> {
  const { failure, update } = await readRow(context.held, reading);
  if (failure !== undefined) return failed(failure, context);
  if (reading.isMade) return updated(reading.known!.session, token, reading.name, context);
  return update === undefined ? jsonAnswer(null) : ended(context);
}

/** The failure was logged. The application gets the error of its callback as it gets those of a sign-in. */
function failed(failure: FastifyAuthError, { fromApplication }: RequestContext): Answer {
  const isWrapped = fromApplication && failure instanceof CallbackFailure;
  const error = isWrapped ? wrapError(JWTSessionError, failure.cause) : failure;
  return { ...jsonAnswer(null, 503), error, isReported: isWrapped };
}

function updated(session: unknown, token: string, name: string, context: RequestContext): Answer {
  const { settings } = context;
  const body = toSession(session, context);
  const cookies = sessionCookies(token, sessionParts(context), settings.cookie, cookieEnd(name, settings));
  return { ...jsonAnswer(body), cookies, session: token };
}

function ended(context: RequestContext): Answer {
  return { ...jsonAnswer(null), cookies: sessionRemovals(context) };
}

const TOO_LARGE = "The session would be too large for its cookie, and was not updated.";

const UPDATES_ITSELF =
  "updateSession(): it was called by a function that is called while this very session is read or updated, " +
  "such as the `jwt` or `session` callback. Return what is to change from the callback instead.";
