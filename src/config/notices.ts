/** Warnings about the set-up that come up after boot, such as a date in the database that cannot be read. */
import type { Log } from "../utils/log.ts";

/** Keeps warnings until the application's log is known. */
export class Notices {
  #log: Log | undefined;
  readonly #waiting: string[] = [];

  warn(message: string): void {
    if (this.#log === undefined) this.#waiting.push(message);
    else this.#log.warn({}, message);
  }

  /** Sets the log; the first one stays. */
  sendTo(log: Log): void {
    this.#log ??= log;
    for (const message of this.#waiting.splice(0)) this.#log.warn({}, message);
  }
}
