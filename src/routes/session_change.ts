/**
 * Ends a session for requests of the same browser that are still running when it signs in or out: what they have read
 * must not restore the previous session.
 */
import { AdapterError } from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import type { Answer } from "../core/answer.ts";
import { type RequestContext, withoutSession } from "../core/context.ts";
import { endSession, hasEnded, hasEndedElsewhere } from "../session/ending.ts";
import { isRowFor } from "../session/name.ts";
import { openToken, sessionName, type SignedIn, signedInBy } from "../session/open.ts";
import { wrapError } from "../session/read.ts";

/**
 * Ends the session of the request if the answer removes its cookie, and sets no new one. Gives why copies of it may
 * still be accepted.
 */
export async function endRemovedSession(answer: Answer, context: RequestContext) {
  const { token, names } = context.held;
  const isRemoved = !answer.session && answer.cookies.some(({ name, value }) => value === "" && names.includes(name));
  if (!isRemoved) return undefined;
  // Any value of the cookie is removed; only one that may be a session is remembered as ended.
  const { settings } = context;
  const mayBeSession = settings.strategy === "database"
    ? isRowFor(token, settings.use)
    : await openToken(token, settings).then(() => true, () => false);
  return mayBeSession ? await endSession(token, context) : undefined;
}

/** After a sign-in: ends the session that the browser had before, unless that goes on, and begins the new one. */
export async function replaceSession(answer: Answer, context: RequestContext): Promise<void> {
  const { session: given, goesOn } = answer;
  if (!given) await endRemovedSession(answer, context);
  if (!given || goesOn) return;
  const { settings, held: { token } } = context;
  if (token !== "" && token !== given) await endReplaced(token, context);
  // The application's codec may give it the token, and so the name, of one that ended.
  if (settings.strategy === "database" || !settings.ownTokens) settings.live.begin(await sessionName(given, settings));
}

async function endReplaced(token: string, context: RequestContext): Promise<void> {
  const { settings, publish, logger } = context;
  const isRow = settings.strategy === "database";
  const opened = isRow ? undefined : await openToken(token, settings).catch(() => undefined);
  // What is no session, such as one that expired, is replaced without an event.
  if (isRow || opened) {
    publish?.("fastify-authjs:revoke", { reason: "replaced", ...(opened && { userId: opened.claims.sub }) });
  }
  await endSession(token, context);
  if (!isRow) return;
  // Someone else may know the token of the row.
  const { getSessionAndUser, deleteSession } = settings.adapter!;
  try {
    // Some adapters fail if there is no row.
    if (await getSessionAndUser!(token) !== null) await deleteSession!(token);
  } catch (error) {
    logger.error(wrapError(AdapterError, error));
  }
}

/** Who is signed in, as core is told. */
export async function readSignedIn(context: RequestContext): Promise<SignedIn | undefined> {
  try {
    return await signedInBy(context.held.token, context.settings);
  } catch (error) {
    context.logger.error(wrapError(AdapterError, error));
    throw unavailableError(error);
  }
}

/** Whether the session of a token ended. Other processes are only asked about a token that may be a session. */
export async function sessionHasEnded(token: string, context: RequestContext): Promise<boolean> {
  const { settings } = context;
  const { live, strategy, hooks } = settings;
  const name = await sessionName(token, settings);
  if (live.endings(name) > 0) return true;
  // In a database, the row of a session that ended is not found.
  const opened = strategy === "jwt" && await openToken(token, settings).catch(() => undefined);
  if (!opened) return false;
  return await hasEnded(name, context) || await hasEndedElsewhere(opened, hooks);
}

/** The request without its session if that ended, so that no account is linked to its user. */
export async function withoutEndedSession<Context extends RequestContext>(context: Context): Promise<Context> {
  const { token } = context.held;
  return token !== "" && await sessionHasEnded(token, context) ? withoutSession(context) : context;
}
