/** The store of a configuration, with a limit to each call. */
import type { LoggerInstance } from "@auth/core/types";
import { FastifyAuthError } from "../errors.ts";
import { redactError } from "../http/redact.ts";
import type { Store } from "../types.ts";
import { monotonicNow, withDeadline } from "../utils/time.ts";

/** How long a call may take, and how long a store that does not answer is done without, in milliseconds. */
const LIMIT_MS = 2_000, SILENCE_MS = 5_000;

/** The calls that fail open: none of them rejects. */
export type OpenStore = Pick<Store, "lock" | "unlock" | "get" | "set">;

type Log = Pick<LoggerInstance, "error">;
type Arguments<Name extends keyof Store> = Parameters<Store[Name]>;
type Answer<Name extends keyof Store> = Awaited<ReturnType<Store[Name]>>;

export class SessionStoreFailure extends FastifyAuthError {
  constructor(method: keyof Store, cause: unknown) {
    super("FST_AUTHJS_UNAVAILABLE", `The store's ${method}() failed.`, { cause: redactError(cause, []) });
  }
}

/** A store, as it is called by who cannot go on without an answer, and by who can. */
export class SharedStore {
  readonly #space: string;
  #isDown = false;
  /** When the next call that fails open is made, by {@linkcode monotonicNow}; 0 while the store answers. */
  #silentUntil = 0;

  /** @param limit Milliseconds that {@linkcode call} may take; 0 for no limit. */
  constructor(private readonly store: Store, private readonly limit: number, tenant: string | undefined) {
    this.#space = tenant === undefined ? "" : `${encodeURIComponent(tenant)}:`;
  }

  /** A key of the tenant. The name is encoded: no two things have the same key. */
  key(what: string, name: string, id?: string): string {
    const key = `${what}:${this.#space}${encodeURIComponent(name)}`;
    return id === undefined ? key : `${key}:${id}`;
  }

  /** Fails closed, with a {@linkcode SessionStoreFailure}: for what sessions may be ended by. */
  async call<Name extends keyof Store>(name: Name, ...args: Arguments<Name>): Promise<Answer<Name>> {
    try {
      const late = () => new Error(`It took over ${this.limit} ms.`);
      return await withDeadline(this.#send(name, args), this.limit, late);
    } catch (error) {
      throw new SessionStoreFailure(name, error);
    }
  }

  /** Fails open: while the store is down sessions are refreshed, and sign-in links used, without it. */
  reportingTo(log: Log): OpenStore {
    return {
      lock: (...args) => this.#attempt("lock", args, true, log),
      unlock: (...args) => this.#attempt("unlock", args, undefined, log),
      set: (...args) => this.#attempt("set", args, undefined, log),
      get: (...args) => this.#attempt("get", args, [], log),
    };
  }

  async #attempt<Name extends keyof OpenStore>(
    name: Name,
    args: Arguments<Name>,
    otherwise: Answer<Name>,
    log: Log,
  ): Promise<Answer<Name>> {
    const now = monotonicNow();
    if (now < this.#silentUntil) return otherwise;
    if (this.#silentUntil > 0) this.#silentUntil = now + SILENCE_MS;
    const answer = this.#send(name, args);
    answer.catch(() => {}).then(() => this.#silentUntil = 0);
    const late = () => {
      this.#silentUntil = monotonicNow() + SILENCE_MS;
      // What a lock was for goes on without it.
      const [key, owner] = args as Arguments<"unlock">;
      if (name === "lock") answer.then((held) => held && this.#send("unlock", [key, owner])).catch(() => {});
      return new Error(`no answer within ${LIMIT_MS} ms`);
    };
    try {
      const result = await withDeadline(answer, LIMIT_MS, late);
      this.#isDown = false;
      return result;
    } catch (cause) {
      const problem = `The store's ${name}() failed; sessions are refreshed and sign-in links used without it.`;
      if (!this.#isDown) log.error(new Error(problem, { cause }));
      this.#isDown = true;
      return otherwise;
    }
  }

  async #send<Name extends keyof Store>(name: Name, args: Arguments<Name>): Promise<Answer<Name>> {
    const store = this.store as unknown as Record<Name, (...args: Arguments<Name>) => Promise<Answer<Name>>>;
    const answer = await store[name](...args);
    const problem = problemOf(name, args, answer);
    if (problem !== undefined) throw new TypeError(problem);
    return answer;
  }
}

/** What is wrong with an answer: of a wrong one it would not be known whether a session has ended. */
function problemOf(method: keyof Store, [asked]: readonly unknown[], answer: unknown): string | undefined {
  const isText = (value: unknown) => typeof value === "string";
  if (method === "members") {
    return Array.isArray(answer) && answer.every(isText) ? undefined : "It must return an array of strings.";
  }
  if (method !== "get") return undefined;
  const isRight = Array.isArray(answer) && answer.length === (asked as readonly string[]).length &&
    answer.every((value) => value === undefined || value === null || isText(value));
  return isRight ? undefined : "It must return an array with the string of each key, in their order, or null.";
}
