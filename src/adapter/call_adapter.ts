/** The adapter for one call of core. A sign-in waits for others of its user; if it fails, it undoes what it wrote. */
import type { Adapter } from "@auth/core/adapters";
import { AccountNotLinked, OAuthAccountNotLinked } from "@auth/core/errors";
import { FastifyAuthError } from "../errors.ts";
import { placeOf } from "../store/sealed_value.ts";
import { type SignInMemory, SignInTurns, UnfinishedUsers } from "./sign_in_turns.ts";
import { SignInWrites } from "./sign_in_writes.ts";

export interface Callback {
  /** What the processes share, and what this one remembers. */
  readonly store: SignInMemory | undefined;
  readonly memory: SignInMemory;
  /** How long a call of the adapter may take, in milliseconds; 0 for no limit. */
  readonly timeout: number;
  readonly secret: string;
  readonly type: string;
  readonly report: (error: Error) => void;
}

export class CallAdapter {
  readonly adapter: Adapter;
  readonly #writes: SignInWrites | undefined;
  readonly #turns: SignInTurns | undefined;
  #failure: unknown;

  /** @param callback For what finishes a sign-in. Nothing else writes. */
  constructor(adapter: Adapter, callback: Callback | undefined) {
    if (callback !== undefined) {
      const { store, memory, timeout, secret, type, report } = callback;
      const place = (key: string) => placeOf(`${secret} ${key}`, "unfinished user");
      const unfinished = new UnfinishedUsers(store ?? memory, place);
      const isAlone = () => this.#turns!.isAlone;
      this.#writes = new SignInWrites(adapter, { type, unfinished, isAlone, report });
      this.#turns = new SignInTurns(this.#writes.adapter, { memory, store, timeout });
    }
    const watched: Record<string, unknown> = {};
    for (const [name, method] of Object.entries(this.#turns?.adapter ?? adapter)) {
      watched[name] = this.#untilFailure(method);
    }
    this.adapter = watched;
  }

  /** After a failure no method is called: core would take it for "not found". */
  #untilFailure(method: (...args: unknown[]) => unknown) {
    return async (...args: unknown[]) => {
      if (this.#failure !== undefined) throw this.#failure;
      try {
        return await method(...args);
      } catch (error) {
        this.#failure ??= error;
        throw error;
      }
    };
  }

  /** Undoes what a failed sign-in wrote, and gives why the adapter has failed. `error` is why there is no session. */
  async finish(error: Error | undefined): Promise<unknown> {
    // One of ours is about the store or a provider that does not answer.
    await this.#writes?.cleanUp(this.#failure !== undefined || error instanceof FastifyAuthError);
    if (error instanceof OAuthAccountNotLinked || error instanceof AccountNotLinked) {
      await this.#writes?.explainRefusal();
    }
    return this.#failure;
  }

  /** Lets others of the same user go on. Never rejects. */
  async end(): Promise<void> {
    await this.#turns?.end();
  }
}
