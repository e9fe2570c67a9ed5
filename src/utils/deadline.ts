/** Timeouts. */
import { FastifyAuthError } from "../errors.ts";

/** The longest delay of a timer, in milliseconds; with a longer one it fires at once. */
const LONGEST = 2 ** 31 - 1;

/**
 * Checks a timeout of the configuration.
 *
 * @param value Milliseconds; 0 for no limit.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is invalid.
 */
export function requireTimeout(option: string, value: number | undefined): number | undefined {
  if (value === undefined || (typeof value === "number" && value >= 0 && value <= LONGEST)) return value;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `\`${option}\` must be a number of milliseconds up to ${LONGEST}, or 0 for no limit.`,
  );
}

/**
 * Settles as the promise does, or rejects after a time. The work itself is not stopped; its result is
 * ignored.
 *
 * @param milliseconds The time; 0 or less for no limit.
 */
export function withDeadline<T>(
  work: Promise<T>,
  milliseconds: number,
  onTimeout: () => Error,
): Promise<T> {
  if (milliseconds <= 0) return work;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(onTimeout()), milliseconds);
    Promise.resolve(work).then(
      (result) => {
        clearTimeout(timer);
        resolve(result);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
