/** The end of a session: nothing that was read before may bring it back, here or in another process. */
import type { LoggerInstance } from "@auth/core/types";
import type { ListedSession } from "../adapter/added_methods.ts";
import type { NamedSession, SessionHooks, SessionUse } from "../features/feature.ts";
import { removalOf } from "../http/set_cookie.ts";
import type { SessionCookie } from "./cookie.ts";
import { MOST_TURNS, REQUEST_LIMIT_MS } from "./live_sessions.ts";
import { isRowFor } from "./name.ts";
import { openToken, sessionName } from "./open.ts";
import { type CookieUpdate, type ReadContext, type SessionRead, SIGNED_OUT } from "./read.ts";
import { placeOf } from "../store/sealed_value.ts";
import type { SessionSettings } from "./settings.ts";
import type { OpenStore, SessionStoreFailure } from "../store/shared_store.ts";

export interface EndingContext {
  readonly settings: SessionSettings;
  readonly logger: Pick<LoggerInstance, "error">;
}

/** Milliseconds for which a request may come that was sent before the end: its cookies may be of the next session. */
const LATE_REQUESTS_MS = 30_000;

const ENDED = "ended";

/** The read of a session that ended. A browser that sends its token much later got it from a late reply. */
export function endedRead(name: string, cookie: SessionCookie, context: ReadContext): SessionRead | undefined {
  const { live } = context.settings;
  const milliseconds = live.endedFor(name);
  if (milliseconds === undefined) return undefined;
  return milliseconds < LATE_REQUESTS_MS ? SIGNED_OUT : removal(cookie, name, live.endings(name), context);
}

/** Removes the cookies, unless the session ended more often by then: its browser has signed in. */
export function removal({ names }: SessionCookie, name: string, endings: number, context: ReadContext): SessionRead {
  const { live, cookie } = context.settings;
  const update = cookieUpdate(() => names.map((name) => removalOf(name, cookie.options)), { ...context, name });
  return { session: null, update: { ...update, isOutdated: () => live.endings(name) !== endings } };
}

/** Sets cookies unless the session ended after the read, here or in another process. */
export function cookieUpdate(cookies: CookieUpdate["cookies"], context: ReadContext, sealed?: string): CookieUpdate {
  const { name, began, settings: { live, refresh, cookie } } = context;
  return {
    name: cookie.name,
    cookies,
    isOutdated: () => live.hasEndedSince(name, began),
    checkOtherProcesses: refresh.store && (() => followOthers(name, sealed, context)),
  };
}

/** Ends the session of a token. Gives why copies of it may still be accepted, which was logged. */
export async function endSession(token: string, context: EndingContext): Promise<SessionStoreFailure | undefined> {
  const { settings, logger } = context;
  const name = await sessionName(token, settings);
  settings.live.end(name);
  const place = placeOf(name, "state");
  await sharedStore(context)?.set(place.name, place.seal(ENDED), REQUEST_LIMIT_MS);
  const ends = settings.hooks.flatMap(({ onEnd }) => onEnd ?? []);
  const session = ends.length > 0 && await openToken(token, settings).catch(() => undefined);
  try {
    for (const onEnd of session ? ends : []) await onEnd(session as NamedSession);
  } catch (error) {
    logger.error(error as SessionStoreFailure);
    return error as SessionStoreFailure;
  }
}

export async function hasEnded(name: string, context: EndingContext): Promise<boolean> {
  const { live } = context.settings;
  if (live.endings(name) === 0 && sharedStore(context) !== undefined) await followOthers(name, undefined, context);
  return live.endings(name) > 0;
}

/** Has this process know what others have made of a session since: its end, and its newest token. */
async function followOthers(name: string, token: string | undefined, context: EndingContext): Promise<void> {
  const { live } = context.settings;
  const state = placeOf(name, "state");
  for (let turns = 0; turns < MOST_TURNS; turns++) {
    const newest = token && live.newest(token);
    const places = newest ? [state, placeOf(newest, "refresh")] : [state];
    const values = await sharedStore(context)!.get(places.map(({ name }) => name));
    // This process may have written it: an end that is known is not counted again.
    if (state.open(values[0]) === ENDED) return void (live.endings(name) || live.end(name));
    const result = places[1]?.open(values[1]);
    if (result === undefined) return;
    live.replace(name, newest!, JSON.parse(result).token);
  }
}

/** Whether a feature knows that it has ended. */
export async function hasEndedElsewhere(session: NamedSession, hooks: readonly SessionHooks[], use?: SessionUse) {
  for (const { hasEnded } of hooks) if (await hasEnded?.(session, use)) return true;
  return false;
}

export function sharedStore({ settings: { refresh }, logger }: EndingContext): OpenStore | undefined {
  return refresh.store?.reportingTo(logger);
}

/** Ends sessions of rows. All are tried, whichever fails. */
export async function endRows(rows: readonly ListedSession[], context: EndingContext): Promise<void> {
  const { settings } = context;
  const ends = await Promise.allSettled(rows.map(async ({ sessionToken }) => {
    const ofUse = isRowFor(sessionToken, "header") ? settings.forHeader! : settings;
    await endSession(sessionToken, { ...context, settings: ofUse });
    await settings.rows!.deleteSession!(sessionToken);
  }));
  const failed = ends.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
