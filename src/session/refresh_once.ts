/** Refreshing a token in one process of several: the others get the result from the store. */
import type { LoggerInstance } from "@auth/core/types";
import { FastifyAuthError } from "../errors.ts";
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { monotonicNow } from "../utils/monotonic.ts";
import { type Place, placeOf } from "./sealed_value.ts";
import type { OpenStore } from "./shared_store.ts";

/** How often a waiting process looks for the result, in milliseconds. */
const POLL_INTERVAL_MS = 40;

/** How long a result is left at least, in milliseconds: for the requests that wait for it. */
const RESULT_LIFE_MS = 2_000;

/** Another process holds the lock for too long (503). */
export function refreshedElsewhere(): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_UNAVAILABLE",
    "Another process is refreshing the tokens and has not finished. Try again in a moment.",
  );
}

/** How processes take turns. Times are in milliseconds. */
export interface Turns {
  readonly store: OpenStore;
  /** For how long a token that was refreshed leads to the one that took its place. */
  readonly grace: number;
  /** For how long another process is waited for. */
  readonly waitLimit: number;
  readonly logger: () => Pick<LoggerInstance, "error">;
}

/** What is done once for a token. */
export interface Refresh<Outcome extends { readonly sealed?: string | undefined }> {
  /** Refreshes the token; what it returns as `sealed` is left for the others. */
  work(): Promise<Outcome>;
  /** Whether the work is an update of the session. */
  readonly isUpdate?: boolean;
  /** Reads the session of what another process refreshed or updated the token to; `undefined` if it cannot. */
  join(sealed: string, isUpdate: boolean): Promise<Outcome | undefined>;
  /** What is done if another process takes too long: nothing is refreshed. */
  leave(): Promise<Outcome>;
  /** Whether the session ended, as far as this process or the store knows. */
  hasEnded(): Promise<boolean>;
  /** The outcome if it did. */
  readonly ended: Outcome;
}

/**
 * Refreshes a token in one process at a time, which holds a lock for twice as long as others wait for it. If it dies,
 * another takes over once the lock has expired.
 */
export async function refreshOnce<Outcome extends { readonly sealed?: string | undefined }>(
  turns: Turns,
  token: string,
  refresh: Refresh<Outcome>,
): Promise<Outcome> {
  const { store, grace, waitLimit } = turns;
  const place = placeOf(token, "refresh");
  const owner = randomUUID();
  const until = monotonicNow() + waitLimit;
  let hasWaited = false;
  while (!await store.lock(place.name, owner, 2 * waitLimit)) {
    hasWaited = true;
    const outcome = await joinResult(turns, place, refresh);
    if (outcome !== undefined) return outcome;
    if (monotonicNow() >= until) return await refresh.leave();
    await setTimeout(POLL_INTERVAL_MS * (0.5 + Math.random()));
  }
  try {
    if (await refresh.hasEnded()) return refresh.ended;
    // Without a grace a result is for the requests that waited for it.
    const joined = hasWaited || grace > 0 ? await joinResult(turns, place, refresh) : undefined;
    if (joined !== undefined) return joined;
    const began = monotonicNow();
    const outcome = await refresh.work();
    if (outcome.sealed !== undefined && !await refresh.hasEnded()) {
      const { isUpdate = false } = refresh;
      await leaveResult(turns, place, { token: outcome.sealed, isUpdate }, monotonicNow() - began);
    }
    return outcome;
  } finally {
    await store.unlock(place.name, owner);
  }
}

/** What another process has left. */
async function joinResult<Outcome extends { readonly sealed?: string | undefined }>(
  turns: Turns,
  place: Place,
  { join }: Refresh<Outcome>,
): Promise<Outcome | undefined> {
  const result = await resultOf(turns, place);
  return result === undefined ? undefined : await join(result.token, result.isUpdate);
}

/** What took the place of a token. */
interface Result {
  readonly token: string;
  readonly isUpdate: boolean;
}

async function resultOf({ store, logger }: Turns, place: Place): Promise<Result | undefined> {
  const [value] = await store.get([place.name]);
  const text = place.open(value);
  if (text === undefined && value) {
    const problem = "A value in the store was not written for its key; the session is refreshed anew.";
    logger().error(new Error(problem));
  }
  return text === undefined ? undefined : { isUpdate: false, ...JSON.parse(text) };
}

/** @param took Milliseconds: after those of the lock another process may have left a newer result. */
async function leaveResult(turns: Turns, place: Place, result: Result, took: number): Promise<void> {
  const { store, grace, waitLimit, logger } = turns;
  if (took > 2 * waitLimit) {
    const isNewest = await resultOf(turns, place) === undefined;
    const problem =
      `Refreshing a session took ${Math.round(took)} ms, and its lock expires after ${2 * waitLimit} ms. ` +
      (isNewest ? "No other process has refreshed it." : "Another process has refreshed it meanwhile.");
    logger().error(new Error(problem));
    if (!isNewest) return;
  }
  await store.set(place.name, place.seal(JSON.stringify(result)), Math.max(grace, RESULT_LIFE_MS));
}
