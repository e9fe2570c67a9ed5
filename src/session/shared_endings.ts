/**
 * What processes tell one another of the end of sessions, through the store of the refresh lock: which tokens
 * are of one session, and that it ended.
 *
 * @module
 */
import type { SharedStore } from "./refresh_lock.ts";
import { derivedSecret, placeOf } from "./sealed_value.ts";
import { REQUEST_LIMIT_MS } from "./token_families.ts";

/**
 * The id of a token's session, the same for all its tokens. It is derived from the first known token, and
 * stored for each successor.
 */
export async function sharedSessionId({ lock }: SharedStore, token: string): Promise<string> {
  const place = placeOf(token, "session");
  return place.open(await lock.get(place.name)) ?? derivedSecret(token, "session id");
}

/** Has a new token lead to the session it goes on with. */
export async function shareSuccessor({ lock }: SharedStore, successor: string, id: string): Promise<void> {
  const place = placeOf(successor, "session");
  await lock.put(place.name, place.seal(id), REQUEST_LIMIT_MS);
}

const ENDED = "ended", BEGUN = "begun";

/** Tells the other processes that a session ended, or that it began anew. */
export async function shareState({ lock }: SharedStore, id: string, hasEnded: boolean): Promise<void> {
  const place = placeOf(id, "state");
  await lock.put(place.name, place.seal(hasEnded ? ENDED : BEGUN), REQUEST_LIMIT_MS);
}

/** Whether another process said that a session ended. */
export async function hasSharedEnd({ lock }: SharedStore, id: string): Promise<boolean> {
  const place = placeOf(id, "state");
  return place.open(await lock.get(place.name)) === ENDED;
}
