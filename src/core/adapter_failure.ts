/** The adapter during one auth request, and the answer if it fails. */
import type { Adapter } from "@auth/core/adapters";
import { AccountNotLinked, OAuthAccountNotLinked } from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import { SignInTurns, UnfinishedUsers } from "../adapter/sign_in_turns.ts";
import { SignInWrites } from "../adapter/sign_in_writes.ts";
import { sharedStore } from "../session/ending.ts";
import { placeOf } from "../session/sealed_value.ts";
import { type Answer, failedAnswer } from "./answer.ts";
import type { ProviderContext } from "./context.ts";

/**
 * The adapter for one call of core: a link signs in once, and first sign-ins of one user come one after the
 * other. After a failure it is not called again: core takes some for "not found", and would create a second
 * user.
 */
export function watchAdapter(context: ProviderContext) {
  const { config, settings, provider, logger } = context;
  let adapter = settings.adapter!;
  let writes: SignInWrites | undefined;
  let turns: SignInTurns | undefined;
  let failure: unknown;
  if (context.action === "callback") {
    const { memory, timeout } = config.signIns;
    const store = sharedStore(context);
    const place = (key: string) => placeOf(`${config.hashSecrets.current} ${key}`, "unfinished user");
    const unfinished = new UnfinishedUsers(store ?? memory, place);
    const isAlone = () => turns!.isAlone;
    writes = new SignInWrites(adapter, { type: provider.type, unfinished, isAlone, report: logger.error });
    turns = new SignInTurns(writes.adapter, { memory, store, timeout });
    adapter = turns.adapter;
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
        await turns?.end();
      }
    },
  };
}
