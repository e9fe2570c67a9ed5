/** Which read a function of the application runs in. It must not wait for that read, which waits for the function. */
import type { JWT } from "@auth/core/jwt";
import { AsyncLocalStorage } from "node:async_hooks";
import { FastifyAuthError } from "../errors.ts";
import { withDeadline } from "../utils/time.ts";
import { CallbackFailure, type ReadContext, type SessionRead, toSession } from "./read.ts";

/** The read or update that runs, and those in which functions of the application began it. */
const storage = new AsyncLocalStorage<ReadContext[]>();

/** The reads whose callback runs outside of it. */
const calling: ReadContext[] = [];

/**
 * Reads or updates a session. What runs meanwhile finds it with {@linkcode ownReadOf}. Only needed if functions of the
 * application may wait: on Node 20 it makes each promise of the process slower.
 */
export async function asOwn<Result>(context: ReadContext, work: () => Promise<Result>): Promise<Result> {
  const underWay = [context, ...storage.getStore() ?? []];
  try {
    return await storage.run(underWay, work);
  } finally {
    // What was begun may go on for longer, such as a timer, and Deno keeps this until it collects garbage.
    underWay.length = 0;
  }
}

/**
 * Calls a callback; without one, gives what core's default callback gives. The first one that returns a promise may be
 * called outside of {@linkcode asOwn}. Throws a {@linkcode CallbackFailure} if the callback fails.
 */
export async function callOwn(name: "jwt" | "session", params: CallbackParams, context: ReadContext): Promise<unknown> {
  const { callbacks: { [name]: callback }, live } = context.settings;
  if (callback === undefined) return name === "jwt" ? params.token : params.session;
  const isWithin = storage.getStore()?.includes(context);
  if (!isWithin) calling.push(context);
  context.call = undefined;
  try {
    const result = callback(params as never) as PromiseLike<unknown> | null;
    if (typeof result?.then !== "function") return result;
    live.hasAsyncCallbacks = true;
    return await (context.call = result);
  } catch (error) {
    throw new CallbackFailure(`\`${name}\` callback`, error);
  } finally {
    if (!isWithin) calling.splice(calling.lastIndexOf(context), 1);
  }
}

/** The read or update in which this runs, if another one would wait for it: it is the same, or of the same session. */
export async function ownReadOf(asked: Asked): Promise<ReadContext | undefined> {
  for (let caller; (caller = callerOf(asked)) !== undefined;) {
    const { call } = caller;
    // Nothing else runs until the callback returns.
    if (call === undefined || !calling.includes(caller)) return caller;
    // After that, this may be part of what its promise waits for, or of another request: neither gets half a session.
    await withDeadline(call, asked.settings.refresh.waitLimit, () => new Error()).catch(() => {});
    if (caller.call === call && calling.includes(caller)) return { ...caller, known: undefined };
  }
}

type CallbackParams = { readonly token?: JWT; readonly session: unknown };

type Asked = Pick<ReadContext, "name" | "settings">;

/** A read or update that may have called what runs now, if another one would wait for it. */
export function callerOf(asked: Asked): ReadContext | undefined {
  const wouldWaitFor = (context: ReadContext) =>
    context === asked || (context.name !== "" && context.name === asked.name && !context.isMade &&
      context.settings.live === asked.settings.live);
  return storage.getStore()?.find(wouldWaitFor) ?? calling.find(wouldWaitFor);
}

/** What is known of a session so far, if its read waits for what asks for it. */
export async function knownRead(asked: Asked): Promise<SessionRead | undefined> {
  const context = await ownReadOf(asked);
  if (context === undefined) return undefined;
  context.logger.warnOnce("own session", ASKS_FOR_ITSELF, "FST_AUTHJS_WARN_CALLBACK");
  const { known } = context;
  if (known === undefined) {
    return { session: null, failure: new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", ASKS_FOR_ITSELF) };
  }
  return { session: toSession(known.session, context), ...(known.token && { claims: known.token }) };
}

const ASKS_FOR_ITSELF =
  "A function that is called while a session is read, such as the `jwt` or `session` callback, an event or a " +
  "method of the adapter, asks for this very session, or takes long and is not `async`. The answer is what is known " +
  "by then: have it use the `session`, `token` or `user` that it is given, and declare it `async` if it waits.";
