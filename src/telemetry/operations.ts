/**
 * What can be observed of the plugin's work while it runs: operations on tracing channels of
 * `node:diagnostics_channel`. If nothing listens, an operation costs the question whether something does.
 */
import { type Channel, channel, type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import type { AdapterCallOperation, AuthActionOperation, Operation, ProviderRequestOperation } from "../types.ts";

/** What a message gets when its operation is done. */
type Ending<Message extends Operation> = { -readonly [Key in keyof Message]?: Message[Key] };

interface Described<Message extends Operation, Result> {
  readonly end?: (result: Result) => Ending<Message>;
  readonly failure?: (error: unknown) => Ending<Message>;
}

/** Of an error whose name is not one of few (`error.type` of OpenTelemetry's semantic conventions). */
const OTHER = "_OTHER";

/**
 * What went wrong, as one word of few: the code of a `FastifyAuthError`, the type of an error of Auth.js
 * (`"CredentialsSignin"`), or the name of any other error. Messages may have what a user typed, so they are not used.
 */
export function errorTypeOf(error: unknown): string {
  const { code, type, name } = (error ?? {}) as Record<string, unknown>;
  const own = typeof code === "string" && code.startsWith("FST_AUTHJS_") ? code : type ?? name;
  return typeof own === "string" && /^\w{1,64}$/.test(own) ? own : OTHER;
}

export class Operations<Message extends Operation> {
  readonly #channel: TracingChannel<Message, Message>;

  constructor(name: string) {
    this.#channel = tracingChannel(name);
  }

  /** Whether something listens. Without that, call the work itself. */
  get isObserved(): boolean {
    const { start, end, asyncStart, asyncEnd, error } = this.#channel;
    return start.hasSubscribers || asyncEnd.hasSubscribers || error.hasSubscribers || end.hasSubscribers ||
      asyncStart.hasSubscribers;
  }

  /** Does work that is observed. The error itself is not published: its message may have what a user typed. */
  trace<Result>(
    message: Message,
    work: () => Promise<Result>,
    { end: endOf = () => ({}), failure }: Described<Message, Result> = {},
  ): Promise<Result> {
    const { start, end } = this.#channel;
    return start.runStores(message, async () => {
      try {
        const running = message.run === undefined ? work() : message.run(work);
        end.publish(message);
        const result = await running;
        this.#finish(message, endOf(result));
        return result;
      } catch (error) {
        this.#finish(message, failure?.(error) ?? { errorType: errorTypeOf(error) } as Ending<Message>);
        throw error;
      }
    });
  }

  #finish(message: Message, ending: Ending<Message>): void {
    const { error, asyncStart, asyncEnd } = this.#channel;
    Object.assign(message, ending);
    if (message.errorType !== undefined) error.publish(message);
    asyncStart.publish(message);
    asyncEnd.publish(message);
  }
}

/** Requests to the auth routes, and the actions of `createAuth()`. */
export const authActions: Operations<AuthActionOperation> = new Operations("fastify-authjs.action");

export const providerRequests: Operations<ProviderRequestOperation> = new Operations("fastify-authjs.provider-request");
export const adapterCalls: Operations<AdapterCallOperation> = new Operations("fastify-authjs.adapter-call");

/**
 * Reads of sessions, as a `SessionReadEvent`. They are no operations: one takes some microseconds, and what takes
 * longer within is an operation of its own.
 */
export const sessionReads: Channel = channel("fastify-authjs:session-read");
