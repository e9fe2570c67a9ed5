/**
 * Warnings about the set-up that only requests bring to light, such as rows that make no sense.
 *
 * @module
 */
import type { Log } from "../utils/log.ts";

/** Where they go: to the log of the application, as soon as it is known. */
export class Notices {
  #log: Log | undefined;
  readonly #waiting: string[] = [];

  /** Says it, once there is a log. */
  warn(message: string): void {
    if (this.#log === undefined) this.#waiting.push(message);
    else this.#log.warn({}, message);
  }

  /** The log to use; the first one stays. */
  sendTo(log: Log): void {
    this.#log ??= log;
    for (const message of this.#waiting.splice(0)) this.#log.warn({}, message);
  }
}
