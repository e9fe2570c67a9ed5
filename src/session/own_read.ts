/**
 * Functions of the application that run while a session is read or updated, and ask for this very session:
 * callbacks, events, methods of the adapter. They would wait for what waits for them, so they get what is
 * known of the session by then.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { FastifyAuthError } from "../errors.ts";
import { type OwnRead, type SessionRead, toSession } from "./read.ts";

/** A read or an update under way. Deno keeps it until its next collection of garbage, so it is emptied. */
interface UnderWay {
  own: OwnRead | undefined;
  /** The one in which a function of the application began this one. */
  outer: UnderWay | undefined;
}

const storage = new AsyncLocalStorage<UnderWay>();

/** Reads or updates a session. What runs meanwhile finds it with {@linkcode ownReadOf}. */
export async function asOwn<Arguments extends unknown[], Result>(
  own: OwnRead,
  work: (...args: Arguments) => Promise<Result>,
  ...args: Arguments
): Promise<Result> {
  const underWay: UnderWay = { own, outer: storage.getStore() };
  try {
    return await storage.run(underWay, work, ...args);
  } finally {
    // What was begun may go on for longer, such as a timer.
    underWay.own = underWay.outer = undefined;
  }
}

/** The read or update in which this runs, if another one would wait for it: it is the same, or of the same session. */
export function ownReadOf(asked: Pick<OwnRead, "name" | "settings">): OwnRead | undefined {
  for (let each = storage.getStore(); each !== undefined; each = each.outer) {
    const { own } = each;
    if (own === asked) return own;
    if (own === undefined || own.isMade || own.settings.live !== asked.settings.live) continue;
    if (own.name !== "" && own.name === asked.name) return own;
  }
}

/** What is known of a session in the middle of its read. */
export function knownRead({ known, settings, logger, warn }: OwnRead): SessionRead {
  warn(ASKS_FOR_ITSELF);
  if (known === undefined) {
    return { session: null, failure: new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", ASKS_FOR_ITSELF) };
  }
  const { session, claims } = known;
  return { session: toSession(session, { logger, settings }), ...(claims && { claims }) };
}

/** Why `getAccessToken()` throws there: the read that refreshes would begin anew. */
export const REFRESHES_ITSELF =
  "getAccessToken() was called by a function that is called while the session is read, such as the `jwt` callback, and " +
  "would refresh the tokens of this very session. Call it in a handler or a hook.";

const ASKS_FOR_ITSELF =
  "A function that is called while a session is read, such as the `jwt` or `session` callback, an event or a " +
  "method of the adapter, asks for this very session. It gets what is known of it by then, which may lack what " +
  "the callbacks add: have it use the `session`, `token` or `user` that it is given.";
