/** The log, and warnings about the set-up that come up after boot, such as a date that cannot be read. */
import type { LoggerInstance } from "@auth/core/types";

/**
 * The logger of Fastify, as far as it is used: `error` for a failure of the application, its adapter or a provider,
 * `warn` for what the operator should check, `info` for a mistake of a client.
 */
export type Log = Readonly<
  Record<"error" | "warn" | "info" | "debug", (details: object, message: string) => void>
>;

/** The stable code of a warning, as `code` on its line of the log. docs/troubleshooting.md says what each means. */
export type NoticeCode = `FST_AUTHJS_WARN_${string}`;

export type Notice = Readonly<{ code: NoticeCode; message: string }>;

/** Core's logger, with a cheaper method for what any client can cause at will, and one for what is said once. */
export interface AuthLogger extends LoggerInstance {
  /** Logs why a session token was refused, as core's `JWTSessionError` would. */
  refusal(reason: Error): void;
  warnOnce(what: string, message: string, code: NoticeCode): void;
}

/** Keeps warnings until the application's log is known. */
export class Notices {
  #log: Log | undefined;
  readonly #waiting: Notice[] = [];
  readonly #told = new Set<string>();

  warn(message: string, code: NoticeCode): void {
    this.#waiting.push({ code, message });
    if (this.#log !== undefined) this.sendTo(this.#log);
  }

  warnOnce(message: string, code: NoticeCode): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.warn(message, code);
  }

  /** The log of the application; `undefined` until the plugin is registered. */
  get log(): Log | undefined {
    return this.#log;
  }

  sendTo(log: Log): void {
    this.#log ??= log;
    for (const { message, ...details } of this.#waiting.splice(0)) this.#log.warn(details, message);
  }
}
