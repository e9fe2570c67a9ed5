/** Refreshing a token in one process of several: the others get the result from the store. */
import { FastifyAuthError } from "../errors.ts";
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { monotonicNow } from "../utils/monotonic.ts";
import { type EndingContext, hasEnded, sharedStore } from "./ending.ts";
import { GRACE_MS } from "./live_sessions.ts";
import { placeOf } from "./sealed_value.ts";

/** How often a waiting process looks for the result, in milliseconds. */
const POLL_INTERVAL_MS = 40;

/** Another process holds the lock for too long (503). */
export function refreshedElsewhere(): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_UNAVAILABLE",
    "Another process is refreshing the tokens and has not finished. Try again in a moment.",
  );
}

/** What is done once for a token. */
interface Refresh<Outcome extends { readonly sealed?: string | undefined }> {
  /** Refreshes the token; what it returns as `sealed` is left for the others. */
  work(): Promise<Outcome>;
  /** Whether the work is an update of the session. */
  readonly isUpdate?: boolean;
  /** Reads what another process refreshed or updated the token to; `undefined` if it cannot. */
  join(sealed: string, isUpdate: boolean): Promise<Outcome | undefined>;
  /** What is done if another process takes too long: nothing is refreshed. */
  leave(): Promise<Outcome>;
  /** The session of the token, and the outcome if it has ended. */
  readonly session?: { readonly name: string; readonly ended: Outcome };
}

/**
 * Refreshes a token in one process at a time, which holds a lock for twice as long as others wait for it. If
 * it dies, another takes over once the lock has expired. Without a store this process is the only one.
 */
export async function refreshOnce<Outcome extends { readonly sealed?: string | undefined }>(
  context: EndingContext,
  token: string,
  { work, isUpdate = false, join, leave, session }: Refresh<Outcome>,
): Promise<Outcome> {
  const { settings: { refresh: { waitLimit } }, logger } = context;
  const store = sharedStore(context);
  if (store === undefined) return await work();
  const place = placeOf(token, "refresh");
  const owner = randomUUID();
  const until = monotonicNow() + waitLimit;
  while (!await store.lock(place.name, owner, 2 * waitLimit)) {
    const joined = await joinOther();
    if (joined !== undefined) return joined;
    if (monotonicNow() >= until) return await leave();
    await setTimeout(POLL_INTERVAL_MS * (0.5 + Math.random()));
  }
  try {
    if (await isOver()) return session!.ended;
    const joined = await joinOther();
    if (joined !== undefined) return joined;
    const began = monotonicNow();
    const outcome = await work();
    const { sealed } = outcome;
    if (sealed !== undefined && !await isOver() && await isNewest(monotonicNow() - began)) {
      const result = place.seal(JSON.stringify({ token: sealed, isUpdate }));
      await store.set(place.name, result, GRACE_MS);
    }
    return outcome;
  } finally {
    await store.unlock(place.name, owner);
  }

  async function isOver(): Promise<boolean> {
    return session !== undefined && await hasEnded(session.name, context);
  }

  async function joinOther(): Promise<Outcome | undefined> {
    const text = await resultOfOther();
    if (text === undefined) return undefined;
    const { token, isUpdate = false } = JSON.parse(text);
    return await join(token, isUpdate);
  }

  async function resultOfOther(): Promise<string | undefined> {
    const [value] = await store!.get([place.name]);
    const text = place.open(value);
    if (text === undefined && value) {
      const problem = "A value in the store was not written for its key; the session is refreshed anew.";
      logger().error(new Error(problem));
    }
    return text;
  }

  /** Whether no other process has refreshed the token since the lock expired. */
  async function isNewest(took: number): Promise<boolean> {
    if (took <= 2 * waitLimit) return true;
    const isAlone = await resultOfOther() === undefined;
    const problem =
      `Refreshing a session took ${Math.round(took)} ms, and its lock expires after ${2 * waitLimit} ms. ` +
      (isAlone ? "No other process has refreshed it." : "Another process has refreshed it meanwhile.");
    logger().error(new Error(problem));
    return isAlone;
  }
}
