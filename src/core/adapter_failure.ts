/** The adapter during one auth request, and the answer where it fails. */
import type { Adapter } from "@auth/core/adapters";
import { AccountNotLinked, OAuthAccountNotLinked } from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import { FirstSignIn } from "../adapter/first_sign_ins.ts";
import type { Lock } from "../adapter/single_use.ts";
import { SignInWrites } from "../adapter/sign_in_writes.ts";
import { RECORD_LIFE_MS, type RecordPlaces, UnfinishedUsers } from "../adapter/unfinished_users.ts";
import { sharedStore } from "../session/ending.ts";
import { placeOf } from "../session/sealed_value.ts";
import type { Answer } from "./answer.ts";
import type { RequestContext } from "./context.ts";

/**
 * Answers a request with the adapter of its configuration.
 *
 * @param answer Has core answer with an adapter.
 * @returns Core's answer; one with {@linkcode unavailableError} where a failure of the adapter changed it.
 */
export async function answerWithAdapter(
  context: RequestContext,
  callWith: (adapter: Adapter) => Promise<Answer>,
): Promise<Answer> {
  const adapter = withSingleUse(context);
  const writes = writesOf(context, adapter, () => signIn!.isAlone);
  const signIn = writes && new FirstSignIn(writes.adapter, context.config.firstSignIns, lockOf(context));
  const watched = stopAtFailure(signIn?.adapter ?? adapter);

  try {
    const answer = await callWith(watched.adapter);
    const failure = watched.failed();
    const decided = failure !== undefined && decides(failure);
    await writes?.cleanUp(decided);
    if (isRefusedForUser(answer)) await writes?.explainRefusal();
    return decided ? unavailable(answer, failure, context) : answer;
  } finally {
    await signIn?.end();
  }
}

/** The adapter, with which a sign-in link signs in once. */
function withSingleUse(context: RequestContext): Adapter {
  const { provider, config, settings: { adapter } } = context;
  if (provider?.type !== "email") return adapter!;
  return config.linkUses.wrap(adapter!, lockOf(context));
}

/** The lock that processes share, if there is one. */
function lockOf({ settings, logger }: RequestContext): Lock | undefined {
  return sharedStore({ settings, logger: () => logger });
}

/** The first failed call. */
interface Failure {
  readonly method: string;
  readonly error: unknown;
}

interface Watched {
  readonly adapter: Adapter;
  /** The failed call, if there is one. */
  failed(): Failure | undefined;
}

/**
 * An adapter that is not called again after it failed. Core treats some failures as "not found" and goes on:
 * it would create a second user where it could not read the first.
 */
function stopAtFailure(adapter: Adapter): Watched {
  let failure: Failure | undefined;
  const methods = Object.entries(adapter as Record<string, (...args: unknown[]) => unknown>);
  const watched = methods.map(([method, call]) => [method, async (...args: unknown[]) => {
    if (failure) throw failure.error;
    try {
      return await call(...args);
    } catch (error) {
      failure ??= { method, error };
      throw error;
    }
  }]);
  return { adapter: Object.fromEntries(watched) as Adapter, failed: () => failure };
}

/** Whether the failure changed the answer. That an expired or replaced session could not be deleted does not. */
function decides({ method }: Failure): boolean {
  return method !== "deleteSession";
}

/** The answer if the adapter failed. */
function unavailable({ error }: Answer, failure: Failure, { logger }: RequestContext): Answer {
  if (error !== undefined) logger.error(error);
  return { status: 503, headers: {}, cookies: [], error: unavailableError(failure.error) };
}

/** Whether the e-mail address of the account is that of another user. */
function isRefusedForUser({ error }: Answer): boolean {
  return error instanceof OAuthAccountNotLinked || error instanceof AccountNotLinked;
}

/** Tracks what a sign-in writes, to delete it where the sign-in fails. */
function writesOf(
  context: RequestContext,
  adapter: Adapter,
  isAlone: () => boolean,
): SignInWrites | undefined {
  const { action, provider, logger } = context;
  if (action !== "callback" || provider === undefined) return undefined;
  const unfinished = new UnfinishedUsers(placesOf(context));
  return new SignInWrites(adapter, { type: provider.type, unfinished, isAlone, report: logger.error });
}

/** Where sign-ins record the users that they create: in the store that processes share, if there is one. */
function placesOf(context: RequestContext): RecordPlaces {
  const { config, settings, logger } = context;
  const store = sharedStore({ settings, logger: () => logger });
  if (store === undefined) return config.unfinishedUsers;
  const place = (key: string) => placeOf(`${config.hashSecrets.current} ${key}`, "unfinished user");
  return {
    async get(key) {
      const { name, open } = place(key);
      const [value] = await store.get([name]);
      return open(value);
    },
    async put(key, value) {
      const { name, seal } = place(key);
      await store.set(name, seal(value), value === "" ? 1 : RECORD_LIFE_MS);
    },
  };
}
