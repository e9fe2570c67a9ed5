/** The adapter during one auth request, and the answer if it fails. */
import type { Adapter } from "@auth/core/adapters";
import { AccountNotLinked, OAuthAccountNotLinked } from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import { FirstSignIn } from "../adapter/first_sign_ins.ts";
import { SignInWrites } from "../adapter/sign_in_writes.ts";
import { RECORD_LIFE_MS, type RecordPlaces, UnfinishedUsers } from "../adapter/unfinished_users.ts";
import { sharedStore } from "../session/ending.ts";
import type { OpenStore } from "../session/shared_store.ts";
import { placeOf } from "../session/sealed_value.ts";
import { type Answer, failedAnswer } from "./answer.ts";
import type { ProviderContext } from "./context.ts";

/**
 * The adapter for one call of core: a link signs in once, and first sign-ins of one user come one after the other.
 * It is not called again after it failed. Core treats some failures as "not found" and goes on: it would create a
 * second user if it could not read the first.
 */
export function watchAdapter(context: ProviderContext) {
  const { config, settings, provider, logger } = context;
  const store = sharedStore({ settings, logger: () => logger });
  let adapter = settings.adapter!;
  let writes: SignInWrites | undefined;
  let signIn: FirstSignIn | undefined;
  let failure: unknown;
  if (provider.type === "email") adapter = config.linkUses.wrap(adapter, store);
  if (context.action === "callback") {
    const unfinished = new UnfinishedUsers(placesOf(context, store));
    const isAlone = () => signIn!.isAlone;
    writes = new SignInWrites(adapter, { type: provider.type, unfinished, isAlone, report: logger.error });
    signIn = new FirstSignIn(writes.adapter, config.firstSignIns, store);
    adapter = signIn.adapter;
  }
  const methods = Object.entries(adapter as Record<string, (...args: unknown[]) => unknown>);
  const watched = methods.map(([method, call]) => [method, async (...args: unknown[]) => {
    if (failure !== undefined) throw failure;
    try {
      return await call(...args);
    } catch (error) {
      failure ??= error;
      throw error;
    }
  }]);
  return {
    adapter: Object.fromEntries(watched) as Adapter,
    /** The answer, once core has given one, and what a failed sign-in wrote is undone. */
    async finish(answer: Answer): Promise<Answer> {
      const { error } = answer;
      try {
        await writes?.cleanUp(failure !== undefined);
        if (error instanceof OAuthAccountNotLinked || error instanceof AccountNotLinked) {
          await writes?.explainRefusal();
        }
        if (failure === undefined) return answer;
        if (error !== undefined) logger.error(error);
        return failedAnswer(unavailableError(failure));
      } finally {
        await signIn?.end();
      }
    },
  };
}

/** Where sign-ins record the users that they create: in the store that processes share, if there is one. */
function placesOf({ config }: ProviderContext, store: OpenStore | undefined): RecordPlaces {
  if (store === undefined) return config.unfinishedUsers;
  const place = (key: string) => placeOf(`${config.hashSecrets.current} ${key}`, "unfinished user");
  return {
    async get(key) {
      const { name, open } = place(key);
      const [value] = await store.get([name]);
      return open(value);
    },
    async set(key, value) {
      const { name, seal } = place(key);
      await store.set(name, seal(value), value === "" ? 1 : RECORD_LIFE_MS);
    },
  };
}
