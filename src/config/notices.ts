/** Warnings about the set-up that come up after boot, such as a date in the database that cannot be read. */
import type { Log } from "../utils/log.ts";

/**
 * The stable code of a mistake that does not stop the boot, as `code` on its line of the log. It is said once.
 *
 * - `FST_AUTHJS_WARN_CREDENTIALS`: A provider has no client id, client secret or API key.
 * - `FST_AUTHJS_WARN_TLS`: A provider is reached without TLS, by `insecureProviders`.
 * - `FST_AUTHJS_WARN_ORIGIN`: A request contradicts the public origin in use.
 * - `FST_AUTHJS_WARN_CALLBACK_URL`: A `callbackUrl` was refused.
 * - `FST_AUTHJS_WARN_CALLBACK`: A callback of the configuration returned nothing.
 * - `FST_AUTHJS_WARN_CONFIG_OBJECT`: A session is read with another configuration than the mounted one.
 * - `FST_AUTHJS_WARN_ROLES`: A guard requires a role, and the session has none.
 */
export type NoticeCode =
  | "FST_AUTHJS_WARN_CREDENTIALS"
  | "FST_AUTHJS_WARN_TLS"
  | "FST_AUTHJS_WARN_ORIGIN"
  | "FST_AUTHJS_WARN_CALLBACK_URL"
  | "FST_AUTHJS_WARN_CALLBACK"
  | "FST_AUTHJS_WARN_CONFIG_OBJECT"
  | "FST_AUTHJS_WARN_ROLES";

/** A warning. Those about the set-up at boot have mostly no code. */
export interface Notice {
  readonly code?: NoticeCode;
  readonly message: string;
}

/** Keeps warnings until the application's log is known. */
export class Notices {
  #log: Log | undefined;
  readonly #waiting: Notice[] = [];

  warn(message: string, code?: NoticeCode): void {
    const notice = code === undefined ? { message } : { code, message };
    if (this.#log === undefined) this.#waiting.push(notice);
    else send(this.#log, notice);
  }

  /** Sets the log; the first one stays. */
  sendTo(log: Log): void {
    this.#log ??= log;
    for (const notice of this.#waiting.splice(0)) send(this.#log, notice);
  }
}

function send(log: Log, { message, ...details }: Notice): void {
  log.warn(details, message);
}
