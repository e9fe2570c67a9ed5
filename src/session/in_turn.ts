/** Makes the next token of a session in one process at a time: the others get it from the store. */
import { randomUUID } from "node:crypto";
import { FastifyAuthError } from "../errors.ts";
import { monotonicNow, pollPause } from "../utils/time.ts";
import { type EndingContext, sharedStore } from "./ending.ts";
import { GRACE_MS, MOST_TURNS } from "./live_sessions.ts";
import { type OpenToken, openToken } from "./open.ts";
import { placeOf } from "../store/sealed_value.ts";

/** Another process holds the lock for too long (503). */
export function refreshedElsewhere(): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_UNAVAILABLE",
    "Another process is refreshing the tokens and has not finished. Try again in a moment.",
  );
}

const waitedInVain = (milliseconds: number) =>
  `A request waited ${milliseconds} ms for another process to refresh its session or tokens, and refreshes nothing. ` +
  "If no process was killed and no refresh takes that long, the store's `lock()` does not return true for a free lock.";

/** The result of the work, or the token that another process has made. */
type Turn<Result> =
  | { readonly done: Result; readonly joined?: never }
  | { readonly done?: never; readonly joined: OpenToken; readonly isUpdate: boolean };

/**
 * Works on a token in one process at a time, which leaves what is `sealed` for the others. If it dies, another takes
 * over once the lock has expired. Gives nothing if another process takes too long.
 */
export async function inTurn<Result extends { readonly sealed?: string | undefined }>(
  context: EndingContext,
  token: string,
  work: () => Promise<Result>,
  isUpdate = false,
): Promise<Turn<Result> | undefined> {
  const { settings, logger } = context;
  const { waitLimit } = settings.refresh;
  const store = sharedStore(context);
  if (store === undefined) return { done: await work() };
  const place = placeOf(token, "refresh");
  const owner = randomUUID();
  const until = monotonicNow() + waitLimit;
  while (!await store.lock(place.name, owner, 2 * waitLimit)) {
    const other = await turnOfOther();
    if (other !== undefined) return other;
    if (monotonicNow() >= until) return void logger.error(new Error(waitedInVain(waitLimit)));
    await pollPause();
  }
  try {
    const other = await turnOfOther();
    if (other !== undefined) return other;
    const began = monotonicNow();
    const done = await work();
    const { sealed = token } = done;
    if (sealed !== token && await isNewest(monotonicNow() - began)) {
      // The application's codec may make a token again, which then is the newest.
      if (!settings.ownTokens) await store.set(placeOf(sealed, "refresh").name, "", 1);
      await store.set(place.name, place.seal(JSON.stringify({ token: sealed, isUpdate })), GRACE_MS);
    }
    return { done };
  } finally {
    await store.unlock(place.name, owner);
  }

  async function turnOfOther(): Promise<Turn<Result> | undefined> {
    const [value] = await store!.get([place.name]);
    const text = place.open(value);
    if (text === undefined) {
      const problem = "A value in the store was not written for its key; the session is refreshed anew.";
      if (value) logger.error(new Error(problem));
      return undefined;
    }
    const { token, isUpdate = false } = JSON.parse(text);
    const joined = await openToken(token, settings).catch(() => undefined);
    return joined && { joined, isUpdate };
  }

  /** Whether no other process has refreshed the token since the lock expired. */
  async function isNewest(took: number): Promise<boolean> {
    if (took <= 2 * waitLimit) return true;
    const [value] = await store!.get([place.name]);
    const isAlone = place.open(value) === undefined;
    const problem =
      `Refreshing a session took ${Math.round(took)} ms, and its lock expires after ${2 * waitLimit} ms. ` +
      (isAlone ? "No other process has refreshed it." : "Another process has refreshed it meanwhile.");
    logger.error(new Error(problem));
    return isAlone;
  }
}

/** Updates a session in one request and one process at a time. Throws if another process takes too long. */
export async function updateInTurn<Result extends { readonly sealed?: string | undefined }>(
  name: string,
  token: string,
  work: (newest: string) => Promise<Result>,
  context: EndingContext,
): Promise<Result> {
  const { live, isShared } = context.settings;
  const { done } = await live.update(name, token, async (newest) => {
    let given = newest;
    for (let turns = 1;; turns++) {
      // Otherwise no read waits for the lock.
      const turn = isShared ? await inTurn(context, given, () => work(given), true) : { done: await work(given) };
      const sealed = turn?.joined?.token || turn?.done?.sealed || given;
      for (const before of [token, given]) live.replace(name, before, sealed);
      if (turn?.joined === undefined || turns === MOST_TURNS) return { sealed, done: turn?.done };
      given = sealed;
    }
  });
  if (done === undefined) throw refreshedElsewhere();
  return done;
}
