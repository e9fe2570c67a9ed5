/**
 * The end of a session: nothing that was read before it may bring the session back.
 *
 * This process remembers the session's tokens; other processes learn of the end through the store of the
 * refresh lock, if there is one. Both last for as long as a request that was sent before may be under way.
 */
import type { LoggerInstance } from "@auth/core/types";
import { clearSessionCookie, type SessionCookie } from "./cookie.ts";
import { type SessionRead, SIGNED_OUT } from "./read.ts";
import type { SessionSettings } from "./settings.ts";
import type { SharedStore } from "./refresh_lock.ts";
import { derivedSecret, placeOf } from "./sealed_value.ts";
import { REQUEST_LIMIT_MS } from "./token_families.ts";

/** What a read and a request to a route of the plugin have in common here. */
export interface EndingContext {
  readonly settings: SessionSettings;
  /** Where failures of the refresh lock go, made when there is one. */
  readonly logger: () => Pick<LoggerInstance, "error">;
}

/**
 * For how long after the end of its session a request may come that was sent before, in milliseconds. Its
 * reply leaves the cookies alone, since they may be of the next session already.
 */
const LATE_REQUESTS_MS = 30_000;

/**
 * Reads a token of a session that ended. A browser that still sends it later got it from a late reply: it is
 * removed.
 */
export function readEndedSession(
  { token, names }: SessionCookie,
  { settings }: EndingContext,
): SessionRead | undefined {
  const milliseconds = settings.families.endedFor(token);
  if (milliseconds === undefined) return undefined;
  if (milliseconds < LATE_REQUESTS_MS) return SIGNED_OUT;
  return {
    session: null,
    update: clearSessionCookie(names, settings.cookie),
    isOutdated: endedSince(token, settings.families.endings(token), settings),
  };
}

/**
 * A check by which a reply finds out whether the session ended after the read.
 *
 * @param endings How often the session had ended when it was read.
 */
export function endedSince(token: string, endings: number, { families }: SessionSettings): () => boolean {
  return () => families.endings(token) !== endings;
}

/** The same for a session that has not ended, which may also end in another process. */
export function endChecks(
  token: string,
  context: EndingContext,
): Pick<SessionRead, "isOutdated" | "checkOtherProcesses"> {
  const isOutdated = endedSince(token, 0, context.settings);
  return context.settings.refresh.lock === undefined
    ? { isOutdated }
    : { isOutdated, checkOtherProcesses: () => hasEnded(token, context) };
}

/**
 * Ends the session of a token: it signed out, its `jwt` callback said so, or its browser has another one.
 *
 * @returns How often it ended by now.
 */
export async function endSession(token: string, context: EndingContext): Promise<number> {
  const endings = context.settings.families.end(token);
  const store = sharedStore(context);
  if (store !== undefined) await putShared(store, await sessionId(store, token, context), "state", ENDED);
  return endings;
}

/** Begins a session. The application's own codec may give it the token of a session that ended. */
export async function beginSession(token: string, context: EndingContext): Promise<void> {
  const { families, secrets } = context.settings;
  families.begin(token);
  const store = secrets === undefined ? sharedStore(context) : undefined;
  if (store === undefined) return;
  const id = await sessionId(store, token, context);
  if (await getShared(store, id, "state") === ENDED) await putShared(store, id, "state", BEGUN);
}

/** Has a session go on with another token. */
export async function continueSession(
  token: string,
  successor: string,
  context: EndingContext,
): Promise<void> {
  const { families } = context.settings;
  families.join(token, successor);
  const store = sharedStore(context);
  if (store === undefined) return;
  await putShared(store, successor, "session", await sessionId(store, token, context));
}

/** Whether the session of a token ended, here or in another process. */
export async function hasEnded(token: string, context: EndingContext): Promise<boolean> {
  const { families } = context.settings;
  if (families.endings(token) > 0) return true;
  const store = sharedStore(context);
  if (store === undefined) return false;
  if (await getShared(store, await sessionId(store, token, context), "state") !== ENDED) return false;
  families.end(token);
  return true;
}

/**
 * The id of a token's session, the same for all its tokens: derived from the first one, and stored for each
 * successor.
 */
async function sessionId(
  store: SharedStore,
  token: string,
  { settings: { families } }: EndingContext,
): Promise<string> {
  const known = families.idOf(token);
  if (known !== undefined) return known;
  const id = await getShared(store, token, "session") ?? derivedSecret(token, "session id");
  families.name(token, id);
  return id;
}

/** The states of a session in the store. */
const ENDED = "ended", BEGUN = "begun";

async function getShared(
  { lock }: SharedStore,
  secret: string,
  purpose: string,
): Promise<string | undefined> {
  const place = placeOf(secret, purpose);
  return place.open(await lock.get(place.name));
}

async function putShared(
  { lock }: SharedStore,
  secret: string,
  purpose: string,
  value: string,
): Promise<void> {
  const place = placeOf(secret, purpose);
  await lock.put(place.name, place.seal(value), REQUEST_LIMIT_MS);
}

/** The refresh lock as a read uses it, with its failures in the log. */
export function sharedStore({ settings: { refresh }, logger }: EndingContext): SharedStore | undefined {
  const { lock, grace, waitLimit } = refresh;
  if (lock === undefined) return undefined;
  const onError = (error: Error) => logger().error(error);
  return { lock: lock.reportingTo(onError), isExtensible: lock.isExtensible, grace, waitLimit, onError };
}
