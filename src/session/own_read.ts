/**
 * Functions of the application that run while a session is read or updated, and ask for this very session. They
 * would wait for what waits for them, so they get what is known of the session by then.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { FastifyAuthError } from "../errors.ts";
import { type ReadContext, type SessionRead, toSession, warnOnce } from "./read.ts";

/** A read or an update under way, and the one in which a function of the application began it. */
interface UnderWay {
  context: ReadContext | undefined;
  outer: UnderWay | undefined;
}

const storage = new AsyncLocalStorage<UnderWay>();

/** Reads or updates a session. What runs meanwhile finds it with {@linkcode ownReadOf}. */
export async function asOwn<Arguments extends unknown[], Result>(
  context: ReadContext,
  work: (...args: Arguments) => Promise<Result>,
  ...args: Arguments
): Promise<Result> {
  const underWay: UnderWay = { context, outer: storage.getStore() };
  try {
    return await storage.run(underWay, work, ...args);
  } finally {
    // What was begun may go on for longer, such as a timer, and Deno keeps this until it collects garbage.
    underWay.context = underWay.outer = undefined;
  }
}

/** The read or update in which this runs, if another one would wait for it: it is the same, or of the same session. */
export function ownReadOf(asked: Pick<ReadContext, "name" | "settings">): ReadContext | undefined {
  for (let each = storage.getStore(); each !== undefined; each = each.outer) {
    const { context } = each;
    if (context === undefined || context === asked) return context;
    const isOfSession = context.name !== "" && context.name === asked.name;
    if (isOfSession && !context.isMade && context.settings.live === asked.settings.live) return context;
  }
}

/** What is known of a session in the middle of its read. */
export function knownRead(context: ReadContext): SessionRead {
  warnOnce(context, "own session", "FST_AUTHJS_WARN_CALLBACK", ASKS_FOR_ITSELF);
  const { known } = context;
  if (known === undefined) {
    return { session: null, failure: new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", ASKS_FOR_ITSELF) };
  }
  return { session: toSession(known.session, context), ...(known.token && { claims: known.token }) };
}

const ASKS_FOR_ITSELF =
  "A function that is called while a session is read, such as the `jwt` or `session` callback, an event or a " +
  "method of the adapter, asks for this very session. It gets what is known of it by then, which may lack what " +
  "the callbacks add: have it use the `session`, `token` or `user` that it is given.";
